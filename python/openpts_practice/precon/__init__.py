"""Preconditioning Comparison: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase
from openpts_practice.precon.conditions import PreconConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=PreconConditions,
    title="Preconditioning Comparison",
    short_title="Precon",
    purpose="""Figures of a drive fresh, after sequential and after random writes.

    At full length: the rows on the purged drive; a purge, the user capacity written twice in sequence, the
    rows, random writes until single minutes are steady; a purge, random writes until steady, twice, and the
    rows. Random writes end after 6 x user capacity or 12 hours at the latest, each of the three times.
    """,
    quick={
        "step_seconds": 0.2,
        "longest_pass_seconds": 0.5,
        "precondition_passes": 1,
        "recondition_passes": 0.1,
        "steady_after_drive_fills": 0.5,
        "drive_fills": 1,
        "longest_seconds": 20,
        "tracking_seconds": 2,
    },
    log_around=frozenset({Phase.PROFILE}),
    phase_line="openpts_practice.benchmark_rows.phase_line:phase_line",
)
