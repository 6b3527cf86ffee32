"""Cross Stimulus Recovery: PTS section 12."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=CrossStimulusConditions,
    title="Cross Stimulus Recovery",
    short_title="XSR",
    section=12,
    purpose="""How a drive recovers from changes between sequential and random writes.

    At full length: 8 hours of SEQ 1024 KiB writes, 6 hours of RND 8 KiB writes, 8 hours of SEQ 1024 KiB
    writes, without a pause: 22 hours.
    """,
    quick={"time_scale": "1/720"},
    trends={6: "xsr-1-tp-plot", 15: "xsr-4-art-plot"},
)
