"""The red line of every page of a run, and the rule for calling a report conformant."""

from collections.abc import Iterable, Sequence

from openpts.conformance.conformance import Conformance, conformance_of, count_line, deviated_shalls
from openpts.pages.texts import CELL_LONGEST, brief
from openpts.procedures.kit.standing import Standing
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run
from openpts.units import format_count
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind

_RAW_DEVICE = "PTS-GEN-05"
_BEYOND = "This test is not part of the specification, so no result can be conformant with it."
_MOST_RED_LINES = 2
_UNFINISHED = {RunState.RUNNING: "UNFINISHED", RunState.INTERRUPTED: "INTERRUPTED", RunState.FAILED: "FAILED"}


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


def red_line_of(run: Run) -> str:
    """Why a run is no measurement after PTS; empty if nothing is wrong."""
    manifest = run.manifest
    shortened = "SHORTENED" if manifest.shortened else None
    adjectives = [word for word in (_UNFINISHED.get(manifest.state), shortened) if word]
    if mark := import_mark(manifest) or simulation_mark(manifest.target):
        return f"{', '.join(adjectives)} RUN, {mark}" if adjectives else mark
    where = _no_raw_drive(run)
    if not (where or adjectives):
        return ""
    what = " ".join([", ".join(adjectives), "RUN"]).strip()
    of_what = " of a raw drive" if where else ""
    if not manifest.conditions.of_specification:
        return f"{what}{where} - not a {'' if where else 'whole '}measurement{of_what}"
    return f"{what}{where} - not a measurement{of_what} after PTS"


def red_line_of_all(runs: Iterable[Run], rest: str) -> str:
    """The red lines of several runs, each once; ``rest`` says where those are for which there is no room."""
    lines = list(dict.fromkeys(line for run in runs if (line := red_line_of(run))))
    if len(lines) <= _MOST_RED_LINES:
        return "; ".join(lines)
    more = len(lines) - _MOST_RED_LINES
    return f"{'; '.join(lines[:_MOST_RED_LINES])}; and {more} more: see {rest}"


def import_mark(manifest: Manifest) -> str:
    """The red line of an imported run; empty for one that openpts measured."""
    if manifest.imported is None:
        return ""
    return f"IMPORTED from {brief(manifest.imported.tool)} - not measured by openpts"


def simulation_mark(target: TargetFacts) -> str:
    """The red line of a simulated drive; empty for one that exists."""
    if target.simulation is None:
        return ""
    return f"SIMULATED, {simulation_name(target.simulation)} - not a measurement of a drive"


def simulation_name(simulation: SimulationFacts) -> str:
    """Preset and scale of a simulated drive."""
    return f"preset {brief(simulation.preset)}, scale 1:{simulation.scale}"


def _no_raw_drive(run: Run) -> str:
    """What stood between the stimulus and a drive; empty for a raw drive."""
    if run.manifest.target.kind is TargetKind.FILE:
        return " ON A FILE"
    # what the ledger has against a block device is that the kernel makes it of something else
    between = any(entry.rule_id == _RAW_DEVICE for entry in run.ledger)
    return " ON A DEVICE MADE OF OTHER STORAGE" if between else ""


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
