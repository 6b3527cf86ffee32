"""A job file of fio, and what each of its streams did, in one step or in several that are alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.escaped_text import visible_line
from openpts.units import MB, MIB, NS_PER_MS, NS_PER_S, S_PER_YEAR, TB
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import Step

ALL_STREAMS: Final = "all"
"""In place of a stream's name: all of them together."""

TEMPLATES: Final = "jobfiles"
"""The folder of a clone of FioSynth that has the job files of suites."""

LONGEST_NS: Final = S_PER_YEAR * NS_PER_S
"""No step of a job is cut short by that."""


class FioJob(Struct, frozen=True):
    """A job file: its lines, with what it includes in place, and its variables as ``NAME=VALUE``."""

    name: str
    lines: tuple[str, ...]
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def by_name(values: Iterable[str]) -> dict[str, str]:
    """What ``NAME=VALUE`` stand for."""
    return {name: value for name, _, value in (one.partition("=") for one in values)}


def kept_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of a job file as a record keeps them: without blanks at their ends, tabs as blanks."""
    return tuple(visible_line(line.expandtabs()) for line in lines)


def parts_of(sample: Sample) -> Iterator[tuple[str, Measured]]:
    """Name and figures of each stream; a step that is idle has none."""
    parts: Sequence[Measured] = sample.streams or (sample,)
    yield from zip(names_of(sample.step), parts, strict=False)


def parts_named(samples: Iterable[Sample], name: str) -> list[Measured]:
    """The parts of a stream, or the steps as a whole."""
    if name == ALL_STREAMS:
        return list(samples)
    return [part for sample in samples for one, part in parts_of(sample) if one == name]


def stream_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """Names of all streams of several steps, each once."""
    return tuple(dict.fromkeys(name for step in steps for name in names_of(step)))


def names_of(step: Step) -> tuple[str, ...]:
    """Names of the streams of a step; one without a name has the number of its place."""
    return tuple(stream.name or f"stream {place}" for place, stream in enumerate(step.streams, start=1))


_MULTIPLIED: Final = frozenset({"RRATE", "DEPTH"})
_DIVIDED: Final = frozenset({"W1THINK", "W2THINK", "W3THINK", "W4THINK", "W5THINK"})
_OFFSET: Final = "OFFSET2"
_REGIONS: Final = 32
"""Jobs that read in several regions read in so many, equally far apart."""


class LimitedFigure(StrEnum):
    """What a limit is for: rates have to reach it, response times must not exceed it."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    MEAN_LATENCY = "mean_latency"
    PERCENTILE = "percentile"
    MAX_LATENCY = "max_latency"


class LimitedOperation(StrEnum):
    """The I/Os that a limit is for."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"


_UNITS: Final = {LimitedFigure.IOPS: ("IOPS", 1), LimitedFigure.THROUGHPUT: ("MB/s", MB)}
_WORDS: Final = {
    LimitedFigure.IOPS: "IOPS",
    LimitedFigure.THROUGHPUT: "throughput",
    LimitedFigure.MEAN_LATENCY: "mean response time",
    LimitedFigure.MAX_LATENCY: "maximum response time",
}


class SuiteLimit(Struct, frozen=True, omit_defaults=True):
    """A value for all reads, or all writes or trims: IOPS, bytes/s, or ns.

    ``percentile`` is that of a ``PERCENTILE``.
    """

    operation: LimitedOperation
    figure: LimitedFigure
    value: float
    percentile: float = 0.0

    @property
    def is_rate(self) -> bool:
        """Whether at least the value is asked for; at most, otherwise."""
        return self.figure in _UNITS

    @property
    def unit(self) -> str:
        """In what the figure is shown: IOPS, MB/s or ms."""
        return _UNITS[self.figure][0] if self.is_rate else "ms"

    def in_unit(self, value: float) -> float:
        """A value of the figure, in ``unit``."""
        return value / (_UNITS[self.figure][1] if self.is_rate else NS_PER_MS)

    @property
    def name(self) -> str:
        """What is limited: ``read P99.99 response time``."""
        if self.figure is LimitedFigure.PERCENTILE:
            return f"{self.operation} P{self.percentile:.10g} response time"
        return f"{self.operation} {_WORDS[self.figure]}"

    @property
    def bound_text(self) -> str:
        """``at least 900 IOPS``."""
        return f"{'at least' if self.is_rate else 'at most'} {self.in_unit(self.value):,.6g} {self.unit}"

    def __str__(self) -> str:
        return f"{self.name} {self.bound_text}"


class SuiteWorkload(Struct, frozen=True, omit_defaults=True):
    """A workload of a suite: a template with values as ``NAME=VALUE``, under the name ``alias``.

    ``limits`` are its targets; rates among them are those of a drive of 1 TB where they are ``per_tb``.
    ``unread`` names targets that openpts does not know.
    """

    alias: str
    template: str
    values: tuple[str, ...] = ()
    limits: tuple[SuiteLimit, ...] = ()
    per_tb: bool = False
    unread: tuple[str, ...] = ()


class WorkloadSuite(Struct, frozen=True, omit_defaults=True):
    """A suite: what prepares the drive, what is measured, and the templates.

    ``once``: the drive is prepared before the first cycle alone. ``own_section``: its templates have no job,
    FioSynth adds one for the drive.
    """

    name: str = ""
    preparation: tuple[SuiteWorkload, ...] = ()
    workloads: tuple[SuiteWorkload, ...] = ()
    templates: tuple[FioJob, ...] = ()
    run_cycles: int = 1
    precondition_cycles: int = 1
    once: bool = False
    scales: bool = False
    own_section: bool = False

    def __str__(self) -> str:
        return self.name or "none"

    def job(self, workload: SuiteWorkload, user_capacity_bytes: int, seed: int) -> FioJob:
        """The job file of a workload for a drive of that capacity."""
        of_name = {one.name: one for one in self.templates}
        template = of_name.get(workload.template, FioJob(workload.template, ()))
        values = self._values(workload, user_capacity_bytes, seed)
        return FioJob(
            template.name,
            (*template.lines, "[drive]") if self.own_section else template.lines,
            tuple(f"{name}={value}" for name, value in sorted(values.items())),
        )

    def has_template(self, workload: SuiteWorkload) -> bool:
        """Whether the clone had the workload's job file."""
        return any(one.name == workload.template for one in self.templates)

    def factor(self, user_capacity_bytes: int) -> float:
        """By what rates are multiplied."""
        return capacity_tb(user_capacity_bytes) if self.scales else 1.0

    def limits_of(self, workload: SuiteWorkload, user_capacity_bytes: int) -> tuple[SuiteLimit, ...]:
        """The limits of a workload on a drive of that capacity."""
        factor = self.factor(user_capacity_bytes) if workload.per_tb else 1.0
        return tuple(
            replace(limit, value=limit.value * factor) if limit.is_rate else limit
            for limit in workload.limits
        )

    def _values(self, workload: SuiteWorkload, user_capacity_bytes: int, seed: int) -> Mapping[str, str]:
        """What FioSynth would put into the workload's template for a drive of that capacity."""
        factor = self.factor(user_capacity_bytes)
        given = by_name(workload.values)
        found = {name: value for name, value in given.items() if name != "JOBS"}
        ratios = {
            **dict.fromkeys(_MULTIPLIED, (factor, 1)),
            **dict.fromkeys(_DIVIDED, (1, factor)),
            _OFFSET: (capacity_tb(user_capacity_bytes), 1),
        }
        found |= {name: _scaled(found[name], *ratios[name]) for name in ratios if name in found}
        increment = user_capacity_bytes // MIB // _REGIONS
        return {
            "IOENGINE": "io_uring",
            **found,
            "JOBS": given.get("JOBS", "1"),
            "OFFSET1": str(Random(seed).randint(0, increment)),  # noqa: S311 no secret
            "INCREMENT": str(increment),
        }


def capacity_tb(user_capacity_bytes: int) -> float:
    """Capacity in TB, to a tenth, and never less than that: FioSynth's multiplier."""
    return max(round(user_capacity_bytes / TB, 1), 0.1)


def _scaled(value: str, multiplier: float, divisor: float) -> str:
    """A whole number, 1 at least; what is no number stays, for the reader of the job to refuse."""
    try:
        return str(max(1, int(float(value) * multiplier / divisor)))
    except (ValueError, OverflowError):
        return value
