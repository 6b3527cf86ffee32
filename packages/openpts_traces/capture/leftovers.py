"""What a capture has set up in the kernel, and has noted in the journal, taken down when it was killed."""

from pathlib import Path
from typing import Final

from openpts.journal import Entry
from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots, boot_id
from openpts_traces.capture import blktrace, tracefs

BLOCK_TRACE: Final = "block trace"
"""The kind of its entries in the undo journal."""


def take_down(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
    """Take down what a killed capture has left. Raises OpenptsError."""
    del run
    if entry.owner.boot_id != boot_id(roots):
        return "the machine was restarted since a capture was killed: nothing is left of it"
    if instance := entry.subject.get("instance"):
        tracefs.remove_instance(Path(instance))
        return f"removed the trace instance {instance} of a capture that was killed"
    node = Path(entry.subject["node"])
    blktrace.take_down(node)
    return f"stopped the block trace of {node}, which a capture had begun that was killed"
