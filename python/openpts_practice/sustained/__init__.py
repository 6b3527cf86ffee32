"""Sustained Performance: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase
from openpts_practice.sustained.conditions import SustainedConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=SustainedConditions,
    title="Sustained Performance",
    short_title="Sustained",
    purpose="""Figures of a drive before and after a long load, beside those of its data sheet.

    At full length: the rows of a benchmark, RND 4 KiB writes until 4 x user capacity are written or for 72
    hours, and the rows again at once.
    """,
    quick={
        "step_seconds": 1,
        "passes": 1,
        "longest_pass_seconds": 1,
        "longest_pause_seconds": 0.1,
        "drive_fills": 0.5,
        "longest_seconds": 60,
    },
    log_around=frozenset({Phase.PROFILE}),
    phase_line="openpts_practice.benchmark_rows.phase_line:phase_line",
)
