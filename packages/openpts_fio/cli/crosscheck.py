"""`openpts crosscheck`: does the native engine measure what fio measures?"""

import math
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from itertools import product
from statistics import fmean, stdev
from typing import Final

import click
from msgspec import Struct, field
from rich.table import Table

from openpts.analysis.ratio import critical_value
from openpts.cli.consent_options import ConsentOfOne
from openpts.cli.console import table_console, table_of
from openpts.cli.options import FiniteRange, argument, flag, group, option, with_options
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
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_fio.engine.engine import FioEngine, find_fio
from openpts_fio.engine.job import FioPath

CONFIDENCE: Final = 0.95
_TICK_S: Final = 0.1
_STOP_LIMIT_S: Final = 3.0
_MOST_TIMES: Final = 3
_PIPE_COLUMNS: Final = 140


class Agreement(StrEnum):
    """The interval compared with a limit."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class ComparedFigure(Struct, frozen=True):
    """A figure of both engines as geometric means, and their difference with the ends of its interval.

    A single pair has no interval: its ratio reaches from 0 to infinity.
    """

    native: float
    fio: float
    pairs: int
    difference_pct: float
    low_pct: float
    high_pct: float
    agrees: Agreement

    def cells(self, text: Callable[[float], str]) -> Iterator[str]:
        """The columns of the table, the means by ``text``."""
        ends = ("unknown" if math.isinf(end) else f"{end:+.2f}" for end in (self.low_pct, self.high_pct))
        yield from (text(self.native), text(self.fio), f"{self.difference_pct:+.2f} %")
        yield from (f"{' to '.join(ends)} %", self.agrees)


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

    def table(self) -> Table:
        """A row for each figure of each stimulus."""
        heads = (">native", ">fio", ">difference", ">95 % interval", f">agrees within {self.limit_pct:g} %")
        table = table_of("=stimulus", "=figure", *heads)
        for one in self.stimuli:
            table.add_row(one.name, "IOPS", *one.iops.cells("{:,.0f}".format))
            table.add_row("", "mean latency (us)", *one.mean_latency_ns.cells(_us))
        return table


def agreement(low: float, high: float, limit_pct: float) -> Agreement:
    """Whether all of an interval of ratios is within the limit in either direction, or all of it outside."""
    most = 1 + limit_pct / 100
    if 1 / most <= low and high <= most:
        return Agreement.YES
    return Agreement.NO if high < 1 / most or low > most else Agreement.UNDECIDED


def compared(native: Sequence[float], fio: Sequence[float], limit_pct: float) -> ComparedFigure:
    """The t interval of the mean logarithm of the pairs' ratios, as ratios of native through fio.

    Raises ValueError unless there are as many positive figures on both sides.
    """
    if len(native) != len(fio) or not native or min(*native, *fio) <= 0:
        raise ValueError("a ratio needs pairs of positive figures")
    logs = [math.log(a / b) for a, b in zip(native, fio, strict=True)]
    middle, half = fmean(logs), math.inf
    if len(logs) > 1:
        half = critical_value(CONFIDENCE, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(middle - half), math.inf if math.isinf(half) else math.exp(middle + half)
    first, second = (math.exp(fmean(math.log(value) for value in values)) for values in (native, fio))
    difference_pct, *ends_pct = (100 * (ratio - 1) for ratio in (math.exp(middle), low, high))
    agrees = agreement(low, high, limit_pct)
    return ComparedFigure(first, second, len(logs), difference_pct, ends_pct[0], ends_pct[1], agrees)


def _us(latency_ns: float) -> str:
    return f"{latency_ns / NS_PER_US:,.2f}"


class CrosscheckCase(Struct, frozen=True):
    """A stimulus under the name by which it is chosen.

    ``pinned``: both engines issue it on one and the same processor, and the scheduler has no choice.
    """

    name: str
    stimulus: Stimulus
    pinned: bool = False


def _case(
    name: str, pattern: AccessPattern, size_kib: int, read_pct: int, qd: int, *, pinned: bool = False
) -> CrosscheckCase:
    stimulus = Stimulus.of(pattern, size_kib * KIB, read_pct, 1, qd, ActiveRange())
    return CrosscheckCase(name, stimulus, pinned)


READS: Final = (
    _case("random-read-4k-qd1", AccessPattern.RANDOM, 4, 100, 1),
    _case("random-read-4k-qd1-pinned", AccessPattern.RANDOM, 4, 100, 1, pinned=True),
    _case("random-read-4k-qd32", AccessPattern.RANDOM, 4, 100, 32),
    _case("sequential-read-128k-qd32", AccessPattern.SEQUENTIAL, 128, 100, 32),
)
WRITES: Final = (
    _case("random-65-35-4k-qd32", AccessPattern.RANDOM, 4, 65, 32),
    _case("random-write-4k-qd32", AccessPattern.RANDOM, 4, 0, 32),
    _case("sequential-write-128k-qd32", AccessPattern.SEQUENTIAL, 128, 0, 32),
)
CASES: Final = {case.name: case for case in (*READS, *WRITES)}


class CrosscheckRequest(Struct, frozen=True, kw_only=True):
    """What is compared, ``repeats`` pairs of each case; ``io_path`` None: what suits the target."""

    target: str
    cases: tuple[CrosscheckCase, ...]
    length: Duration
    ramp_ns: int = 0
    repeats: int
    limit_pct: float = 3.0
    seed: int
    io_path: IoPath | None = None
    consent: Consent = field(default_factory=Consent)


Log = Callable[[str], None]
Engines = tuple[Engine, Engine]


def crosscheck(request: CrosscheckRequest, log: Log) -> CrosscheckDocument:
    """Compare the native engine with fio. Reads need no consent; they cannot write.

    Raises OpenptsError; what fio cannot express, and a missing fio, before anything is issued.
    """
    target, roots = parse_target(request.target), SystemRoots()
    find_fio()
    writes = any(case.stimulus.changes_target for case in request.cases)
    with ExitStack() as stack:
        opened = stack.enter_context(
            open_target(target, request.consent, roots) if writes else open_for_reading(target, roots)
        )
        engines = stack.enter_context(_native_and_fio(request, opened, None))
        native, fio = (engine.facts for engine in engines)
        notes = (*owner_note(opened), *_notes(native, fio, opened), *kernel_threads_note(opened, roots))
        pinned = engines
        if any(case.pinned for case in request.cases):
            # the first ones near the target serve most interrupts
            allowed = os.sched_getaffinity(0)
            cpu = max(allowed & set(cpus_near(opened, roots)) or allowed)
            pinned = stack.enter_context(_native_and_fio(request, opened, cpu))
            notes += (f"pinned stimuli are issued by a thread on processor {cpu}",)
        log(f"target    {opened.facts.path}, {format_capacity(opened.facts.user_capacity_bytes)}")
        for facts in (native, fio):
            log(f"{facts['engine'].value:<9} by {facts['io_path'].value}")
        for note in notes:
            log(f"note      {note}")
        return CrosscheckDocument(
            target=opened.facts.path,
            seed=request.seed,
            limit_pct=request.limit_pct,
            confidence=CONFIDENCE,
            notes=notes,
            engines={
                engine: {name: fact.value for name, fact in facts.items()}
                for engine, facts in (("native", native), ("fio", fio))
            },
            stimuli=compare({False: engines, True: pinned}, request, log),
        )


def compare(
    engines: Mapping[bool, Engines], request: CrosscheckRequest, log: Log
) -> tuple[CheckedStimulus, ...]:
    """Measure all pairs on two engines, those of pinned stimuli on the two under True.

    Which engine begins a pair alternates. Raises RunFailedError if one fails, InterruptedRunError on Ctrl-C.
    """
    measured: list[tuple[list[Sample], list[Sample]]] = [([], []) for _ in request.cases]
    count = request.repeats * len(measured)
    pairs = product(range(request.repeats), zip(request.cases, measured, strict=True))
    with StopSignals() as stop:
        for number, (repeat, (case, samples)) in enumerate(pairs, start=1):
            step = Step.of(case.stimulus, request.length, request.ramp_ns)
            for which in (1, 0) if repeat % 2 else (0, 1):
                samples[which].append(_measured(engines[case.pinned][which], step, stop))
            first, second = (of_engine[-1] for of_engine in samples)
            log(
                f"{number:>3}/{count} {case.name}: {first.iops:,.0f} and {second.iops:,.0f} IOPS, "
                f"{_us(first.mean_latency_ns or 0)} and {_us(second.mean_latency_ns or 0)} us"
            )

    def figure(samples: tuple[list[Sample], list[Sample]], of: Callable[[Sample], float]) -> ComparedFigure:
        native, fio = ([of(sample) for sample in side] for side in samples)
        return compared(native, fio, request.limit_pct)

    return tuple(
        CheckedStimulus(
            case.name,
            iops=figure(samples, lambda sample: sample.iops),
            mean_latency_ns=figure(samples, lambda sample: sample.mean_latency_ns or 0.0),
        )
        for case, samples in zip(request.cases, measured, strict=True)
    )


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


@contextmanager
def _native_and_fio(request: CrosscheckRequest, target: OpenTarget, cpu: int | None) -> Iterator[Engines]:
    """The native engine and fio on the target, their threads on ``cpu`` or where the scheduler puts them."""
    stimuli = [case.stimulus for case in request.cases]
    demand = Demand(
        max(stimulus.tc for stimulus in stimuli),
        max(stimulus.qd for stimulus in stimuli),
        max(stimulus.block_size_bytes for stimulus in stimuli),
    )
    options = NativeOptions(io_path=request.io_path, cpus=() if cpu is None else (cpu,))
    native = NativeEngine(target.fd, target.facts, demand, request.seed, options)
    try:
        path = FioPath.IO_URING
        if native.facts["io_path"].value == IoPath.SYNC:  # the nearest that fio has
            path = FioPath.PSYNC if demand.qd == 1 else FioPath.LIBAIO
        fio = FioEngine(target.fd, target.facts, request.seed, path, cpu=cpu)
        try:
            yield native, fio
        finally:
            _end(fio)
    finally:
        _end(native)


def _end(engine: Engine) -> None:
    """Stop, and wait until nothing more is issued: the target is closed next, and its claim given up."""
    engine.stop()
    with suppress(EngineStoppedError):
        while engine.poll(_STOP_LIMIT_S) is not None:
            pass


def _notes(first: Facts, second: Facts, target: OpenTarget) -> tuple[str, ...]:
    same = {str(IoPath.IO_URING): FioPath.IO_URING, str(IoPath.SYNC): FioPath.PSYNC}
    paths = [str(engine["io_path"].value) for engine in (first, second)]
    notes = []
    if same.get(paths[0]) != paths[1]:
        notes.append(f"the paths differ ({', '.join(paths)}): so may the figures, for that reason alone")
    if has_unwritten_parts(target):
        notes.append(f"parts of {target.facts.path} were never written: reads of them do not reach the drive")
    return tuple(notes)


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
    of IOPS and of mean latency with its 95 % confidence interval over the pairs. They agree if the
    interval is within the limit. TARGET is a drive or file:PATH; the program fio is needed.
    """
    cases = tuple(CASES[name] for name in dict.fromkeys(names)) or READS
    request = CrosscheckRequest(
        target=target,
        cases=(*cases, *(case for case in WRITES if case not in cases)) if writes else cases,
        length=Duration.seconds(seconds),
        ramp_ns=round(ramp * NS_PER_S),
        repeats=repeats,
        limit_pct=limit_pct,
        seed=secrets.randbits(63) if seed is None else seed,
        io_path=None if io_path is None else IoPath(io_path),
        consent=consent,
    )
    document = crosscheck(request, lambda line: click.echo(line, err=as_json))
    if as_json:
        print_document(document)
    else:
        console = table_console(pipe_columns=_PIPE_COLUMNS)
        console.print()
        console.print(document.table())
