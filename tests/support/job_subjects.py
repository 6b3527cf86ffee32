"""What tests need as a subject where all tests are tested: a job, a command, a trace, a capture."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.vocabulary.better import Better
from openpts.vocabulary.command_run import FigureOrder
from openpts_app.app import AppConditions
from openpts_fio.fio_job.conditions import FioJob
from openpts_fio.workload import WorkloadConditions
from openpts_traces.characteristics.capture import (
    Capture,
    CaptureStep,
    CaptureStream,
    StreamKind,
    StreamPattern,
)
from openpts_traces.replay import ReplayConditions
from openpts_traces.rws import RwsConditions
from openpts_traces.rwsdirth import RwsDemandConditions
from openpts_traces.score import ScoreConditions
from openpts_traces.trace_replay.conditions import TraceFile
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


_READS: Final = CaptureStream(StreamKind.READ, StreamPattern.RANDOM, 4096, 700, 700 * 4096)
_WRITES: Final = CaptureStream(StreamKind.WRITE, StreamPattern.SEQUENTIAL, 8192, 300, 300 * 8192)
SECOND_NS: Final = 10**9
CAPTURE: Final = Capture(
    name="web",
    version="1",
    sha256="5e" * 32,
    level="issue",
    storage="sda",
    tool="a test",
    rule="CHR-SEQ-01",
    step_length_ns=SECOND_NS,
    is_step_table=True,
    kinds=3,
    ios=1010,
    bytes=1010 * 8192,
    read_ios=710,
    moved_ios=1010,
    unapplied_ios=0,
    binned_ios=0,
    lost=0,
    max_depth=6,
    streams=(_READS, _WRITES),
    steps=(
        CaptureStep(SECOND_NS, 1010, 1010 * 8192, 8.0, 100_000.0, 200_000, 300_000, (_READS, _WRITES)),
        CaptureStep(SECOND_NS, 0, 0, 0.0, None, None, None, ()),
    ),
)
"""A second of 70 % reads and 30 % writes eight deep, and one without I/O."""


def with_job(conditions: Any) -> Any:
    """The conditions with a job, a suite or a trace, where the test needs one."""
    match conditions:
        case WorkloadConditions():
            return replace(conditions, job=JOB)
        case RwsConditions() | RwsDemandConditions():
            return replace(conditions, captured=CAPTURE)
        case AppConditions(figure=None):
            figure = FigureOrder("rate", "Rate: ([0-9.]+)", "MB/s")
            command = ("tar", "-xf", "linux.tar")
            return replace(conditions, command=command, figure=figure, figure_better=Better.LOWER)
        case ReplayConditions():
            return replace(conditions, trace=TRACE)
        case ScoreConditions():
            return replace(conditions, traces=(TRACE,), background=None)
        case _:
            return conditions
