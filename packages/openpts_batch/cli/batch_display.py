"""The displays of a batch: a table that is redrawn on terminals, lines for files and pipes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Final, cast

import click
import msgspec
from msgspec import Struct, field
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openpts.cli.console import live_console, table_of
from openpts.cli.folder_events import background_listener
from openpts.cli.live_outputs import EVENTS, STDOUT, given_outputs, opened_output
from openpts.cli.log_lines import host_limit_text
from openpts.cli.report import MAKING_REPORT
from openpts.cli.run_settings import PlainLog, clock_text, render_panel
from openpts.cli.standard_streams import can_be_drawn_over, is_verbose
from openpts.errors import UsageError
from openpts.plugins import Kind, calling, load, offers
from openpts.record.batch import Batch, BatchEntry, counts_text
from openpts.record.manifest import RunState
from openpts.runner import event_lines as lines
from openpts.runner.events import Event
from openpts.units import MB
from openpts.vocabulary.sample import phase_text
from openpts_batch.executor import BatchEvent, BatchListener, EntryChanged, EntryOutput, ReportBegun

_REFRESH_PER_S: Final = 4
_UNKNOWN: Final = "-"
_WIDE: Final = 110
_VERY_WIDE: Final = 150
_LINES_AROUND: Final = 5
_STYLES: Final = {
    RunState.RUNNING: "bold",
    RunState.FAILED: "red",
    RunState.REFUSED: "red",
    RunState.INTERRUPTED: "yellow",
    RunState.COMPLETE: "green",
}
"""In the order in which drives are shown where not all have room."""


class DriveRow(Struct):
    """What is known of a drive during its run; rates and temperature are the last reported ones."""

    entry: BatchEntry
    phase: str = ""
    planned_steps: int = 0
    steps: int = 0
    iops: float | None = None
    bytes_per_s: float | None = None
    temperature_c: float | None = None
    _shown_phase: str = ""
    _shown_limits: set[str] = field(default_factory=set)

    def change(self, entry: BatchEntry) -> str:
        """Take in what became of the run; what of it is news, in words."""
        before, self.entry = self.entry, entry
        if (before.state, before.reason) != (entry.state, entry.reason):
            if entry.state is RunState.RUNNING:
                words = [
                    f"begins {entry.request.test_words[0]} on {entry.request.target or f'slot {entry.slot}'}",
                    f"slot {entry.slot}" if entry.slot else "",
                    f"processors {entry.cpus}" if entry.cpus else "",
                ]
                return ", ".join(filter(None, words))
            return f"{entry.state}{f': {entry.reason}' if entry.reason else ''}"
        if entry.report_reason and entry.report_reason != before.report_reason:
            return f"no report: {entry.report_reason}"
        return f"reports {', '.join(entry.reports)}" if entry.reports != before.reports else ""

    def on_line(self, line: Event) -> str:
        """Take in what the run says; what of it is news, in words."""
        news = ""
        match line:
            case lines.RunStartedLine():
                self.planned_steps, self.steps = line.planned_steps, 0
            case lines.PurgeStarted():
                self.phase = news = "purge"
            case lines.PhaseStartedLine():
                self.phase = phase_text(line.phase, line.number, line.cycle)
                news = self.phase if line.phase != self._shown_phase else ""
                self._shown_phase = line.phase
            case lines.RunProgressLine() | lines.SampleLine() | lines.StepFinishedLine():
                self._measure(line)
            case lines.CycleEnded():
                title = f"{line.title}: " if line.title else ""
                steady = f"steady in round {line.steady_round}" if line.steady_round else "not steady"
                news = f"{title}{steady}, ended in round {line.last_round}"
            case lines.Note():
                news = line.text
            case lines.HostLimitedLine():
                new = line.limited_ns.keys() - self._shown_limits
                self._shown_limits |= new
                news = host_limit_text(sorted(new), line.evidence) if new else ""
            case lines.RunEnded():
                self.phase, self.iops, self.bytes_per_s = "", None, None
        return news

    def _measure(self, line: lines.RunProgressLine | lines.SampleLine | lines.StepFinishedLine) -> None:
        if isinstance(line, lines.StepFinishedLine):
            self.steps += 1
            self.iops = sum(one.iops for one in line.operations.values())
            self.bytes_per_s = sum(one.bytes_per_s for one in line.operations.values())
            return
        self.temperature_c = line.temperature_c or self.temperature_c
        if isinstance(line, lines.RunProgressLine):
            self.iops, self.bytes_per_s = line.iops, line.bytes_per_s

    @property
    def done(self) -> str:
        """The share of the longest plan's steps; empty before the run has a plan."""
        if self.entry.state is RunState.COMPLETE:
            return "100 %"
        share = min(1.0, self.steps / self.planned_steps) if self.planned_steps else None
        return "" if share is None else f"{share:.0%}".replace("%", " %")


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


_COLUMNS: Final[dict[str, Callable[[DriveRow], str | None]]] = {
    "=Test": lambda row: row.entry.test,
    "=Slot": lambda row: row.entry.slot or row.entry.request.slot,
    "Drive": lambda row: row.entry.request.target,
    "Model": lambda row: row.entry.request.model,
    "=Serial": lambda row: row.entry.request.serial or row.entry.folder,
    "Phase": lambda row: row.phase,
    ">Done": lambda row: row.done,
    ">IOPS": lambda row: _rate(row.iops),
    ">MB/s": lambda row: _rate(None if row.bytes_per_s is None else row.bytes_per_s / MB),
    ">Temp": lambda row: "" if row.temperature_c is None else f"{row.temperature_c:.0f} C",
    "=State": lambda row: str(row.entry.state),
}
"""Where the terminal is too narrow drive, model and phase are shortened, and no number and no state."""
_OF_DRIVES: Final = {"Drive", "Model", "=Serial", ">Done"}


class BatchDisplay(Struct):
    """All entries: a table of them, and a line for what is worth one; a run of this process has a log.

    Each run of another process has its own beside its folder.
    """

    rows: list[DriveRow]
    kind: str
    say: Callable[[str], object]
    is_drawn: bool = False
    verbose: bool = field(default_factory=is_verbose)
    run: PlainLog | None = None
    began_s: float = field(default_factory=time.monotonic)

    def on_event(self, event: BatchEvent) -> None:
        """Take in what happens in the batch, and say what of it is news."""
        elapsed_s = time.monotonic() - self.began_s
        if isinstance(event, ReportBegun):
            of = "all" if event.index is None else self.rows[event.index].entry.folder
            self.say(f"[{clock_text(elapsed_s)}] {of}: {MAKING_REPORT}")
            return
        row = self.rows[event.index]
        if isinstance(event, EntryChanged):
            text = row.change(event.entry)
            runs_here = self.kind == "suite" and event.entry.state is RunState.RUNNING
            log = PlainLog(self.say, elapsed_s, ticks=not self.is_drawn, verbose=self.verbose)
            self.run = log if runs_here else None
        elif self.kind == "suite":
            text = ""
            if self.run is not None:
                self.run.on_event(event.event)
        else:
            text = row.on_line(cast("lines.EventLine", event.event))  # of another process
            if self.is_drawn and not isinstance(event.event, lines.HostLimitedLine):
                text = ""
        if text:
            self.say(f"[{clock_text(elapsed_s)}] {row.entry.folder}: {text}")

    def drawn(self, width: int, height: int) -> RenderableType:
        """The table, how many entries are in which state, and the panel of a run of this process."""
        room = height if self.run is None else height // 2
        panel = () if self.run is None else (render_panel(self.run.progress),)
        return Group(self.table(width, room), Text(self._caption(), style="table.caption"), *panel)

    def table(self, width: int, height: int | None = None) -> Table:
        """As many rows as fit, those that run or failed first; without a height all of them."""
        columns = self._columns(width)
        table = table_of(*columns)
        shown = self.rows
        if height is not None:
            room = max(1, height - _LINES_AROUND)
            shown = shown if len(shown) <= room else sorted(shown, key=_urgency)[:room]
        for row in shown:
            texts = (text(row) or _UNKNOWN for text in columns.values())
            style = _STYLES.get(row.entry.state, "dim")
            table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in texts), style=style)
        return table

    def _columns(self, width: int) -> dict[str, Callable[[DriveRow], str | None]]:
        """What fits side by side, and says something: without slots of drives there is no column of them."""
        left_out = {"Drive"} if width < _VERY_WIDE else set()
        left_out |= {"Model"} if width < _WIDE else set()
        if self.kind == "suite":
            left_out |= _OF_DRIVES
        elif len({row.entry.test for row in self.rows}) == 1:
            left_out.add("=Test")
        known = {name: text for name, text in _COLUMNS.items() if name not in left_out}
        return {name: text for name, text in known.items() if any(text(row) for row in self.rows)}

    def _caption(self) -> str:
        """Counts of states, and while reports are made how many there are."""
        reported = sum(bool(row.entry.reports) for row in self.rows)
        counts = counts_text([row.entry.state for row in self.rows], self.kind)
        return counts + (f"; reports of {reported}" if reported else "")


def _urgency(row: DriveRow) -> int:
    order = [state for state in _STYLES if state is not RunState.COMPLETE]
    return order.index(row.entry.state) if row.entry.state in order else len(order)


@contextmanager
def batch_shown_on(stream: IO[str], batch: Batch) -> Iterator[BatchListener]:
    """The table on a terminal that it can be drawn on, the log anywhere else."""
    rows = [DriveRow(entry) for entry in batch.entries]
    if not can_be_drawn_over(stream):
        yield BatchDisplay(rows, batch.kind, lambda line: click.echo(line, file=stream)).on_event
        return
    display = BatchDisplay(rows, batch.kind, lambda line: console.print(Text(line)), is_drawn=True)
    with live_console(
        stream, lambda console: display.drawn(console.width, console.height), _REFRESH_PER_S
    ) as console:
        yield display.on_event
    console.print(display.table(console.width))


OF_EACH_RUN: Final = (EVENTS, *(f"--{name}" for name in offers(Kind.BATCH_OUTPUT)))
"""Options that a batch does not pass on as they are."""

OutputWords = Callable[[BatchEntry], Sequence[str]]
_BatchOutput = AbstractContextManager[tuple[BatchListener, OutputWords]]


@contextmanager
def batch_outputs(entries: Sequence[BatchEntry]) -> Iterator[tuple[BatchListener, OutputWords]]:
    """A listener as long as the block lasts, and the options of the run of each entry.

    Raises UsageError for a place that can't be written, or that several runs can't share.
    """
    listeners: list[BatchListener] = []
    words: list[OutputWords] = []
    with ExitStack() as held:
        for option, place in given_outputs().items():
            if place == STDOUT:
                raise UsageError(f"{option} - is for one drive: name a file, and each run has one of its own")
            if option == EVENTS:
                listeners.append(_events(place, entries, held))
            elif offer := offers(Kind.BATCH_OUTPUT).get(option.strip("-")):
                with calling(offer):
                    opened: _BatchOutput = load(offer)(option, place, entries)
                listener, of_entry = held.enter_context(opened)
                listeners.append(listener)
                words.append(of_entry)
        isolated = (background_listener(nullcontext(listener), name="an output") for listener in listeners)
        apart = [held.enter_context(each) for each in isolated]

        def on_event(event: BatchEvent) -> None:
            for listener in apart:
                listener(event)

        yield on_event, lambda entry: [word for of_one in words for word in of_one(entry)]


def of_run(place: str, entry: BatchEntry) -> str:
    """``events.jsonl`` as ``events-1-S1.jsonl``: a file for each run, in the same folder."""
    path = Path(place)
    return str(path.parent / f"{path.stem}-{entry.folder}{path.suffix}")


def _events(place: str, entries: Sequence[BatchEntry], held: ExitStack) -> BatchListener:
    """The lines that each run says to the batch anyway."""
    writes = [held.enter_context(opened_output(EVENTS, of_run(place, entry))) for entry in entries]

    def on_event(event: BatchEvent) -> None:
        if isinstance(event, EntryOutput):
            writes[event.index](msgspec.json.encode(event.event) + b"\n")

    return on_event
