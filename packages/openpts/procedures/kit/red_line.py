"""The red line of every page of a run: why it is no measurement after PTS."""

from collections.abc import Iterable

from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts_pages.texts import brief

_RAW_DEVICE = "PTS-GEN-05"
_MOST_RED_LINES = 2
_UNFINISHED = {RunState.RUNNING: "UNFINISHED", RunState.INTERRUPTED: "INTERRUPTED", RunState.FAILED: "FAILED"}


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
