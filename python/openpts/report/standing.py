"""What a run is not: the red line of every page, and when a report may call itself conformant."""

from dataclasses import dataclass

from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run
from openpts.report.printable import printable
from openpts.report.simulated_drive import simulation_mark
from openpts.vocabulary.facts import TargetKind

_UNFINISHED = {
    RunState.RUNNING: "UNFINISHED",
    RunState.INTERRUPTED: "INTERRUPTED",
    RunState.FAILED: "FAILED",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run may be taken as a measurement after PTS; ``red_line`` is empty if nothing is wrong."""

    red_line: str
    conformant: bool
    bottom_line: str


def standing_of(run: Run, *, shortened: bool) -> Standing:
    """Judge a run from its facts; ``shortened`` says that its steps, passes or rounds were cut.

    Conformant is only a finished, uncut run on a raw device that exists, and whose ledger is empty.
    """
    red_line = _red_line(run.manifest, shortened=shortened)
    conformant = not run.ledger and not red_line
    return Standing(red_line, conformant, _bottom_line(run, red_line))


def state_sentence(manifest: Manifest) -> str:
    """How the run ended, with its reason."""
    sentence = {
        RunState.COMPLETE: "The run was completed.",
        RunState.RUNNING: "The run was not finished: its record was never closed (killed, or power lost).",
        RunState.INTERRUPTED: "The run was interrupted before its end.",
        RunState.FAILED: "The run failed before its end.",
    }[manifest.state]
    return f"{sentence} {printable(manifest.state_reason)}" if manifest.state_reason else sentence


def _red_line(manifest: Manifest, *, shortened: bool) -> str:
    on_file = manifest.target.kind is TargetKind.FILE
    adjectives = [
        word for word in (_UNFINISHED.get(manifest.state), "SHORTENED" if shortened else None) if word
    ]
    if mark := simulation_mark(manifest.target):
        return f"{', '.join(adjectives)} RUN, {mark}" if adjectives else mark
    if not (on_file or adjectives):
        return ""
    what = " ".join([", ".join(adjectives), "RUN"]).strip()
    where, of_what = (" ON A FILE", " of a raw drive") if on_file else ("", "")
    return f"{what}{where} - not a measurement{of_what} after PTS"


def _bottom_line(run: Run, red_line: str) -> str:
    revision = run.manifest.conditions.profile.revision
    count = len(run.ledger)
    if count:
        noun = "deviation" if count == 1 else "deviations"
        return f"{count} {noun} from {revision} recorded: figures compare only with runs that deviate alike."
    if red_line:
        return (
            f"No deviation from {revision} is recorded, but the run can't be called conformant: {red_line}."
        )
    return f"No deviation recorded: this run is conformant with {revision}."
