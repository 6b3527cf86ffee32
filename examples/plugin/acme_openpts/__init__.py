"""Read Latency by Block Size: practice beyond the PTS."""

from acme_openpts.conditions import BlockSizeConditions
from openpts.procedures.kit.procedure import Procedure

PROCEDURE = Procedure(
    package=__name__,
    conditions=BlockSizeConditions,
    title="Read Latency by Block Size",
    short_title="Block Sizes",
    question="What does the size of a read cost?",
    purpose="""Response times of random reads by their size.

    At full length: a purge, the user capacity written once, and a minute for each size.
    """,
    quick={"step_seconds": 1},
)
