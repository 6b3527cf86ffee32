"""FioSynth Suite: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase
from openpts_fio.fiosynth.conditions import FiosynthConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FiosynthConditions,
    title="FioSynth Suite",
    short_title="FioSynth",
    purpose="""The workloads of a suite of FioSynth, with its targets as limits: a verdict for each.

    SUITE is the name of a file in the folder wkldsuites of FOLDER, your own clone of FioSynth, whose job
    files are used as they are. Before each workload that prepares the drive all of it is trimmed. A run with
    a limit that is not kept ends with exit code 10.
    """,
    quick={"time_scale": "1/60", "longest_step_seconds": 2},
    log_around=frozenset({Phase.PROFILE}),
    has_limits=True,
)
