"""The rule for calling a report conformant."""

from collections.abc import Sequence

from openpts.procedures.kit.red_line import red_line_of
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts.units import format_count
from openpts_pages.texts import CELL_LONGEST, brief
from openpts_pts.conformance.conformance import Conformance, conformance_of, count_line, deviated_shalls

_BEYOND = "This test is not part of the specification, so no result can be conformant with it."


def requirements_of(run: Run) -> tuple[Conformance, ...]:
    """The state of each requirement of the specification in a run; none of a test beyond it."""
    return conformance_of(run) if run.manifest.conditions.of_specification else ()


def standing_of(run: Run, requirements: tuple[Conformance, ...] | None = None) -> Standing:
    """Judge a run from its facts; ``requirements`` are its own, if they are known already.

    Conformant is only a finished, uncut run of openpts itself on a raw device that exists, whose ledger is
    empty, and whose record shows no other deviation from a requirement.
    """
    red_line = red_line_of(run)
    if not run.manifest.conditions.of_specification:
        return Standing(red_line, conformant=False, bottom_line=_BEYOND)
    everything = requirements_of(run) if requirements is None else requirements
    broken = deviated_shalls(everything)
    return Standing(
        red_line,
        conformant=not (run.ledger or red_line or broken),
        bottom_line=_bottom_line(run, red_line, broken),
        requirements=count_line(everything),
    )


def _bottom_line(run: Run, red_line: str, broken: Sequence[Conformance]) -> str:
    revision = run.manifest.conditions.drive_class.revision
    if run.ledger:
        count = format_count(len(run.ledger), "deviation")
        return f"{count} from {revision} recorded: compare figures only with runs that deviate alike."
    reason = red_line or "; ".join(f"{each.requirement.id}: {each.finding}" for each in broken)
    if reason:
        return (
            f"No deviation from {revision} is recorded, but the run can't be called conformant: "
            f"{brief(reason, CELL_LONGEST)}."
        )
    return f"No deviation recorded: this run is conformant with {revision}."
