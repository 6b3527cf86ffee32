"""Workload of a Job File: practice beyond the PTS."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Final

from openpts.fields import usual
from openpts.fields.conditions import StepCounts
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import PASSES, count, one_of
from openpts.procedures.kit.procedure import Procedure
from openpts.units import format_count
from openpts.vocabulary.verdict import SteadyState
from openpts_fio.fio_job.conditions import ALL_STREAMS, FioJob, FioJobConditions, kept_lines


class RoundFigure(StrEnum):
    """By what figure of a round steady state is judged."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    MEAN_LATENCY = "mean-latency"
    P99_LATENCY = "p99-latency"


FIGURES: Final = {
    RoundFigure.IOPS: "IOPS",
    RoundFigure.THROUGHPUT: "throughput",
    RoundFigure.MEAN_LATENCY: "average response time",
    RoundFigure.P99_LATENCY: "P99 response time",
}


def _read_job(_name: str, word: str) -> FioJob:
    from openpts_fio.jobs.job_file import job_lines, read_jobs  # noqa: PLC0415 opens files

    path = Path(word)
    used = read_jobs(path, os.environ).used_values
    return FioJob(
        path.name,
        kept_lines(job_lines(path)),
        tuple(f"{name}={value}" for name, value in sorted(used.items())),
    )


class WorkloadConditions(FioJobConditions, frozen=True, kw_only=True, tag_field="test", tag="workload"):
    """The steps of ``job``, in rounds until ``figure`` of ``stream`` is steady, ``max_rounds`` at most.

    ``precondition_passes`` user capacities are written in sequence before, then the steps move ``load_fills``
    more; ``further_rounds`` follow behind.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.ROUNDS

    job: Annotated[
        FioJob | None,
        Field(
            "Job file",
            "Job file of fio.",
            Kind(
                str,
                _read_job,
                lambda job: job.name,
                metavar="JOB",
                beside=lambda word, folder: str(Path(folder) / word),
            ),
            free="what is run, not how",
            argument="JOB",
        ),
    ] = None
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(help="Times the user capacity written in sequence before; 0 is none."),
    ]
    precondition_block_size_bytes: Annotated[int, usual.PRECONDITION_BLOCK_SIZE]
    precondition_tc: Annotated[int, usual.PRECONDITION_TC.but(help="Thread count of preconditioning.")]
    precondition_qd: Annotated[int, usual.PRECONDITION_QD.but(help="Queue depth of preconditioning.")]
    figure: Annotated[
        RoundFigure,
        Field(
            "Steady state judged by",
            "Judge steady state by this figure of a round.",
            one_of(*RoundFigure),
            text=lambda figure: f"steady state judged by {FIGURES[figure]}",
        ),
    ]
    stream: Annotated[
        str,
        Field(
            "Steady state judged on stream",
            f"Judge steady state on the stream of this name, or on `{ALL_STREAMS}` together.",
            Kind(str, metavar="NAME"),
            text="steady state judged on stream {}",
        ),
    ]
    max_rounds: Annotated[int, usual.MAX_ROUNDS]
    load_fills: Annotated[
        float,
        Field(
            "Moved by the job before rounds (x user capacity)",
            "Times the user capacity that the job moves before its rounds; 0 is none.",
            PASSES,
            text="{} x user capacity by the job before rounds",
            rare=True,
        ),
    ] = 0
    further_rounds: Annotated[
        int,
        Field(
            "Rounds after Steady State",
            "Go on for so many rounds when the figure is steady, or given up.",
            count(0, 10_000),
            text=lambda rounds: f"{format_count(rounds, 'round')} after steady state",
            rare=True,
        ),
    ] = 0

    @property
    def lacking(self) -> str:
        """A job has to be named."""
        return "name a job file of fio before the target" if self.job is None else ""

    def step_counts(self) -> StepCounts:
        """Each step of the job in each round; jobs have a handful."""
        yield ("max_rounds",), self.max_rounds + self.further_rounds


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=WorkloadConditions,
    title="Workload of a Job File",
    short_title="Workload",
    question="What does a drive do under my own load, of several streams at once?",
    purpose="""A load of your own on a drive in steady state: all the streams of a job file of fio, in rounds.

    JOB is a job file of fio. At full length: a purge, the user capacity written twice in sequence, and the
    job again and again until the figure that is tracked is steady, at most 25 times.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 1, "longest_step_seconds": 2, "max_rounds": 7},
)
