"""A target that was opened, and what must hold for every one."""

from dataclasses import dataclass

from openpts.device.block_device import BlockDevice
from openpts.ownership import RunOwner
from openpts.vocabulary.facts import TargetFacts


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """A target that is open: by the guard for direct reads and writes, ours alone while ``fd`` is open.

    One that was opened for reading isn't ours alone. ``device`` is the drive as sysfs shows it; None for a
    file. ``made_here`` is a file that was not there before. ``siblings`` are the other namespaces that the
    operator gave up too, each open in the same way as long as this one. ``owner`` is the run that it is open
    for; None of one that was opened for reading.
    """

    fd: int
    facts: TargetFacts
    device: BlockDevice | None
    made_here: bool = False
    siblings: tuple["OpenTarget", ...] = ()
    owner: RunOwner | None = None
