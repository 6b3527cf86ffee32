"""How many steps come of lengths that belong together, before any of them is planned.

Each length may be from a millisecond to a year: together they may make more steps than there is memory for.
What ends sooner by an amount or by what a drive does is not counted here; the plan's own limit meets that.
"""

from collections.abc import Iterator
from typing import Any

from openpts.planning.dry_run import MOST_STEPS
from openpts.procedures.extended.benchmarks.conditions import BenchmarksConditions
from openpts.procedures.extended.lifetime.conditions import LifetimeConditions
from openpts.procedures.extended.thermal.conditions import ThermalConditions
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions
from openpts.procedures.pts.lat.conditions import LatencyConditions
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions
from openpts.procedures.shared.continuous import MINUTES_PER_STEP
from openpts.procedures.shared.demand.conditions import DemandConditions
from openpts.procedures.shared.rounds.conditions import RoundConditions

Counted = Iterator[tuple[tuple[str, ...], int]]
"""Parameters that a number of steps follows from, the likeliest to blame first, and the number."""


def too_many_steps(conditions: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each number of steps that no plan may have, with what to change."""
    for parameters, count in _counts(conditions):
        if count > MOST_STEPS:
            _, *others = parameters
            along = f" with {' and '.join(others)}" if others else ""
            text = f"makes {count:,} steps{along}, and a plan has {MOST_STEPS:,} at most"
            yield parameters, f"{text}: change {' or '.join(parameters)}"


def _counts(conditions: Any) -> Counted:
    minute_ns = conditions.minute_ns
    match conditions:
        case RoundConditions():
            elements = len(conditions.block_sizes_bytes) * len(conditions.read_pcts)
            yield ("max_rounds", "block_sizes", "read_pcts"), conditions.max_rounds * elements
        case IdleRecoveryConditions():
            states = len(conditions.wait_states)
            yield ("cycles", "wait_states"), 3 * conditions.cycles * states
        case CrossStimulusConditions():
            total_ns = sum(group.duration_ns for group in conditions.groups)
            yield ("step_seconds", "group_seconds"), total_ns // (MINUTES_PER_STEP * minute_ns)
        case DemandConditions():
            points = len(conditions.tcs) * len(conditions.qds)
            yield ("max_rounds", "tcs", "qds"), conditions.max_rounds * (points + 1)
        case ThermalConditions():
            yield from _of_thermal(conditions)
        case BenchmarksConditions():
            looks = 2 * len(conditions.benchmarks) * -(-conditions.settle_ns // minute_ns)
            yield ("step_seconds", "settle_seconds"), looks
        case LifetimeConditions():
            yield ("cycles",), 2 * conditions.drive_cycles
    if isinstance(conditions, LatencyConditions | WriteSaturationConditions):
        steps = conditions.histogram_ns // (MINUTES_PER_STEP * minute_ns)
        yield ("step_seconds", "histogram_seconds"), steps


def _of_thermal(conditions: ThermalConditions) -> Counted:
    look_ns = conditions.look_ns
    yield ("look_seconds", "longest_cooling_seconds"), -(-conditions.longest_cooling_ns // look_ns)
    yield ("look_seconds", "rest_seconds"), 2 * -(-conditions.rest_ns // look_ns)
    yield ("step_seconds", "load_seconds"), 2 * -(-conditions.load_ns // conditions.minute_ns)
    cycle_ns = conditions.busy_ns + conditions.idle_ns
    yield ("busy_seconds", "idle_seconds", "duty_seconds"), 2 * round(conditions.duty_ns / cycle_ns)
