"""The table of the host audit, used by the report's page and by `openpts doctor`.

A *real-world* measurement is of the machine as its users have it, a *synthetic* one of the drive alone. A
value may suit both, one or neither; some are recorded and not judged.
"""

from collections.abc import Mapping
from typing import Final

from openpts_host.advice.advice import Advice
from openpts_host.advice.drive import DRIVE_LINK, DRIVE_QUEUE
from openpts_host.advice.machine import MACHINE, MEMORY, PROCESSOR
from openpts_host.advice.other_work import OTHER_WORK

# SOL-BIOS-01 to 06, SOL-GEN-08 to 10
ADVICE: Final = (*PROCESSOR, *DRIVE_QUEUE, *DRIVE_LINK, *MEMORY, *MACHINE, *OTHER_WORK)
"""All settings of the audit, in its order."""

ADVICE_OF: Final[Mapping[str, Advice]] = {advice.key: advice for advice in ADVICE}
"""Each setting by its key, which is that of its fact."""
