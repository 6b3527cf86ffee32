"""What tests need as a subject where all tests are tested: a job, a command, a trace."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.vocabulary.command_run import PrintedFigure
from openpts.vocabulary.verdict import Better
from openpts_app.app import AppConditions
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.job import FioJob
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.traces import TraceFile
from tests.support.subject_files import SMALL_TRACE

TRACE: Final = TraceFile(SMALL_TRACE.name, str(SMALL_TRACE))
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


def with_job(conditions: Any) -> Any:
    """The conditions with a job, a suite or a trace, where the test needs one."""
    match conditions:
        case WorkloadConditions():
            return replace(conditions, job=JOB)
        case AppConditions(figure=None):
            figure = PrintedFigure("rate", "Rate: ([0-9.]+)", "MB/s")
            command = ("tar", "-xf", "linux.tar")
            return replace(conditions, command=command, figure=figure, figure_better=Better.LOWER)
        case ReplayConditions():
            return replace(conditions, trace=TRACE)
        case _:
            return conditions
