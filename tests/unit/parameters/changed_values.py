"""A value for each parameter of each test that no test has as its standard."""

from collections.abc import Mapping
from typing import Any, Final

from openpts.fields.workload_table import WorkloadTable
from openpts.procedures.extended.sustained.conditions import ClaimsTable

OWN_WORKLOAD: Final = WorkloadTable(name="mail", block_sizes={"4KiB": 70, "64KiB": 30}, read_pct=60)

CHANGED: Final[Mapping[str, Any]] = {
    "time_scale": "1/60",
    "step_seconds": 1.5,
    "write_cache": None,  # the other one than the class's
    "active_range": "10:60",
    "data_pattern": "entropy:46,dup:10",
    "tc": 3,
    "qd": 7,
    "precondition_passes": 0.5,
    "precondition_tc": 5,
    "precondition_qd": 9,
    "precondition_block_size": "256KiB",
    "read_pcts": [100, 65, 30, 0],
    "block_sizes": ["1MiB", "64KiB", "4KiB"],
    "max_rounds": 8,
    "round_seconds": 84,
    "segments": "16x1MiB",
    "tracking": ["RND 8KiB RW65"],
    "histogram_seconds": 12,
    "nines": 7,
    "workloads": ["oltp", "RND 16KiB RW30", OWN_WORKLOAD],
    "workload": OWN_WORKLOAD,
    "sequential_tc": 2,
    "sequential_qd": 5,
    "drive_fills": 1.5,
    "longest_seconds": 100,
    "tracking_seconds": 90,
    "stop_when_steady": True,
    "steady_after_drive_fills": 0.5,
    "access_seconds": 2,
    "cycles": 12,
    "wait_states": [1, 4],
    "idle_seconds": 3,
    "group_seconds": [10, 20, 30],
    "group_tcs": [2, 8, 2],
    "group_qds": [1, 4, 1],
    "tcs": [8, 1],
    "qds": [16, 1],
    "prewrite_shortest_seconds": 5,
    "prewrite_longest_seconds": 900,
    "prewrite_capacity_pct": 3,
    "art_limit_ms": 2.5,
    "plateau_pct": 4,
    "mid_points": 2,
    "histogram_prewrite_seconds": 30,
    "capture": False,
    "secondary_metrics": False,
    "benchmarks": ["atto", "kdiskmark"],
    "benchmark": "crystaldiskmark",
    "passes": 5,
    "settle_seconds": 1200,
    "zones": 9,
    "longest_pass_seconds": 2,
    "longest_pause_seconds": 2,
    "recondition_passes": 0.5,
    "tracking_drive_fills": 0.1,
    "file_share_pct": 5,
    "sequential_block_size": "256KiB",
    "random_block_size": "8KiB",
    "entropies_pct": [0.0, 50.0, 99.5],
    "write_pcts": [0, 5, 30],
    "figure_seconds": 4,
    "step_pct": 2.5,
    "idle_times_seconds": [0.0, 45.0],
    "rewrite_pct": 8,
    "levels_pct": [0.0, 60.0],
    "burst_seconds": 7,
    "span_pct": 12.5,
    "claims": ClaimsTable(random_write_iops=70_000, sequential_read_mb_per_s=3500),
    "cool_c": 35.0,
    "longest_cooling_seconds": 70,
    "look_seconds": 7,
    "load_seconds": 77,
    "stable_minutes": 3,
    "rest_seconds": 17,
    "busy_seconds": 4,
    "duty_seconds": 40,
    "ambient_c": 23.5,
    "airflow": "heat sink, no fan",
    "block_size": "256KiB",
    "write_limit": "10GiB",
    "wear_limit_pct": 90.0,
    "verify": False,
}


def changed_value(parameter: str, standard: Any) -> Any:
    """The value for a parameter of a test with these standard conditions."""
    if parameter == "write_cache":
        return "disabled" if standard.write_cache_enabled else "enabled"
    return CHANGED[parameter]
