"""A short look at a test, in a couple of minutes on a drive that exists: what `--quick` gives."""

from collections.abc import Mapping
from typing import Any, Final

from openpts.parameters.overrides import Given

# Elements of 0.4 s. A queue of 32 on a slow drive is answered in a tenth of that.
_ROUNDS: Final = {"time_scale": "1/150", "max_rounds": 7, "precondition_passes": 1}
_QUICK: Final[Mapping[str, Mapping[str, Any]]] = {
    "iops": _ROUNDS,
    "tp": _ROUNDS,
    "lat": _ROUNDS,
    "wsat": {"time_scale": "1/360", "drive_fills": 2},
    "hir": {
        "time_scale": "1/360",
        "step_seconds": 1,
        "max_rounds": 10,
        "access_seconds": 0.2,
        "idle_seconds": 0.2,
        "cycles": 10,
    },
    "xsr": {"time_scale": "1/720"},
    "cbw": {"time_scale": "1/300"},
    "dirth": {"time_scale": "1/300"},
    "fill": {"time_scale": "1/60", "step_pct": 4},
    "sustained": {"time_scale": "1/60", "drive_fills": 0.5, "longest_seconds": 60},
    "entropy": {"time_scale": "1/60", "precondition_passes": 0.5, "write_pcts": [0, 5, 50, 100]},
    "benchmarks": {"passes": 1, "longest_pass_seconds": 1, "longest_pause_seconds": 0.1},
    "precon": {
        "step_seconds": 0.2,
        "longest_pass_seconds": 0.5,
        "precondition_passes": 1,
        "recondition_passes": 0.1,
        "steady_after_drive_fills": 0.5,
        "drive_fills": 1,
        "longest_seconds": 20,
        "tracking_seconds": 2,
    },
    "thermal": {"time_scale": "1/60", "precondition_passes": 0, "look_seconds": 5},
    "lifetime": {"cycles": 2},
    "hdd": {"step_seconds": 0.5, "zones": 4},
}


def quick(test: str) -> Given:
    """What the operator would have to give for a short look at a test: durations, repetitions and amounts."""
    return Given(_QUICK[test], dict.fromkeys(_QUICK[test], "--quick"))
