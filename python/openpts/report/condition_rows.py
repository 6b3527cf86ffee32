"""The conditions of a test, field by field, as rows of the set-up page: what PTS wants set and recorded."""

from collections.abc import Iterator
from typing import Final

from openpts.pages.printable import printable
from openpts.vocabulary.condition_text import condition_text
from openpts.vocabulary.conditions import Conditions

# What the set-up page shows elsewhere, or what is no condition of the stimulus.
_ELSEWHERE: Final = {"drive_class", "write_cache_enabled"}

LABELS: Final = {
    "active_range": "Active range",
    "seed": "Seed of the random generator",
    "segments": "LBA segments",
    "data": "Data pattern",
    "time_scale": "Time scale",
    "minute_ns": "Length of one minute's element",
    "secondary_metrics": "Secondary metrics reported",
    "tc": "Thread count (TC)",
    "qd": "Queue depth (QD)",
    "precondition_block_size_bytes": "Pre-conditioning block size",
    "precondition_passes": "Pre-conditioning (x user capacity)",
    "precondition_tc": "Pre-conditioning thread count (TC)",
    "precondition_qd": "Pre-conditioning queue depth (QD)",
    "read_pcts": "Read shares (%), outer loop",
    "block_sizes_bytes": "Block sizes, inner loop",
    "skipped_block_sizes_bytes": "Block sizes left out (sector size)",
    "max_rounds": "Rounds at most",
    "tracking": "Tracking variables",
    "histogram_ns": "Length of the response time histogram",
    "nines": "Nines asked of the histogram",
    "workloads": "Workloads",
    "impossible": "Left out (sector size)",
    "sequential_tc": "Thread count (TC) of sequential workloads",
    "sequential_qd": "Queue depth (QD) of sequential workloads",
    "drive_fills": "Ends after (x user capacity)",
    "longest_ns": "Ends after (time)",
    "tracking_period_ns": "From one tracked minute to the next",
    "stop_when_steady": "Ends when steady",
    "steady_after_drive_fills": "Steady State looked for after (x user capacity)",
    "workload": "Workload",
    "access_ns": "Length of an access",
    "cycles": "Accesses of each wait state",
    "wait_states": "Wait states",
    "groups": "Access groups",
    "tcs": "Thread counts (TC)",
    "qds": "Queue depths (QD)",
    "prewrite_shortest_ns": "Pre-write before a Round, at least",
    "prewrite_longest_ns": "Pre-write before a Round, at most",
    "prewrite_capacity_pct": "Pre-write before a Round, at most (% of user capacity)",
    "art_limit_ns": "ART limit of the MaxIOPS point",
    "plateau_pct": "IOPS that count as the highest: within (%)",
    "mid_points": "MidIOPS points",
    "histogram_prewrite_ns": "Pre-write before a histogram",
    "capture": "Every completion time kept",
    "block_size_bytes": "Block size",
    "cool_c": "Cold run begins at (°C)",
    "longest_cooling_ns": "Idle before the cold run, at most",
    "look_ns": "From one look at the idle drive to the next",
    "load_ns": "Cold run and warm run, at most",
    "stable_minutes": "A throttled run ends when stable for (min)",
    "rest_ns": "Idle before the warm run and the duty cycle",
    "busy_ns": "Writes of the duty cycle",
    "idle_ns": "Idle time of the duty cycle",
    "duty_ns": "Length of the duty cycle",
    "ambient_c": "Air around the drive, as stated (°C)",
    "airflow": "Cooling, as stated",
    "drive_cycles": "Drive cycles, at most",
    "write_limit_bytes": "Ends after (written)",
    "wear_limit_pct": "Ends at rated life used (%)",
    "verify": "Reads compared with what was written",
    "sequential_block_size_bytes": "Block size of sequential accesses",
    "random_block_size_bytes": "Block size of random accesses",
    "step_pct": "Step of the fill (% of active range)",
    "idle_times": "Idle times between rewrites",
    "rewrite_pct": "Written again after each idle time (% of active range)",
    "levels_pct": "Fill levels of the bursts (% of active range)",
    "burst_ns": "Length of a burst",
    "figure_ns": "Length of a short figure",
    "span_pct": "Span of the short figures (% of active range)",
    "claims": "Claims of the data sheet",
    "entropies_pct": "Entropies asked for (%)",
    "write_pcts": "Shares of writes (%)",
    "longest_pass_ns": "Pass or warm-up of a row, at most",
    "longest_pause_ns": "Pause between rows, at most",
    "settle_ns": "Idle before each benchmark, at most",
    "benchmarks": "Benchmarks",
    "zones": "Zones",
    "benchmark": "Benchmark",
    "recondition_passes": "State restored with (x user capacity)",
    "tracking_fills": "From one tracked minute to the next, at most (x user capacity)",
    "file_share_pct": "Test file, at most (% of active range)",
}
"""What the conditions of all tests are called in a report."""


def condition_rows(conditions: Conditions) -> Iterator[tuple[str, str]]:
    """Name and value of each field, in the order of the conditions."""
    for name in conditions.__struct_fields__:
        value = getattr(conditions, name)
        if name not in _ELSEWHERE and value is not None:
            text = printable(value) if isinstance(value, str) else condition_text(name, value)
            yield LABELS[name], text
