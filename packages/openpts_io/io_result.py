"""What `openpts io` has measured, and its two ways out: a JSON object, or tables."""

from collections.abc import Iterator, Sequence
from typing import IO, Final

from msgspec import Struct, field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from openpts.analysis.figures import Figures, counted
from openpts.cli.console import VisibleConsole, table_of
from openpts.cli.printed_document import print_document
from openpts.cli.terminal import wrapped
from openpts.runner.step_faults import errors_text, failure_text, standstill_text
from openpts.units import MB, NS_PER_US, format_capacity, format_duration
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import CpuShares, Sample, StepState
from openpts_io.io_document import FURTHER_PERCENTILES, PERCENTILES, IoDocument, IoSteps, IoTargets
from openpts_io.io_streams import capped_lines, interference_table, late_lines, streams_table
from openpts_io.measure import (
    CaptureEnded,
    CaptureFailed,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementStarted,
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
    if sample.streams:
        _print_whole(console, streams_table(sample, latency_text))
        console.print()
    if streams_alone:
        _print_whole(console, interference_table(sample, streams_alone, latency_text))
        console.print()
    console.print(_table(started, sample))
    console.print()
    for name, text in _lines(started, sample, alone):
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


def _table(started: MeasurementStarted, sample: Sample) -> Table:
    done = {name: [operation] for name, operation in sample.operations.items() if operation.ios}
    columns = {"all": list(counted(sample)), **done} if len(done) != 1 else done
    figures = [Figures.of(operations, sample.elapsed_ns) for operations in columns.values()]
    table = table_of("=", *(f">{name}" for name in columns))
    table.columns[0].header = Text(started.target.name)
    table.add_row("I/Os", *(f"{one.ios:,}" for one in figures))
    table.add_row("data", *(format_capacity(one.bytes) for one in figures))
    table.add_row("IOPS", *(f"{one.iops:,.0f}" for one in figures))
    table.add_row("MB/s", *(f"{one.bandwidth_bytes_per_s / MB:,.1f}" for one in figures))
    table.add_row("latency in us")
    table.add_row("  minimum", *(latency_text(one.min_latency_ns) for one in figures))
    table.add_row("  mean", *(latency_text(one.mean_latency_ns) for one in figures))
    for percentile in PERCENTILES + FURTHER_PERCENTILES:
        texts = [latency_text(one.percentile_ns(percentile)) for one in figures]
        if any(text != "-" for text in texts):
            table.add_row(f"  {percentile:.10g} %", *texts)
    table.add_row("  maximum", *(latency_text(one.max_latency_ns) for one in figures))
    return table


def _lines(started: MeasurementStarted, sample: Sample, alone: bool) -> Iterator[tuple[str, str]]:
    yield "ended", _end_text(sample)
    if sample.standstills:
        yield "disturbed", f"{standstill_text(sample)}: measure again for figures of the target alone"
    if sample.unissued:
        yield "not issued", f"{sample.unissued:,} of the planned I/Os, which found no room until the end"
        yield from capped_lines(sample)
    yield from late_lines(sample)
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


def _end_text(sample: Sample) -> str:
    length = format_duration(sample.elapsed_ns)
    if sample.state is not StepState.COMPLETE:
        return f"{sample.state} after {length}"
    return f"by {(sample.ended_by or 'its rule').replace('_', ' ')} after {length}"


def _probe_text(facts: Facts) -> str:
    found = {
        name: fact.value
        for name, fact in facts.items()
        if fact.source == _PROBE_SOURCE and name != "io_path_reason"
    }
    return "; ".join(
        f"{_spoken(name.removesuffix('_ns'))} {value}{' ns' if name.endswith('_ns') else ''}"
        for name, value in found.items()
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ").replace("io uring", "io_uring").replace("qd1", "QD 1")


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
