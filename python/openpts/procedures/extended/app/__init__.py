"""Application Benchmark: practice beyond the PTS."""

from typing import Final

from openpts.procedures.extended.app.conditions import AppConditions
from openpts.procedures.kit.procedure import Procedure

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=AppConditions,
    title="Application Benchmark",
    short_title="Application",
    purpose="""Any program as a benchmark of a drive: COMMAND, with its arguments, after --.

    TARGET may be a directory as well: its file system is taken as it is, and only COMMAND writes. A drive or
    a file: is formatted, mounted, filled and trimmed. COMMAND runs in the directory, whose path takes the
    place of {dir} in it. After a conditioning run that does not count come cold runs, with the page cache
    dropped, and warm runs, of which the median counts.
    """,
    quick={"warm_runs": 3, "until_rse": 0},
    purges=False,
    runs_commands=True,
)
"""The conditions of the application benchmark."""
