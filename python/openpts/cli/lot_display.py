"""The displays of a lot: a table that is redrawn on terminals, lines for files and pipes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Final

import click
from rich.live import Live
from rich.table import Table
from rich.text import Text

from openpts.cli.console import VisibleConsole
from openpts.cli.log_lines import host_limit_text
from openpts.cli.terminal import can_be_drawn_over
from openpts.exchange import events as lines
from openpts.exchange.events import EventLine
from openpts.lot.lot_runner import DriveChanged, LotEvent, LotListener
from openpts.record.lot import Lot, LotEntry, counts_text
from openpts.record.suite import SuiteState
from openpts.units import MB
from openpts.vocabulary.phase import phase_text

_REFRESH_PER_S: Final = 4
_UNKNOWN: Final = "-"
_WIDE: Final = 110
_VERY_WIDE: Final = 150
_LINES_AROUND: Final = 5
_STYLES: Final = {
    SuiteState.RUNNING: "bold",
    SuiteState.COMPLETE: "green",
    SuiteState.FAILED: "red",
    SuiteState.REFUSED: "red",
    SuiteState.INTERRUPTED: "yellow",
}


@dataclass(slots=True)
class DriveRow:
    """What is known of a drive while its run goes on; ``done`` is the share of the longest plan's steps."""

    entry: LotEntry
    phase: str = ""
    planned_steps: int = 0
    steps: int = 0
    iops: float | None = None
    bytes_per_s: float | None = None
    temperature_c: float | None = None

    def hear(self, line: EventLine) -> None:
        """Take in what the run says."""
        match line:
            case lines.RunStarted():
                self.planned_steps, self.steps = line.planned_steps, 0
            case lines.PurgeStarted():
                self.phase = "purge"
            case lines.PhaseStarted():
                cycle = f"cycle {line.cycle}, " if line.cycle > 1 else ""
                self.phase = f"{cycle}{phase_text(line.phase, line.number)}"
            case lines.Progress():
                self.iops, self.bytes_per_s = line.iops, line.bytes_per_s
                self.temperature_c = line.temperature_c or self.temperature_c
            case lines.SampleTaken():
                self.temperature_c = line.temperature_c or self.temperature_c
            case lines.StepFinished():
                self.steps += 1
                self.iops = sum(one.iops for one in line.operations.values())
                self.bytes_per_s = sum(one.bytes_per_s for one in line.operations.values())
            case lines.RunFinished():
                self.phase, self.iops, self.bytes_per_s = "", None, None

    @property
    def done(self) -> str:
        """Empty before the run has a plan."""
        if self.entry.state is SuiteState.COMPLETE:
            return "100 %"
        return (
            f"{min(1.0, self.steps / self.planned_steps):.0%}".replace("%", " %")
            if self.planned_steps
            else ""
        )


_Column = Callable[[DriveRow], str | None]


@dataclass(slots=True)
class LotTable:
    """All drives, as a table that fits the terminal: those that run or failed first."""

    rows: list[DriveRow]

    @classmethod
    def of(cls, lot: Lot) -> "LotTable":
        """Before anything has happened."""
        return cls([DriveRow(entry) for entry in lot.entries])

    def hear(self, event: LotEvent) -> None:
        """Take in what happens in the lot."""
        if isinstance(event, DriveChanged):
            self.rows[event.index].entry = event.entry
        else:
            self.rows[event.index].hear(event.line)

    def rendered(self, width: int, height: int) -> Table:
        """As many rows as fit, and how many there are in which state."""
        columns = self._columns(width)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, caption_justify="left")
        for heading in columns:
            table.add_column(
                heading,
                justify="right" if heading in _NUMBERS else "left",
                no_wrap=heading not in _CUT,
                overflow="ellipsis",
            )
        room = max(1, height - _LINES_AROUND)
        shown = self.rows if len(self.rows) <= room else sorted(self.rows, key=_urgency)[:room]
        for row in shown:
            style = _STYLES.get(row.entry.state, "dim")
            texts = (text(row) or _UNKNOWN for text in columns.values())
            table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in texts), style=style)
        table.caption = self._caption()
        return table

    def _columns(self, width: int) -> dict[str, _Column]:
        """What fits side by side, and says something: without slots of drives there is no column of them."""
        left_out = {"Drive"} if width < _VERY_WIDE else set()
        left_out |= {"Model"} if width < _WIDE else set()
        left_out |= set() if any(row.entry.slot for row in self.rows) else {"Slot"}
        return {heading: text for heading, text in _COLUMNS.items() if heading not in left_out}

    def _caption(self) -> str:
        """Counts of states, and while reports are made how many there are."""
        entries = [row.entry for row in self.rows]
        reported = sum(bool(entry.reports) for entry in entries)
        return counts_text(entries) + (f"; reports of {reported}" if reported else "")

    def ended(self, width: int) -> Table:
        """All rows, whatever their number: the counts come behind it."""
        table = self.rendered(width, len(self.rows) + _LINES_AROUND)
        table.caption = None
        return table


def _urgency(row: DriveRow) -> int:
    order = (SuiteState.RUNNING, SuiteState.FAILED, SuiteState.REFUSED, SuiteState.INTERRUPTED)
    return order.index(row.entry.state) if row.entry.state in order else len(order)


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


_COLUMNS: Final[dict[str, _Column]] = {
    "Slot": lambda row: row.entry.slot,
    "Drive": lambda row: row.entry.request.target,
    "Model": lambda row: row.entry.request.model,
    "Serial": lambda row: row.entry.request.serial or row.entry.folder,
    "Phase": lambda row: row.phase,
    "Done": lambda row: row.done,
    "IOPS": lambda row: _rate(row.iops),
    "MB/s": lambda row: _rate(None if row.bytes_per_s is None else row.bytes_per_s / MB),
    "Temp": lambda row: "" if row.temperature_c is None else f"{row.temperature_c:.0f} C",
    "State": lambda row: str(row.entry.state),
}
_NUMBERS: Final = {"Done", "IOPS", "MB/s", "Temp"}
_CUT: Final = {"Drive", "Model", "Phase"}
"""Where the terminal is too narrow these are shortened, and no number and no state."""


@dataclass(slots=True)
class LotLog:
    """A line for what is worth one; each run has a log of its own beside its folder."""

    say: Callable[[str], object]
    rows: list[DriveRow]
    began_s: float = field(default_factory=time.monotonic)
    _phases: dict[int, str] = field(default_factory=dict)
    _limits: dict[int, set[str]] = field(default_factory=dict)

    def hear(self, event: LotEvent) -> None:
        """Say what the event says, if that is news."""
        row = self.rows[event.index]
        if isinstance(event, DriveChanged):
            text = _changed(row.entry, event.entry)
            row.entry = event.entry
        else:
            row.hear(event.line)
            text = self._told(event.index, event.line)
        if text:
            minutes, seconds = divmod(int(time.monotonic() - self.began_s), 60)
            hours, minutes = divmod(minutes, 60)
            self.say(f"[{hours:02}:{minutes:02}:{seconds:02}] {row.entry.folder}: {text}")

    def _told(self, index: int, line: EventLine) -> str:
        match line:
            case lines.PurgeStarted():
                return "purge"
            case lines.PhaseStarted() if self._phases.get(index) != line.phase:
                self._phases[index] = line.phase
                return self.rows[index].phase
            case lines.CycleFinished():
                title = f"{line.title}: " if line.title else ""
                steady = f"steady in round {line.steady_round}" if line.steady_round else "not steady"
                return f"{title}{steady}, ended in round {line.last_round}"
            case lines.Note():
                return line.text
            case lines.HostLimited():
                new = line.limited_ns.keys() - self._limits.setdefault(index, set())
                self._limits[index] |= new
                return host_limit_text(sorted(new), line.told) if new else ""
        return ""


def _changed(before: LotEntry, entry: LotEntry) -> str:
    if before.state is not entry.state:
        if entry.state is SuiteState.RUNNING:
            words = [
                f"begins {entry.request.test_words[0]} on {entry.request.target or f'slot {entry.slot}'}",
                entry.request.labels.get("condition", ""),
                f"slot {entry.slot}" if entry.slot else "",
                f"processors {entry.cpus}" if entry.cpus else "",
            ]
            return ", ".join(filter(None, words))
        return f"{entry.state}{f': {entry.reason}' if entry.reason else ''}"
    if entry.report_reason and entry.report_reason != before.report_reason:
        return f"no report: {entry.report_reason}"
    return f"reports {', '.join(entry.reports)}" if entry.reports != before.reports else ""


@contextmanager
def lot_shown_on(stream: IO[str], lot: Lot) -> Iterator[LotListener]:
    """The table on a terminal that it can be drawn on, the log anywhere else."""
    rows = [DriveRow(entry) for entry in lot.entries]
    if not can_be_drawn_over(stream):
        yield LotLog(lambda line: click.echo(line, file=stream), rows).hear
        return
    console = VisibleConsole(stream)
    table, log = LotTable.of(lot), LotLog(lambda line: console.print(Text(line)), rows)

    def hear(event: LotEvent) -> None:
        table.hear(event)
        if isinstance(event, DriveChanged) or isinstance(event.line, lines.HostLimited):
            log.hear(event)

    with Live(
        console=console,
        get_renderable=lambda: table.rendered(console.width, console.height),
        refresh_per_second=_REFRESH_PER_S,
        transient=True,
    ):
        yield hear
    console.print(table.ended(console.width))
