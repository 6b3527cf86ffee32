"""What an operator gave for a test, and contradictions in it, found before anything is purged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

from msgspec import Struct, field

from openpts.errors import UsageError
from openpts.fields.conditions import Conditions, Contradictions
from openpts.fields.field import parameters_of
from openpts.planning.dry_run import MOST_STEPS
from openpts.units import format_block_size
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.workload import WORKLOADS, Workload

_ALTERNATIVES: Final = ({"step_seconds", "round_seconds"},)
"""Parameters that say the same thing: the one that wins leaves the others out."""


class Overrides(Struct, frozen=True):
    """Values by parameter; ``names`` say where each was written, for what is refused: ``--tc``."""

    values: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def over(self, other: "Overrides") -> Self:
        """Own values, and those of ``other`` that they don't replace."""
        replaced = set(self.values)
        for same in _ALTERNATIVES:
            if same & replaced:
                replaced |= same
        kept = [name for name in other.values if name not in replaced]
        return type(self)(
            {**{name: other.values[name] for name in kept}, **self.values},
            {**{name: other.names[name] for name in kept}, **self.names},
        )

    def name_of(self, *parameters: str) -> str:
        """Where the first of these that was given was written."""
        return next((self.names[name] for name in parameters if name in self.names), parameters[0])


def conditions_of(overrides: Overrides, standard: Conditions) -> Any:
    """The standard conditions of a test with what was given, in the order of its parameters.

    Raises UsageError, with the parameter's name, for a value that makes no sense; parameters that another
    test has are left out.
    """
    conditions: Any = standard
    for name, parameter in parameters_of(type(standard)).items():
        if name in overrides.values:
            conditions = parameter.applied(overrides.names[name], overrides.values[name], conditions)
    return conditions


def contradictions(overrides: Overrides, conditions: Conditions) -> list[str]:
    """What can't be together, a line for each, with the place of the parameter that is to blame."""
    found = _of_any_test(overrides, conditions)
    return [f"{overrides.name_of(*parameters)}: {text}" for parameters, text in found]


def doubts(overrides: Overrides, conditions: Conditions) -> list[str]:
    """What is not advised, a line for each, with the place of the parameter that is to blame."""
    return [f"{overrides.name_of(*names)}: {text}" for names, text in conditions.doubts(overrides.values)]


def refuse_contradictions(overrides: Overrides, conditions: Conditions) -> None:
    """Raises UsageError on the first contradiction."""
    if found := contradictions(overrides, conditions):
        raise UsageError(found[0])


def refuse_impossible_sizes(overrides: Overrides, conditions: Conditions, target: TargetFacts) -> None:
    """Raises UsageError for a block size that the operator asked for and that the target can't have.

    The specification's own sizes are no business of this: a test leaves them out and says so.
    """
    for parameter, sizes in _own_sizes(overrides, conditions):
        for size_bytes in sizes:
            if size_bytes % target.sector_bytes:
                raise UsageError(
                    f"{overrides.names[parameter]}: {format_block_size(size_bytes)} is not a multiple of the "
                    f"sector of {target.name}, which has {target.sector_bytes:,} bytes"
                )


def _own_sizes(overrides: Overrides, conditions: Conditions) -> Iterator[tuple[str, Sequence[int]]]:
    for name, parameter in parameters_of(type(conditions)).items():
        if name not in overrides.values:
            continue
        found = getattr(conditions, parameter.field)
        values = found if isinstance(found, tuple) else (found,)
        if parameter.field.endswith(("block_size_bytes", "block_sizes_bytes")):
            yield name, values
        for workload in values:
            if isinstance(workload, Workload) and workload not in WORKLOADS.values():
                yield name, [size.block_size_bytes for size in workload.block_sizes]


def _of_any_test(overrides: Overrides, conditions: Conditions) -> Contradictions:
    """What the test can't have, and what no test can.

    Each length may be from a millisecond to a year: together they may make more steps than memory holds. What
    ends sooner by an amount or by what a drive does is not counted; the plan's own limit meets that.
    """
    if {"step_seconds", "round_seconds"} <= overrides.values.keys():
        other = overrides.name_of("step_seconds")
        yield ("round_seconds",), f"sets the same as {other}: give one of them"
    yield from conditions.contradictions(overrides.values)
    period_ns = getattr(conditions, "tracking_period_ns", None)
    if period_ns is not None and period_ns < conditions.minute_ns:
        names = ("tracking_seconds", "step_seconds")
        yield names, "a tracked minute would begin before the one before it has ended"
    workloads = conditions.chosen_workloads
    if conditions.segments is not None and workloads and all(one.sequential for one in workloads):
        yield ("segments",), "segments apply to random accesses, and the test has none"
    for parameters, count in conditions.step_counts():
        if count > MOST_STEPS:
            _, *others = parameters
            along = f" with {' and '.join(others)}" if others else ""
            text = f"makes {count:,} steps{along}, and a plan has {MOST_STEPS:,} at most"
            yield parameters, f"{text}: change {' or '.join(parameters)}"
