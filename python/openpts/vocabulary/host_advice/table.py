"""The whole table of the host audit, for the report's page and for `openpts doctor` alike.

Two scenarios: a *real-world* machine tells what its users will see; a *synthetic* measurement wants nothing
of the machine to hide the drive. A value may suit both, one, or none; of some only the value is told.
"""

from collections.abc import Mapping
from typing import Final

from openpts.vocabulary.host_advice.advice import Advice
from openpts.vocabulary.host_advice.drive_link import DRIVE_LINK
from openpts.vocabulary.host_advice.drive_queue import DRIVE_QUEUE
from openpts.vocabulary.host_advice.machine import MACHINE, MEMORY
from openpts.vocabulary.host_advice.other_work import OTHER_WORK
from openpts.vocabulary.host_advice.processor import PROCESSOR

# SOL-BIOS-01 to 06, SOL-GEN-08 to 10
ADVICE: Final = (*PROCESSOR, *DRIVE_QUEUE, *DRIVE_LINK, *MEMORY, *MACHINE, *OTHER_WORK)
"""All items of the audit, in its order."""

ADVICE_OF: Final[Mapping[str, Advice]] = {advice.key: advice for advice in ADVICE}
"""Each item by its key, which is that of its fact."""
