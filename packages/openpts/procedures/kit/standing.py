"""How far a run may be taken as a measurement."""

from msgspec import Struct

from openpts.record.manifest import Manifest, RunState


class Standing(Struct, frozen=True):
    """How far a run may be taken as a measurement after PTS; ``red_line`` is empty if nothing is wrong.

    ``requirements`` counts how many of the requirements that bind the run are met; of a test beyond the
    specification it is empty.
    """

    red_line: str
    conformant: bool
    bottom_line: str
    requirements: str = ""


def state_sentence(manifest: Manifest) -> str:
    """How the run ended, with its reason, and how to continue with it."""
    sentence = {
        RunState.COMPLETE: "The run was completed",
        RunState.RUNNING: "The run was not finished: its record was never closed (killed, or power lost)",
        RunState.INTERRUPTED: "The run was interrupted before its end",
        RunState.FAILED: "The run failed before its end",
    }[manifest.state]
    reason = f": {manifest.state_reason}" if manifest.state_reason else ""
    goes_on = "; `openpts resume` goes on with it" if can_be_resumed(manifest) else ""
    return f"{sentence}{reason}{goes_on}."


def can_be_resumed(manifest: Manifest) -> bool:
    """Whether the run has not come to its end, and its record has what resuming needs."""
    return manifest.state is not RunState.COMPLETE and manifest.ordered is not None
