"""Application Benchmark: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_app.app.conditions import AppConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=AppConditions,
    title="Application Benchmark",
    short_title="Application",
    purpose="""Any program as a benchmark of a drive: COMMAND, with its arguments, after --.

    COMMAND runs in the directory that is tested, whose path takes the place of {dir} in its words. After a
    conditioning run, which does not count, come cold runs, with the page cache dropped before each, and warm
    runs, of which the median counts.
    """,
    quick={"warm_runs": 3, "until_rse": 0},
    purges=False,
    driver="openpts_app.drivers.commands.driver:CommandDriver",
    on_model=False,
    target_help="""
    TARGET is a directory on a mounted file system, which is taken as it is: only COMMAND writes there. Or it
    is a drive such as /dev/nvme0n1, or file:PATH?size=SIZE for a scratch file, which is created: it is
    formatted, mounted, filled and trimmed, and unmounted in the end.
""",
)
"""The conditions of the application benchmark."""
