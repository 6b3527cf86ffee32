"""The subject that a test needs, where all tests are tested: a job, a suite, a command, a trace."""

from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from openpts.procedures.extended.app.conditions import AppConditions
from openpts.procedures.extended.fiosynth.conditions import FiosynthConditions
from openpts.procedures.extended.fiosynth.suite_file import read_suite
from openpts.procedures.extended.replay.conditions import ReplayConditions, TraceFile
from openpts.procedures.extended.workload.conditions import WorkloadConditions
from openpts.procedures.shared.fio_job.conditions import FioJob
from openpts.vocabulary.better import Better
from openpts.vocabulary.command_run import FigureOrder

CLONE: Final = Path(__file__).parents[1] / "data" / "fiosynth"
TRACE: Final = TraceFile("small.iolog", str(CLONE.parent / "fio" / "small.iolog"))
JOB: Final = FioJob(
    "mix.fio",
    (
        "[mix]",
        "ioengine=libaio",
        "time_based",
        "runtime=60",
        "# as a database",
        "rw=randrw",
        "rwmixread=70",
        "bs=${BS}",
        "iodepth=4",
    ),
    ("BS=8k",),
)


def with_subject(conditions: Any) -> Any:
    """The conditions with a job, a suite or a trace, where the test needs one."""
    match conditions:
        case WorkloadConditions():
            return replace(conditions, job=JOB)
        case FiosynthConditions():
            return replace(conditions, suite=read_suite(CLONE, "One"))
        case AppConditions(figure=None):
            figure = FigureOrder("rate", "Rate: ([0-9.]+)", "MB/s")
            command = ("tar", "-xf", "linux.tar")
            return replace(conditions, command=command, figure=figure, figure_better=Better.LOWER)
        case ReplayConditions():
            return replace(conditions, trace=TRACE)
        case _:
            return conditions
