"""What an operator can do when an NVMe drive refuses a command that it announces, by the status it gives."""

import re
from typing import Final

from openpts.programs import Answer

# nvme-cli ends its sentence with the status in brackets, "More" and "Do Not Retry" above the 11 bits
_STATUS: Final = re.compile(r"\((?:0x)?([0-9a-f]{1,4})\)\s*$", re.MULTILINE)
_STATUS_BITS: Final = 0x7FF

_ASLEEP: Final = (
    "firmware of many machines locks this command until the next sleep: suspend and resume the machine "
    "(systemctl suspend), or plug the drive into another one"
)
_HELP: Final = {
    0x001: _ASLEEP,
    0x00C: _ASLEEP,
    0x10A: _ASLEEP,
    0x01D: "a sanitize is in progress: wait for its end, see nvme sanitize-log",
    0x01C: "the last sanitize failed: only another one that succeeds makes the drive usable again",
    0x020: "the namespace is write protected: see nvme get-feature -f 0x84",
    0x286: "it is locked by a password or TCG Opal: unlock it in the machine's firmware or with sedutil-cli",
    0x123: "the controller lets nothing write to its persistent memory region: disable it first",
}


def what_helps(answer: Answer) -> str | None:
    """A hint for the status that the program tells; None where we know none."""
    if found := _STATUS.search(answer.stderr.strip() or answer.stdout.strip()):
        return _HELP.get(int(found[1], 16) & _STATUS_BITS)
    return None
