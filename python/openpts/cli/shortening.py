"""What an operator may change of the standard conditions of a test, as options."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from openpts.cli.finite import FiniteRange
from openpts.cli.option_group import together
from openpts.device.simulated_target import SimulatedTarget
from openpts.errors import UsageError
from openpts.pts import iops
from openpts.runner.simulated_device import size_and_scale
from openpts.simulation.presets import load_preset
from openpts.simulation.scale import settled_step_ns
from openpts.units import NS_PER_S
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.stimulus import ActiveRange

# --quick: a round in under half a minute and at most seven of them, after one pass over the target.
QUICK_STEP_S = 0.4
QUICK_MAX_ROUNDS = 7
QUICK_PASSES = 1.0
_QUICK_GRAIN_NS = NS_PER_S // 10


@dataclass(frozen=True, slots=True)
class Shortening:
    """What the operator changes of the standard conditions; None keeps the specification's value."""

    quick: bool
    round_seconds: float | None
    step_seconds: float | None
    max_rounds: int | None
    precondition_passes: float | None
    tc: int | None
    qd: int | None
    active_range_pct: float | None

    def __post_init__(self) -> None:
        """Raises UsageError where two options contradict each other."""
        if self.round_seconds is not None and self.step_seconds is not None:
            raise UsageError("--round-seconds and --step-seconds say the same thing twice: give one of them")

    @property
    def leaves_step_to_quick(self) -> bool:
        """Whether nothing but --quick says how long an element lasts."""
        return self.quick and self.round_seconds is None and self.step_seconds is None

    def __call__(self, conditions: TestConditions) -> TestConditions:
        """The conditions of this run."""
        elements = len(conditions.read_pcts) * len(conditions.block_sizes_bytes)
        step_s = self.step_seconds
        if self.round_seconds is not None:
            step_s = self.round_seconds / elements
        changes: dict[str, Any] = {
            "step_duration_ns": None if step_s is None else max(1, round(step_s * NS_PER_S)),
            "max_rounds": self.max_rounds,
            "precondition_passes": self.precondition_passes,
            "tc": self.tc,
            "qd": self.qd,
            "active_range": None if self.active_range_pct is None else ActiveRange(0, self.active_range_pct),
        }
        if self.quick:
            conditions = replace(
                conditions,
                step_duration_ns=round(QUICK_STEP_S * NS_PER_S),
                max_rounds=QUICK_MAX_ROUNDS,
                precondition_passes=QUICK_PASSES,
            )
        return replace(conditions, **{name: value for name, value in changes.items() if value is not None})


def quick_on_simulated(
    shorten: Shortening, target: SimulatedTarget
) -> Callable[[TestConditions], TestConditions]:
    """The same for a simulated drive: elements as short as its scale allows, and no longer than standard.

    At a scale of s only 1/s of an element is simulated; what is quick on a real drive may be too short there.
    Raises UsageError if there is no such preset.
    """
    preset = load_preset(target.preset)
    capacity_bytes, scale = size_and_scale(target, preset)

    def adjust(standard: TestConditions) -> TestConditions:
        quick = shorten(standard)
        needed_ns = settled_step_ns(preset, capacity_bytes, scale, iops.steps(quick, capacity_bytes))
        whole_ns = -(-needed_ns // _QUICK_GRAIN_NS) * _QUICK_GRAIN_NS
        length_ns = min(standard.step_duration_ns, max(quick.step_duration_ns, whole_ns))
        return replace(quick, step_duration_ns=length_ns)

    return adjust


conditions_options = together(
    click.option(
        "--profile",
        type=click.Choice([profile.value for profile in Profile]),
        default=Profile.ENTERPRISE.value,
        show_default=True,
        help="PTS-E (AR 100 %, cache off, TC 4 QD 32) or PTS-C (AR 75 %, cache on, TC 2 QD 16).",
    ),
    click.option(
        "--quick",
        is_flag=True,
        help="Shorten everything for a first look: about 2 to 3 minutes. A run on a simulated drive keeps "
        "elements as long as its scale needs, and takes seconds.",
    ),
    click.option(
        "--round-seconds",
        type=FiniteRange(min=0, min_open=True),
        help="Length of one round of 56 elements; the specification has 3360 s.",
    ),
    click.option(
        "--step-seconds",
        type=FiniteRange(min=0, min_open=True),
        help="Length of one element of a round; the specification has 60 s.",
    ),
    click.option("--max-rounds", type=click.IntRange(min=1), help="Give up after this many rounds; 25."),
    click.option(
        "--precondition-passes",
        type=FiniteRange(min=0),
        help="Times user capacity written before the rounds; 2.",
    ),
    click.option("--tc", type=click.IntRange(1, 1024), help="Thread count."),
    click.option("--qd", type=click.IntRange(1, 4096), help="Queue depth of each thread."),
    click.option(
        "--active-range",
        "active_range_pct",
        type=FiniteRange(0, 100, min_open=True),
        help="Per cent of the LBAs to use, from the first on.",
    ),
    click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of offsets and data; random."),
)
