"""Workload of a Job File, or of a Suite: practice beyond the PTS."""

import os
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions, StepCounts, at_time_scale
from openpts.fields.field import PASSES, SECONDS, SWITCH, Field, ValueType, count, one_of
from openpts.procedures.kit.procedure import Procedure
from openpts.units import format_count
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import duration_text
from openpts_fio.workload.job import ALL_STREAMS, LONGEST_NS, FioJob, WorkloadSuite, kept_lines

_SUITES: Final = "wkldsuites"
_MOST_CYCLES: Final = 1000
_QUICK: Final = {"time_scale": "1/60", "precondition_passes": 1, "longest_step_seconds": 2, "max_rounds": 7}
_OF_A_JOB: Final = frozenset(
    {
        "precondition_passes",
        "precondition_block_size_bytes",
        "precondition_tc",
        "precondition_qd",
        "figure",
        "stream",
        "max_rounds",
        "load_fills",
        "further_rounds",
    }
)
_OF_A_SUITE: Final = frozenset({"suite", "cycles", "precondition_cycles", "leave_out_refused"})


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


def _read(_name: str, word: str, conditions: Any) -> Any:
    """A job file; a file in a folder ``wkldsuites`` is a suite, with its cycles scaled as durations are."""
    path = Path(word).absolute()
    if path.parent.name == _SUITES:
        return _with_suite(path, conditions)
    from openpts_fio.jobs.job_file import job_lines, read_jobs  # noqa: PLC0415 opens files

    path = Path(word)
    used = read_jobs(path, os.environ).used_values
    values = tuple(f"{name}={value}" for name, value in sorted(used.items()))
    return replace(
        conditions, job=FioJob(path.name, kept_lines(job_lines(path)), values), suite=WorkloadSuite()
    )


def _with_suite(path: Path, conditions: Any) -> Any:
    from openpts_fio.workload.suite_file import read_suite  # noqa: PLC0415 opens files

    suite = read_suite(path.parent.parent, path.name)
    found = replace(
        conditions,
        job=None,
        suite=suite,
        cycles=suite.run_cycles,
        precondition_cycles=suite.precondition_cycles,
    )
    cycles = found.cycles if found.time_scale == 1 else at_time_scale(found, found.time_scale).cycles
    return replace(found, cycles=cycles)


def _longest_text(longest_ns: int) -> str:
    if longest_ns == LONGEST_NS:
        return "steps of a job as long as it has them"
    return f"steps of a job of {duration_text(longest_ns)} at the most"


class WorkloadConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="workload"):
    """The steps of ``job``, in rounds until ``figure`` of ``stream`` is steady, ``max_rounds`` at most.

    ``precondition_passes`` user capacities are written in sequence before, then the steps move ``load_fills``
    more; ``further_rounds`` follow behind. Or else the workloads of ``suite``, ``cycles`` times, for which
    the drive is prepared ``precondition_cycles`` times. Streams, places and lengths are those of the job
    files. ``time_scale`` shortens durations, ramps and start delays, but no step to less than ``minute_ns``;
    ``longest_step_ns`` ends each step, also one that ends by an amount.
    """

    unscaled: ClassVar[tuple[str, ...]] = ("longest_step_ns",)

    longest_step_ns: Annotated[
        int,
        Field(
            "Step of a job, at most",
            "End each step of a job after this time at the latest.",
            SECONDS,
            show=lambda conditions: (
                "" if conditions.longest_step_ns == LONGEST_NS else SECONDS.show(conditions.longest_step_ns)
            ),
            text=_longest_text,
        ),
    ] = LONGEST_NS
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    job: Annotated[
        FioJob | None,
        Field(
            "Job file",
            "Job file of fio, or a suite: a file in the folder wkldsuites of a clone of FioSynth.",
            ValueType(str, metavar="LOAD", beside=lambda word, folder: str(Path(folder) / word)),
            change=_read,
            show=lambda conditions: str(conditions.job or conditions.suite.name),
            free="what is run, not how",
            argument="LOAD",
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
            ValueType(str, metavar="NAME"),
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
            "Continue for so many rounds when the figure is steady, or given up.",
            count(0, 10_000),
            text=lambda rounds: f"{format_count(rounds, 'round')} after steady state",
            rare=True,
        ),
    ] = 0

    suite: Annotated[WorkloadSuite, Field("WorkloadSuite", free="what is run, not how")] = WorkloadSuite()
    cycles: Annotated[
        int,
        Field(
            "Cycles",
            "Run the workloads of a suite so many times, in place of its own number.",
            count(1, _MOST_CYCLES),
            show=lambda _conditions: "",
            amount=True,
            text=lambda cycles: format_count(cycles, "cycle"),
        ),
    ] = 1
    precondition_cycles: Annotated[
        int,
        Field(
            "Preconditioning cycles",
            "Prepare the drive for a suite so many times, in place of its own number; 0 not at all.",
            count(0, _MOST_CYCLES),
            show=lambda _conditions: "",
            text=lambda cycles: format_count(cycles, "preconditioning cycle"),
        ),
    ] = 1

    leave_out_refused: Annotated[
        bool,
        Field(
            "Workloads that can't be run left out",
            "Leave out the workloads of a suite that openpts can't run; their limits get no verdict.",
            SWITCH,
            show=lambda _conditions: "",
            text=lambda left_out: "those that can be run" if left_out else "all workloads of the suite",
        ),
    ] = False

    @property
    def is_suite(self) -> bool:
        """Whether it is the workloads of a suite, and not a job in rounds."""
        return bool(self.suite.workloads)

    @property
    def question(self) -> str:
        """What a suite answers, which is another question than a job's; empty for a job."""
        return "Does it keep the limits that a data center sets?" if self.is_suite else ""

    @property
    def steady_state(self) -> SteadyState:  # type: ignore[override]
        """A suite has no steady state."""
        return SteadyState.NONE if self.is_suite else SteadyState.ROUNDS

    @property
    def meaningless(self) -> frozenset[str]:
        """What is of the other kind of load."""
        return _OF_A_JOB if self.is_suite else _OF_A_SUITE

    @property
    def lacking(self) -> str:
        """A load has to be named."""
        named = self.job is not None or self.is_suite
        return "" if named else "name a job file of fio, or a suite of FioSynth, before the target"

    def lengthened(self, needed_ns: int, standard: Self, kept: Collection[str]) -> Self:
        """As for all tests; a step may then last as long as is needed."""
        longer = super().lengthened(needed_ns, standard, kept)
        if "longest_step_ns" in kept:
            return longer
        return replace(longer, longest_step_ns=max(self.longest_step_ns, needed_ns))

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """What is of the other kind of load; that of ``--quick`` is for both."""
        yield from super().contradictions(given)
        if "active_range" in given:
            yield ("active_range",), "a job file says where its I/Os go: use its offset and size"
        if self.lacking:
            return
        kind = (
            "a suite has its own preparation, and no rounds" if self.is_suite else "a job file has no cycles"
        )
        for name in given:
            field = "precondition_block_size_bytes" if name == "precondition_block_size" else name
            if field in self.meaningless and name not in _QUICK:
                yield (name,), kind

    def part_name(self, place: StepPlace) -> str | None:
        """The workload of a suite, with its cycle where there are several."""
        if not self.is_suite or place.phase is not Phase.PROFILE:
            return None
        cycle, at = divmod(place.number - 1, len(self.suite.workloads))
        name = self.suite.workloads[at].alias
        return f"{name}, cycle {cycle + 1}" if self.cycles > 1 else name

    def step_counts(self) -> StepCounts:
        """Each step of the job in each round; jobs have a handful."""
        if not self.is_suite:
            yield ("max_rounds",), self.max_rounds + self.further_rounds


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=WorkloadConditions,
    title="Workload of a Job File",
    short_title="Workload",
    question="What does a drive do under my own load, of several streams at once?",
    purpose="""A load of your own: all the streams of a job file of fio, in rounds, or a suite of FioSynth.

    LOAD is a job file, or a file in the folder wkldsuites of your own clone of FioSynth. At full length a
    job file is: a purge, the user capacity written twice in sequence. The job follows again and again until
    the tracked figure is steady, at most 25 times. The workloads of a suite are run for their time, and
    all of the drive is trimmed before each that prepares it. The targets of the suite are limits: a run that
    does not keep one ends with exit code 10.
    """,
    quick=_QUICK,
    log_around=frozenset({Phase.PROFILE}),
    has_limits=True,
)
