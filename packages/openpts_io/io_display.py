"""Output of `openpts io` while it measures: a line for each interval, and on a terminal the progress."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

import msgspec
from msgspec import Struct, field
from rich.text import Text

from openpts.analysis.figures import Figures, counted
from openpts.cli.console import live_console
from openpts.cli.simulated_time import simulated_time_text
from openpts.cli.terminal import can_be_drawn_over
from openpts.engine.contract import EngineProgress
from openpts.runner.step_faults import HANG_NS, hang_text
from openpts.units import MB, NS_PER_S, format_block_size, format_capacity, format_duration
from openpts.vocabulary.sample import Interval, Measured, Sample
from openpts.vocabulary.stimulus import Step, Stream
from openpts_io.io_result import latency_text
from openpts_io.io_streams import stream_names
from openpts_io.measure import (
    IntervalsEnded,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementListener,
    MeasurementStarted,
    MeasurementTicked,
    OutstandingIoHangs,
)

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
