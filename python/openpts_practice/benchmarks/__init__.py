"""Benchmark Profiles: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase
from openpts_practice.benchmarks.conditions import BenchmarksConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=BenchmarksConditions,
    title="Benchmark Profiles",
    short_title="Profile",
    purpose="""The figures that users of CrystalDiskMark, AS SSD or ATTO know, each with its definition.

    Each benchmark writes its test file and measures its rows, with its own pauses, warm-ups and passes. It is
    done on the purged drive unless preconditioning is asked for: what was only purged shows its best.
    """,
    quick={"passes": 1, "longest_pass_seconds": 1, "longest_pause_seconds": 0.1},
    log_around=frozenset({Phase.REST, Phase.PROFILE}),
    phase_line="openpts_practice.benchmark_rows.phase_line:phase_line",
)
