"""What `openpts io` has measured, and its two ways out: a JSON object, or tables."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

import msgspec
from msgspec import Struct, UnsetType, field
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from openpts.analysis.latency import Figures, counted
from openpts.cli.console import VisibleConsole, live_console, table_of
from openpts.cli.log_lines import simulated_time_text
from openpts.cli.standard_streams import can_be_drawn_over, print_document, wrapped
from openpts.engine.contract import EngineProgress
from openpts.runner.step_faults import HANG_NS, errors_text, failure_text, hang_text, standstill_text
from openpts.units import MB, NS_PER_S, NS_PER_US, format_block_size, format_capacity, format_duration
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import CpuShares, Interval, Measured, Sample, StepState
from openpts.vocabulary.stimulus import Step, Stream
from openpts_io.io_document import (
    FURTHER_PERCENTILES,
    PERCENTILES,
    IoDocument,
    IoSteps,
    IoTargets,
    LateFigures,
    capped_lines,
    interference_table,
    late_lines,
    stream_names,
    streams_table,
)
from openpts_io.measure import (
    CaptureEnded,
    CaptureFailed,
    IntervalsEnded,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementListener,
    MeasurementStarted,
    MeasurementTicked,
    OutstandingIoHangs,
)

_PROBE_SOURCE: Final = "probe of the target"
_FACTS: Final = {
    "waiting": ("completion_wait",),
    "processors": ("processors",),
    "overhead": ("own_latency", "own_latency_asleep", "own_cpu_time", "own_overhead"),
    "clock": ("clock",),
}


# Characters of a line: more than any table has.
_WIDEST: Final = 1000


def _print_whole(console: Console, table: Table) -> None:
    """With every column as wide as its figures, also where lines are longer than the terminal."""
    table.width = console.measure(table, options=console.options.update(width=_WIDEST)).maximum
    console.print(table, crop=False)


def print_summary(
    console: Console,
    started: MeasurementStarted,
    sample: Sample,
    capture: CaptureEnded | None = None,
    streams_alone: Sequence[Sample] = (),
    *,
    alone: bool = True,
) -> None:
    """Print the tables and the lines below them; ``alone``: it was the only target of its time."""
    console.print()
    document = IoDocument.by(started, replace(sample, intervals=()), capture, streams_alone)
    if document.streams:
        _print_whole(console, streams_table(document, latency_text))
        console.print()
        if streams_alone:
            _print_whole(console, interference_table(document.streams, latency_text))
            console.print()
    console.print(_table(document, sample))
    console.print()
    for name, text in _lines(started, sample, document.late, alone):
        _print_labeled(console, name, text)
    if capture is not None:
        _print_labeled(console, "capture", _capture_text(capture))


def _print_labeled(console: Console, name: str, text: str) -> None:
    """Without rich's line breaks and trailing blanks, which a reader of a pipe doesn't want."""
    label = f"{name:<11}"
    line = Text(wrapped(label + text, console.file, " " * len(label)))
    line.stylize("bold", 0, len(label))
    console.print(line, soft_wrap=True)


def latency_text(latency_ns: float | None) -> str:
    """A response time in us with a tenth; a dash for none."""
    return "-" if latency_ns is None else f"{latency_ns / NS_PER_US:,.1f}"


def _table(document: IoDocument, sample: Sample) -> Table:
    done = {name: getattr(document, name) for name, one in sample.operations.items() if one.ios}
    columns = {"all": document.total, **done} if len(done) != 1 else done
    figures = list(columns.values())
    table = table_of("=", *(f">{name}" for name in columns))
    table.columns[0].header = Text(document.target.name)
    table.add_row("I/Os", *(f"{one.ios:,}" for one in figures))
    table.add_row("data", *(format_capacity(one.bytes) for one in figures))
    table.add_row("IOPS", *(f"{one.iops:,.0f}" for one in figures))
    table.add_row("MB/s", *(f"{one.bytes_per_s / MB:,.1f}" for one in figures))
    table.add_row("latency in us")
    table.add_row("  minimum", *(latency_text(one.min_latency_ns) for one in figures))
    table.add_row("  mean", *(latency_text(one.mean_latency_ns) for one in figures))
    table.add_row("  std dev", *(latency_text(one.standard_deviation_ns) for one in figures))
    for percentile in PERCENTILES + FURTHER_PERCENTILES:
        texts = [latency_text(one.percentiles_ns.get(f"{percentile:.10g}")) for one in figures]
        if any(text != "-" for text in texts):
            table.add_row(f"  p{percentile:.10g}", *texts)
    table.add_row("  maximum", *(latency_text(one.max_latency_ns) for one in figures))
    return table


def _lines(
    started: MeasurementStarted, sample: Sample, late: LateFigures | UnsetType, alone: bool
) -> Iterator[tuple[str, str]]:
    how = str(sample.state)
    if sample.state is StepState.COMPLETE:
        how = f"by {(sample.ended_by or 'its rule').replace('_', ' ')}"
    yield "ended", f"{how} after {format_duration(sample.elapsed_ns)}"
    if sample.standstills:
        yield "disturbed", f"{standstill_text(sample)}: measure again for figures of the target alone"
    if sample.unissued:
        yield "not issued", f"{sample.unissued:,} of the planned I/Os, which found no room until the end"
        yield from capped_lines(sample)
    yield from late_lines(sample, late)
    for errors in sample.errors:
        yield "errors", errors_text(errors)
    for note in started.notes:
        yield "note", note
    facts = started.engine
    if "io_path" in facts:
        path, reason = facts["io_path"], _values(facts, "io_path_reason")
        yield "I/O path", f"{path.value}, chosen by {path.source}; {reason}"
        yield "probe", _probe_text(facts)
    for name in ("waiting", "processors"):
        yield from _fact_line(facts, name)
    if sample.cpu is not None:
        yield "CPU time", _cpu_text(sample.cpu, sum(o.ios for o in sample.operations.values()), alone)
    for name in ("overhead", "clock"):
        yield from _fact_line(facts, name)
    yield "seed", str(started.seed)


def _fact_line(facts: Facts, name: str) -> Iterator[tuple[str, str]]:
    """What the engine says under that name, if it says anything; simulated hosts have no processors."""
    if any(key in facts for key in _FACTS[name]):
        yield name, _values(facts, *_FACTS[name])


def _capture_text(capture: CaptureEnded) -> str:
    summary = capture.summary
    per_io = f", {summary.bytes_written / summary.ios:.2f} B each" if summary.ios else ""
    waited = f"{summary.blocked_times} times, {format_duration(summary.blocked_ns)}"
    held_up = (
        f"; the I/O waited for it {waited}" if summary.blocked_times else "; the I/O never waited for it"
    )
    return f"{summary.ios:,} I/Os in {capture.folder}, {summary.files} files{per_io}{held_up}"


def _cpu_text(cpu: CpuShares, ios: int, alone: bool) -> str:
    host = f"host {cpu.user_pct:.1f} % user, {cpu.sys_pct:.1f} % system, {cpu.iowait_pct:.1f} % I/O wait"
    own = f"openpts {format_duration(cpu.process_ns)}"
    if not alone:
        return f"{host}; {own} for all targets"
    return f"{host}; {own}, {cpu.process_ns / ios:,.0f} ns per I/O" if ios else f"{host}; {own}"


def _probe_text(facts: Facts) -> str:
    found = {
        name: fact.value
        for name, fact in facts.items()
        if fact.source == _PROBE_SOURCE and name != "io_path_reason"
    }
    texts = (
        f"{name.removesuffix('_ns').replace('_', ' ')} {value}{' ns' if name.endswith('_ns') else ''}"
        for name, value in found.items()
    )
    return "; ".join(texts).replace("io uring", "io_uring").replace("qd1", "QD 1")


def _values(facts: Facts, *names: str) -> str:
    return ", ".join(fact.value for name in names if (fact := facts.get(name)) and fact.value) or "-"


class MeasurementResults(Struct):
    """Keeps what a result needs of the events."""

    started: dict[int, MeasurementStarted] = field(default_factory=dict)
    ended: dict[int, list[Sample]] = field(default_factory=dict)
    alone: dict[int, list[Sample]] = field(default_factory=dict)
    captures: dict[int, CaptureEnded] = field(default_factory=dict)
    lost_captures: list[str] = field(default_factory=list)

    def on_event(self, event: MeasurementEvent) -> None:
        """Take in one event."""
        match event:
            case MeasurementStarted(number):
                self.started[number] = event
            case MeasurementEnded(number, sample):
                self.ended.setdefault(number, []).append(sample)
            case CaptureEnded(number):
                self.captures[number] = event
            case CaptureFailed(number, reason):
                self.lost_captures.append(f"{self.started[number].target.path}: {reason}")

    def hear_alone(self, event: MeasurementEvent) -> None:
        """Take in one event of a stream that is measured without the others, in their order."""
        if isinstance(event, MeasurementEnded):
            self.alone.setdefault(event.number, []).append(event.sample)

    @property
    def failures(self) -> list[str]:
        """A line for each target on which an I/O failed that was not allowed to."""
        return [
            f"{target.path}: {failure_text(sample, target.sector_bytes)}"
            for number, samples in sorted(self.ended.items())
            for target in [self.started[number].target]
            for sample in samples
            if sample.state is StepState.FAILED
        ]

    def print(self, stream: IO[str], *, as_json: bool) -> None:
        """Print all that was measured: one target as an object, several as a list in one."""
        if as_json:
            documents = tuple(self._document(number) for number in sorted(self.ended))
            print_document(
                documents[0] if len(self.started) == 1 else IoTargets(targets=documents), stream=stream
            )
            return
        console = VisibleConsole(stream)
        for number, samples in sorted(self.ended.items()):
            started, capture = self.started[number], self.captures.get(number)
            for step, sample in enumerate(samples, start=1):
                if len(started.steps) > 1:
                    console.print()
                    console.print(Text(f"step {step} of {len(started.steps)}", style="bold"))
                apart = self.alone.get(number, ())
                print_summary(console, started, sample, capture, apart, alone=len(self.started) == 1)

    def _document(self, number: int) -> IoDocument | IoSteps:
        """A target's one step, or all where it was to have several."""
        started, capture = self.started[number], self.captures.get(number)
        apart = self.alone.get(number, ())
        steps = tuple(IoDocument.by(started, sample, capture, apart) for sample in self.ended[number])
        return steps[0] if len(started.steps) == 1 else IoSteps(steps=steps)


_WIDTHS: Final = {
    "time s": 8,
    "IOPS": 11,
    "MB/s": 10,
    "mean us": 10,
    "p99 us": 10,
    "max us": 11,
    "in flight": 10,
    "errors": 7,
}


@contextmanager
def following(stream: IO[str], interval_ns: int, targets: int) -> Iterator[MeasurementListener]:
    """A listener that prints to the stream; on a terminal the last line is redrawn."""
    lines = IntervalLines(interval_ns, several=targets > 1)
    if not can_be_drawn_over(stream):

        def say(event: MeasurementEvent) -> None:
            for line in lines.of(event):
                print(line, file=stream, flush=True)

        yield say
        return
    standing = MeasurementProgress()

    def on_event(event: MeasurementEvent) -> None:
        standing.on_event(event)
        for line in lines.of(event):
            console.print(Text(line), soft_wrap=True)

    with live_console(
        stream, lambda _console: Text(standing.text(), overflow="ellipsis", no_wrap=True)
    ) as console:
        yield on_event


class IntervalLines(Struct):
    """Turns events into lines; ``several`` targets have their names before them, and so have streams.

    Each of several streams has a line of its own for an interval, and all of them together have the last.
    """

    interval_ns: int
    several: bool
    _names: dict[int, str] = field(default_factory=dict)
    _headed: bool = False
    _simulated_from_s: dict[int, float] = field(default_factory=dict)
    # of each target the step that runs, and those that follow it
    _steps: dict[int, tuple[Step, ...]] = field(default_factory=dict)
    _following: dict[int, list[str]] = field(default_factory=dict)

    def of(self, event: MeasurementEvent) -> list[str]:
        """The lines that an event is worth."""
        match event:
            case MeasurementStarted(number, target):
                others = (name for other, name in self._names.items() if other != number)
                is_ambiguous = target.name in others
                self._names[number] = target.path if is_ambiguous else target.name
                if target.simulation is not None:
                    self._simulated_from_s[number] = time.monotonic()
                self._steps[number] = event.steps
                self._following[number] = _step_texts(event.steps)[1:]
                self._headed = False
                return _start_lines(event)
            case IntervalsEnded(number, intervals):
                shown = [interval for interval in intervals if not self._is_tail(interval)]
                rows = [row for interval in shown for row in self._rows(number, interval)]
                return [*self._heading(), *rows] if rows else []
            case OutstandingIoHangs(number, io):
                return [f"{self._names[number]}: {hang_text(io)}"]
            case MeasurementEnded(number, sample):
                return [*self._simulated_time(number, sample), *self._next_step(number)]
        return []

    def _simulated_time(self, number: int, sample: Sample) -> Iterator[str]:
        if number in self._simulated_from_s:
            wall_s = time.monotonic() - self._simulated_from_s[number]
            self._simulated_from_s[number] = time.monotonic()
            yield simulated_time_text(sample.elapsed_ns + sample.step.ramp_ns, wall_s)

    def _next_step(self, number: int) -> Iterator[str]:
        self._steps[number] = self._steps.get(number, ())[1:]
        if self._following.get(number):
            name = f"{self._names[number]}: " if self.several else ""
            yield name + self._following[number].pop(0)

    def _heading(self) -> list[str]:
        if self._headed:
            return []
        self._headed = True
        names = self._name_column("") + "".join(f"{name:>{width}}" for name, width in _WIDTHS.items())
        return [names]

    def _is_tail(self, interval: Interval) -> bool:
        """The moment in which the last I/Os of a step come in; its rates say nothing, the result has it."""
        return interval.elapsed_ns * 100 < self.interval_ns and not interval.errors

    def _rows(self, number: int, interval: Interval) -> Iterator[str]:
        ended_s = (interval.index * self.interval_ns + interval.elapsed_ns) / NS_PER_S
        whole = (f"{interval.in_flight:,}", f"{interval.errors:,}")
        parts = zip(self._streams_of(number), interval.streams, strict=False)
        named: list[tuple[str, Measured, tuple[str, str]]] = [(name, part, ("", "")) for name, part in parts]
        named.append(("all" if named else "", interval, whole))
        for name, part, last in named:
            figures = Figures.of(counted(part), interval.elapsed_ns)
            texts = (
                f"{ended_s:,.{2 if self.interval_ns < NS_PER_S // 10 else 1}f}",
                f"{figures.iops:,.0f}",
                f"{figures.bandwidth_bytes_per_s / MB:,.1f}",
                latency_text(figures.mean_latency_ns),
                latency_text(figures.percentile_ns(99)),
                latency_text(figures.max_latency_ns),
                *last,
            )
            cells = (f"{text:>{width}}" for text, width in zip(texts, _WIDTHS.values(), strict=True))
            yield (self._name_column(self._names[number], name) + "".join(cells)).rstrip()

    def _streams_of(self, number: int) -> tuple[str, ...]:
        """Names of the streams of the step that runs, where it has several."""
        steps = self._steps.get(number)
        return stream_names(steps[0]) if steps else ()

    def _name_column(self, target: str, stream: str = "") -> str:
        several = [names for number in self._steps if (names := self._streams_of(number))]
        streams = [name for names in several for name in (*names, "all")]
        text = ""
        if self.several:
            text = f"{target:<{max(map(len, self._names.values()), default=0)}}"
        if streams:
            text += f"{' ' if text else ''}{stream:<{max(map(len, streams))}}"
        return text


class MeasurementProgress(Struct):
    """Where the measurements stand, all of them together, for the last line of a terminal."""

    _progress: dict[int, EngineProgress] = field(default_factory=dict)
    _simulated: set[int] = field(default_factory=set)
    _began_s: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 looked up when called

    def on_event(self, event: MeasurementEvent) -> None:
        """Take in one event."""
        match event:
            case MeasurementStarted(number, target) if target.simulation is not None:
                self._simulated.add(number)
            case MeasurementTicked(number, progress):
                self._progress[number] = progress
            case MeasurementEnded(number):
                self._progress.pop(number, None)

    def text(self) -> str:
        """Time, I/Os and data so far, and the I/O that hangs if there is one."""
        if not self._progress:
            return ""
        now = self._progress.values()
        elapsed_ns = max(progress.step_elapsed_ns for progress in now)
        elapsed = format_duration(elapsed_ns)
        if self._progress.keys() <= self._simulated:
            elapsed = simulated_time_text(elapsed_ns, time.monotonic() - self._began_s)
        text = (
            f"{elapsed}, {sum(progress.ios for progress in now):,} I/Os, "
            f"{format_capacity(sum(progress.bytes for progress in now))}; Ctrl-C stops"
        )
        hanging = [p.oldest for p in now if p.oldest is not None and p.oldest.age_ns >= HANG_NS]
        return f"{hang_text(max(hanging, key=lambda io: io.age_ns))}; {text}" if hanging else text


def _start_lines(started: MeasurementStarted) -> list[str]:
    target, engine = started.target, started.engine
    path = engine["io_path" if "io_path" in engine else "engine"].value
    capacity = format_capacity(target.user_capacity_bytes)
    what = f"{target.path}, {capacity}, sector {target.sector_bytes} B"
    first = _step_texts(started.steps)[0]
    return [f"{what}: {first}, by {path}", *(f"note: {note}" for note in started.notes)]


def _step_texts(steps: Sequence[Step]) -> list[str]:
    """What each issues, with its number where there are several."""
    texts = ["; ".join(map(_stream_text, step.streams)) or "idle" for step in steps]
    if len(texts) == 1:
        return texts
    return [f"step {number} of {len(texts)}: {text}" for number, text in enumerate(texts, start=1)]


def _stream_text(stream: Stream) -> str:
    stimulus = stream.stimulus
    weights = msgspec.structs.asdict(stimulus.operations)
    given = ", ".join(f"{name} {weight}" for name, weight in weights.items() if weight)
    sizes = stimulus.block_sizes
    size = format_block_size(stimulus.block_size_bytes) if len(sizes) == 1 else f"{len(sizes)} sizes"
    name = f"{stream.name}: " if stream.name else ""
    handle = stimulus.placement_handle
    placed = "" if handle is msgspec.UNSET else f", placement handle {handle}"
    return f"{name}{stimulus.access_pattern.short} {size}, {given}, TC {stimulus.tc} QD {stimulus.qd}{placed}"
