"""Sustained Performance: practice beyond the PTS."""

from typing import Final

from openpts.procedures.extended.sustained.conditions import SustainedConditions
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=SustainedConditions,
    title="Sustained Performance",
    short_title="Sustained",
    purpose="""Figures of a drive before and after a long load, beside those of its data sheet.

    At full length: 2 minutes of short figures, RND 4 KiB writes until 4 x user capacity are written or for
    72 hours, and the short figures again at once.
    """,
    quick={"time_scale": "1/60", "drive_fills": 0.5, "longest_seconds": 60},
    log_around=frozenset({Phase.PROFILE}),
)
