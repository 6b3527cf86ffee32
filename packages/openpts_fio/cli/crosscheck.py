"""`openpts crosscheck`: does the native engine measure what fio measures?"""

import math
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from statistics import fmean, stdev
from typing import IO, Final, Self

import click
from msgspec import Struct, field

from openpts.analysis.ratio import critical_value
from openpts.cli.consent_options import ConsentOfOne
from openpts.cli.console import table_console, table_of
from openpts.cli.number_types import FiniteRange
from openpts.cli.options import argument, flag, group, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.device.guard.guard import open_target
from openpts.device.guard.usage import owner_note
from openpts.device.link import kernel_threads_note
from openpts.device.nearby_cpus import cpus_near
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import has_unwritten_parts, open_for_reading
from openpts.device.targets.target import parse_target
from openpts.engine.contract import Engine, EngineStoppedError
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.runner.step_faults import standstill_text
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots
from openpts.units import KIB, NS_PER_S, NS_PER_US, format_capacity
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import Facts, TargetFacts
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_fio.engine.engine import FioEngine, find_fio
from openpts_fio.engine.job import FioPath

CONFIDENCE: Final = 0.95


class Agreement(StrEnum):
    """The interval compared with a limit."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class PairedRatio(Struct, frozen=True):
    """First figure through second: geometric mean over the pairs, and the ends of its interval.

    Less than two pairs have no interval: it reaches from 0 to infinity.
    """

    first_mean: float
    second_mean: float
    ratio: float
    low: float
    high: float
    pairs: int

    def agrees_within(self, limit_pct: float) -> Agreement:
        """Yes if the whole interval is within the limit in either direction, no if all of it is outside."""
        most = 1 + limit_pct / 100
        if 1 / most <= self.low and self.high <= most:
            return Agreement.YES
        if self.high < 1 / most or self.low > most:
            return Agreement.NO
        return Agreement.UNDECIDED


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> PairedRatio:
    """The t interval of the mean logarithm of the pairs' ratios, turned back into a ratio.

    Raises ValueError unless there are as many positive figures on both sides.
    """
    if len(first) != len(second) or not first or min(*first, *second) <= 0:
        raise ValueError("a ratio needs pairs of positive figures")
    logs = [math.log(a / b) for a, b in zip(first, second, strict=True)]
    middle = fmean(logs)
    half = math.inf
    if len(logs) > 1:
        half = critical_value(CONFIDENCE, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return PairedRatio(
        first_mean=_geometric_mean(first),
        second_mean=_geometric_mean(second),
        ratio=math.exp(middle),
        low=math.exp(middle - half),
        high=math.inf if math.isinf(half) else math.exp(middle + half),
        pairs=len(logs),
    )


def alternating_order(stimuli: int, repeats: int) -> Iterator[tuple[int, bool]]:
    """Which stimulus comes next, and whether the first engine begins: one pair of each, again and again."""
    for repeat in range(repeats):
        for stimulus in range(stimuli):
            yield stimulus, repeat % 2 == 0


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(fmean(math.log(value) for value in values))


_TICK_S: Final = 0.1
_STOP_LIMIT_S: Final = 3.0
_MOST_TIMES: Final = 3


class CrosscheckCase(Struct, frozen=True):
    """A stimulus under the name by which it is chosen.

    ``pinned``: both engines issue it on one and the same processor, and the scheduler has no choice.
    """

    name: str
    stimulus: Stimulus
    pinned: bool = False

    @property
    def writes(self) -> bool:
        """Whether the case writes or trims, and so needs the operator's consent."""
        return self.stimulus.changes_target


class CrosscheckRequest(Struct, frozen=True):
    """What is compared. ``step`` makes the step of a stimulus; ``io_path`` None: what suits the target."""

    target: str
    cases: tuple[CrosscheckCase, ...]
    step: Callable[[Stimulus], Step]
    repeats: int
    seed: int
    io_path: IoPath | None = None
    consent: Consent = field(default_factory=Consent)


class CrosscheckStarted(Struct, frozen=True):
    """The native engine and fio are ready; ``notes`` is what bears on the comparison."""

    target: TargetFacts
    first: Facts
    second: Facts
    notes: tuple[str, ...]


class PairMeasured(Struct, frozen=True):
    """One stimulus was measured by both; ``number`` counts pairs from 1."""

    case: CrosscheckCase
    number: int
    of: int
    first: Sample
    second: Sample


CrosscheckEvent = CrosscheckStarted | PairMeasured
CrosscheckListener = Callable[[CrosscheckEvent], None]
Engines = tuple[Engine, Engine]


class StimulusComparison(Struct, frozen=True):
    """The figures of one stimulus: first engine through second."""

    case: CrosscheckCase
    iops: PairedRatio
    mean_latency_ns: PairedRatio


def crosscheck(order: CrosscheckRequest, emit: CrosscheckListener) -> list[StimulusComparison]:
    """Compare the native engine with fio. Reads need no consent; they cannot write.

    Raises OpenptsError; what fio cannot express, and a missing fio, before anything is issued.
    """
    target, roots = parse_target(order.target), SystemRoots()
    find_fio()
    writes = any(case.writes for case in order.cases)
    with ExitStack() as stack:
        opened = stack.enter_context(
            open_target(target, order.consent, roots) if writes else open_for_reading(target, roots)
        )
        engines = stack.enter_context(_native_and_fio(order, opened, None))
        first, second = (engine.facts for engine in engines)
        notes = (*owner_note(opened), *_notes(first, second, opened), *kernel_threads_note(opened, roots))
        pinned = engines
        if any(case.pinned for case in order.cases):
            cpu = _processor(opened, roots)
            pinned = stack.enter_context(_native_and_fio(order, opened, cpu))
            notes += (f"pinned stimuli are issued by a thread on processor {cpu}",)
        emit(CrosscheckStarted(opened.facts, first, second, notes))
        return compare({False: engines, True: pinned}, order, emit)


def compare(
    engines: Mapping[bool, Engines], order: CrosscheckRequest, emit: CrosscheckListener
) -> list[StimulusComparison]:
    """Measure all pairs on two engines, those of pinned stimuli on the two under True.

    Raises RunFailedError if one fails, InterruptedRunError on Ctrl-C.
    """
    pairs: list[list[tuple[Sample, Sample]]] = [[] for _ in order.cases]
    with StopSignals() as stop:
        for number, (index, first_begins) in enumerate(
            alternating_order(len(order.cases), order.repeats), start=1
        ):
            case = order.cases[index]
            step = order.step(case.stimulus)
            samples = {
                which: _measured(engines[case.pinned][which], step, stop)
                for which in ((0, 1) if first_begins else (1, 0))
            }
            pairs[index].append((samples[0], samples[1]))
            emit(PairMeasured(case, number, len(order.cases) * order.repeats, samples[0], samples[1]))
    return [_comparison(case, measured) for case, measured in zip(order.cases, pairs, strict=True)]


def _measured(engine: Engine, step: Step, stop: StopSignals) -> Sample:
    """The step, again where openpts itself stood still in it."""
    for _ in range(_MOST_TIMES):
        sample = _measured_once(engine, step, stop)
        if not sample.standstills:
            return sample
    raise RunFailedError(
        f"{standstill_text(sample)}, as often as this was measured: keep the machine awake and openpts "
        "running, and measure again"
    )


def _measured_once(engine: Engine, step: Step, stop: StopSignals) -> Sample:
    engine.submit([step])
    try:
        while (sample := engine.poll(_TICK_S)) is None:
            if stop.wished:
                raise InterruptedRunError("stopped by the operator")
    except EngineStoppedError as error:
        raise RunFailedError("the engine ended without a result") from error
    name = engine.facts["engine"].value
    if sample.failure is not None:
        failure = sample.failure
        raise RunFailedError(f"{name}: {failure.operation} failed: {failure.reason}")
    if sample.state is not StepState.COMPLETE or not sample.ios:
        raise RunFailedError(f"{name} completed no I/O of {step}: measure longer")
    return sample


def _comparison(case: CrosscheckCase, pairs: Sequence[tuple[Sample, Sample]]) -> StimulusComparison:
    first, second = zip(*pairs, strict=True)
    return StimulusComparison(
        case,
        iops=paired_ratio([sample.iops for sample in first], [sample.iops for sample in second]),
        mean_latency_ns=paired_ratio(_mean_latencies_ns(first), _mean_latencies_ns(second)),
    )


def _mean_latencies_ns(samples: Sequence[Sample]) -> list[float]:
    return [sample.mean_latency_ns or 0.0 for sample in samples]


@contextmanager
def _native_and_fio(order: CrosscheckRequest, target: OpenTarget, cpu: int | None) -> Iterator[Engines]:
    """The native engine and fio on the target, their threads on ``cpu`` or where the scheduler puts them."""
    stimuli = [case.stimulus for case in order.cases]
    demand = Demand(
        max(stimulus.tc for stimulus in stimuli),
        max(stimulus.qd for stimulus in stimuli),
        max(stimulus.block_size_bytes for stimulus in stimuli),
    )
    options = NativeOptions(io_path=order.io_path, cpus=() if cpu is None else (cpu,))
    native = NativeEngine(target.fd, target.facts, demand, order.seed, options)
    try:
        path = _fio_path(native.facts["io_path"].value, demand.qd)
        fio = FioEngine(target.fd, target.facts, order.seed, path, cpu=cpu)
        try:
            yield native, fio
        finally:
            _end(fio)
    finally:
        _end(native)


def _processor(target: OpenTarget, roots: SystemRoots) -> int:
    """The last of those near the target that this process may use: the first ones serve most interrupts."""
    allowed = os.sched_getaffinity(0)
    return max(allowed & set(cpus_near(target, roots)) or allowed)


def _end(engine: Engine) -> None:
    """Stop, and wait until nothing more is issued: the target is closed next, and its claim given up."""
    engine.stop()
    with suppress(EngineStoppedError):
        while engine.poll(_STOP_LIMIT_S) is not None:
            pass


def _fio_path(native_path: str | None, most_qd: int) -> FioPath:
    """The same path as the native engine's, or the nearest that fio has."""
    if native_path != IoPath.SYNC:
        return FioPath.IO_URING
    return FioPath.PSYNC if most_qd == 1 else FioPath.LIBAIO


def _notes(first: Facts, second: Facts, target: OpenTarget) -> tuple[str, ...]:
    same = {str(IoPath.IO_URING): FioPath.IO_URING, str(IoPath.SYNC): FioPath.PSYNC}
    paths = [str(engine["io_path"].value) for engine in (first, second)]
    notes = []
    if same.get(paths[0]) != paths[1]:
        notes.append(f"the paths differ ({', '.join(paths)}): so may the figures, for that reason alone")
    if has_unwritten_parts(target):
        notes.append(f"parts of {target.facts.path} were never written: reads of them do not reach the drive")
    return tuple(notes)


def _case(
    name: str, pattern: AccessPattern, block_size_bytes: int, read_pct: int, qd: int, *, pinned: bool = False
) -> CrosscheckCase:
    everywhere = ActiveRange()
    return CrosscheckCase(name, Stimulus.of(pattern, block_size_bytes, read_pct, 1, qd, everywhere), pinned)


READS: Final = (
    _case("random-read-4k-qd1", AccessPattern.RANDOM, 4 * KIB, 100, 1),
    _case("random-read-4k-qd1-pinned", AccessPattern.RANDOM, 4 * KIB, 100, 1, pinned=True),
    _case("random-read-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 100, 32),
    _case("sequential-read-128k-qd32", AccessPattern.SEQUENTIAL, 128 * KIB, 100, 32),
)
WRITES: Final = (
    _case("random-65-35-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 65, 32),
    _case("random-write-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 0, 32),
    _case("sequential-write-128k-qd32", AccessPattern.SEQUENTIAL, 128 * KIB, 0, 32),
)
CASES: Final = {case.name: case for case in (*READS, *WRITES)}


_PIPE_COLUMNS = 140


def _event_lines(event: CrosscheckEvent) -> Iterator[str]:
    """Log lines while it runs."""
    if isinstance(event, CrosscheckStarted):
        yield f"target    {event.target.path}, {format_capacity(event.target.user_capacity_bytes)}"
        for engine in (event.first, event.second):
            yield f"{engine['engine'].value:<9} by {_path_text(engine)}"
        yield from (f"note      {note}" for note in event.notes)
        return
    first, second = event.first, event.second
    yield (
        f"{event.number:>3}/{event.of} {event.case.name}: {first.iops:,.0f} and {second.iops:,.0f} IOPS, "
        f"{_us(first.mean_latency_ns or 0)} and {_us(second.mean_latency_ns or 0)} us"
    )


def _path_text(engine: Facts) -> str:
    """How an engine issues I/O."""
    return str(engine["io_path"].value)


def _print_table(stream: IO[str], comparisons: Sequence[StimulusComparison], limit_pct: float) -> None:
    """A row for each figure of each stimulus; means over the pairs are geometric."""
    figures = (">native", ">fio", ">difference", ">95 % interval", f">agrees within {limit_pct:g} %")
    table = table_of("=stimulus", "=figure", *figures)
    for comparison in comparisons:
        for stimulus, figure, ratio, text in (
            (comparison.case.name, "IOPS", comparison.iops, "{:,.0f}".format),
            ("", "mean latency (us)", comparison.mean_latency_ns, _us),
        ):
            means = text(ratio.first_mean), text(ratio.second_mean)
            table.add_row(stimulus, figure, *means, *_difference(ratio), ratio.agrees_within(limit_pct))
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    console.print()
    console.print(table)


def _difference_pct(ratio: float) -> float:
    """A ratio as the first figure's difference from the second."""
    return 100 * (ratio - 1)


def _difference(ratio: PairedRatio) -> tuple[str, str]:
    ends = " to ".join(
        "unknown" if math.isinf(end) else f"{_difference_pct(end):+.2f}" for end in (ratio.low, ratio.high)
    )
    return f"{_difference_pct(ratio.ratio):+.2f} %", f"{ends} %"


def _us(latency_ns: float) -> str:
    return f"{latency_ns / NS_PER_US:,.2f}"


class ComparedFigure(Struct, frozen=True):
    """A figure of both engines, and their difference with the ends of its interval."""

    native: float
    fio: float
    pairs: int
    difference_pct: float
    low_pct: float
    high_pct: float
    agrees: Agreement

    @classmethod
    def of(cls, ratio: PairedRatio, limit_pct: float) -> Self:
        """Of the pairs of one stimulus."""
        return cls(
            native=ratio.first_mean,
            fio=ratio.second_mean,
            pairs=ratio.pairs,
            difference_pct=_difference_pct(ratio.ratio),
            low_pct=_difference_pct(ratio.low),
            high_pct=_difference_pct(ratio.high),
            agrees=ratio.agrees_within(limit_pct),
        )


class CheckedStimulus(Struct, frozen=True):
    """A stimulus, and both of its figures."""

    name: str
    iops: ComparedFigure
    mean_latency_ns: ComparedFigure


class CrosscheckDocument(Document, frozen=True, kw_only=True, tag="openpts.crosscheck/1"):
    """Facts of both engines by name, and what they measured."""

    target: str
    seed: int
    limit_pct: float
    confidence: float
    notes: tuple[str, ...]
    engines: dict[str, dict[str, str | None]]
    stimuli: tuple[CheckedStimulus, ...]

    @classmethod
    def by(
        cls,
        started: CrosscheckStarted,
        comparisons: Sequence[StimulusComparison],
        limit_pct: float,
        seed: int,
    ) -> Self:
        """The same as the table."""
        stimuli = (
            (
                one.case.name,
                ComparedFigure.of(one.iops, limit_pct),
                ComparedFigure.of(one.mean_latency_ns, limit_pct),
            )
            for one in comparisons
        )
        return cls(
            target=started.target.path,
            seed=seed,
            limit_pct=limit_pct,
            confidence=CONFIDENCE,
            notes=tuple(started.notes),
            engines={"native": _engine(started.first), "fio": _engine(started.second)},
            stimuli=tuple(CheckedStimulus(*one) for one in stimuli),
        )


def _engine(facts: Facts) -> dict[str, str | None]:
    return {name: fact.value for name, fact in facts.items()}


@click.command("crosscheck")
@with_options
def crosscheck_command(
    *,
    target: str = argument(),
    names: tuple[str, ...] = option(
        "--stimulus NAME",
        f"Compare with this stimulus; may be repeated: {', '.join(CASES)}. [default: all that only read]",
        click.Choice(list(CASES)),
        multiple=True,
    ),
    writes: bool = flag("Include the stimuli that write. DESTROYS DATA."),
    seconds: float = option("SECONDS", "Length of one measurement.", FiniteRange(0.05, 3600), default=2.0),
    ramp: float = option(
        "SECONDS", "Ramp at the start of each measurement, not counted.", FiniteRange(0, 60), default=0.25
    ),
    repeats: int = option(
        "N", "Pairs of measurements for each stimulus.", click.IntRange(2, 1000), default=6
    ),
    limit_pct: float = option(
        "--limit PCT", "Difference that counts as agreement.", FiniteRange(0, 100, min_open=True), default=3.0
    ),
    io_path: str | None = option(
        "",
        "I/O path of the native engine, and of fio where it has it. [default: what suits TARGET]",
        click.Choice([IoPath.IO_URING.value, IoPath.SYNC.value]),
    ),
    seed: int | None = option("N", "Seed of offsets and data; random.", click.IntRange(0, 2**63 - 1)),
    consent: Consent = group(ConsentOfOne),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> None:
    """Compare the native engine with fio on TARGET. Only reads, unless --writes is given.

    Each stimulus runs on both engines in turn, in pairs whose order alternates. The table has the difference
    of IOPS and of mean latency with its 95 % confidence interval over the pairs; they agree if the whole
    interval is within the limit. TARGET is a drive or file:PATH; the program fio is needed.
    """
    cases = tuple(CASES[name] for name in dict.fromkeys(names)) or READS
    order = CrosscheckRequest(
        target=target,
        cases=(*cases, *(case for case in WRITES if case not in cases)) if writes else cases,
        step=_step(seconds, ramp),
        repeats=repeats,
        seed=secrets.randbits(63) if seed is None else seed,
        io_path=None if io_path is None else IoPath(io_path),
        consent=consent,
    )
    started: list[CrosscheckStarted] = []

    def on_event(event: CrosscheckEvent) -> None:
        if isinstance(event, CrosscheckStarted):
            started.append(event)
        for line in _event_lines(event):
            click.echo(line, err=as_json)

    comparisons = crosscheck(order, on_event)
    if as_json:
        print_document(CrosscheckDocument.by(started[0], comparisons, limit_pct, order.seed))
    else:
        _print_table(sys.stdout, comparisons, limit_pct)


def _step(seconds: float, ramp_seconds: float) -> Callable[[Stimulus], Step]:
    ramp_ns = round(ramp_seconds * NS_PER_S)
    return lambda stimulus: Step.of(stimulus, Duration.seconds(seconds), ramp_ns)
