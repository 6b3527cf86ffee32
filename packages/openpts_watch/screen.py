"""A run on the whole terminal: it reads the run's events each second, and never touches its process."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.css.query import NoMatches
from textual.screen import ModalScreen
from textual.widgets import Footer, ProgressBar, Sparkline, Static, TabbedContent, TabPane, Tree

from openpts.errors import OpenptsError
from openpts.escaped_text import visible_line
from openpts.record.manifest import RunState
from openpts.system_files import SystemRoots
from openpts.units import MB
from openpts_watch import run_texts
from openpts_watch.runs_here import EventsFile, SeenRun, state_of
from openpts_watch.stop_run import process_of

_EACH_S: Final = 1.0
_PLOTTED: Final = 400
_OPEN_CYCLES: Final = 4
_STYLES: Final = {run_texts.DONE: "green", run_texts.NOW: "bold", run_texts.TO_COME: "dim"}


class AskToStop(ModalScreen[bool]):
    """Whether the run is to be stopped, which keeps what was measured."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Stop the run"),
        Binding("n,escape,q", "dismiss(False)", "Let it continue"),
    ]
    CSS = """
    AskToStop { align: center middle; }
    AskToStop > Static { width: 60; max-width: 90%; height: auto; border: round $warning; padding: 1 2; }
    """

    def compose(self) -> ComposeResult:
        """The question."""
        yield Static(
            "Stop this run? It ends its I/O and closes its record, as on Ctrl-C. On a drive `openpts resume` "
            "begins again with the purge of the cycle that is cut off. With --accept-interruption it "
            "continues that cycle, which is a deviation.\n\n\\[y] stop it   \\[n] let it continue"
        )


class RunScreen(App[None]):
    """The run in a folder as its events tell it."""

    TITLE = "openpts"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "quit", "Detach: the run continues"),
        Binding("s", "stop", "Stop the run"),
        Binding("tab", "app.focus_next", "Next part"),
    ]
    CSS = """
    Screen { layers: base; }
    .line { height: 1; padding: 0 1; }
    #title { text-style: bold; }
    #bar { width: 1fr; padding: 0 1; }
    #bar Bar { width: 1fr; }
    #middle { height: 3fr; min-height: 11; }
    #plan { width: 1fr; padding: 0 1; border: round $primary; }
    #measured { width: 1fr; border: round $primary; padding: 0 1; }
    #plan:focus, VerticalScroll:focus { border: round $accent; }
    #figures { height: auto; }
    #iops, #temperature { height: 1fr; max-height: 8; min-height: 1; }
    .caption { height: 1; color: $text-muted; }
    #below { height: 2fr; min-height: 8; }
    TabPane { padding: 0; }
    TabPane VerticalScroll { padding: 0 1; }
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self._file, self.seen = folder, EventsFile(folder), SeenRun()
        self._drawn_plan: list[tuple[int, str, str]] = []
        self._said: dict[str, str] = {}
        self._state = RunState.UNKNOWN

    def compose(self) -> ComposeResult:
        """What is in progress above, plan and figures beside each other, and what was found below."""
        yield Static(id="title", classes="line", markup=False)
        yield Static(id="now", classes="line", markup=False)
        yield Static(id="left", classes="line", markup=False)
        yield ProgressBar(total=1.0, show_eta=False, id="bar")
        with Horizontal(id="middle"):
            plan: Tree[None] = Tree("Plan", id="plan")
            plan.show_root, plan.guide_depth, plan.border_title = False, 2, "Plan"
            yield plan
            with Vertical(id="measured") as measured:
                measured.border_title = "Now, and times of the last step"
                yield Static(id="figures", markup=False)
                yield Static("MB/s since the beginning", id="rates_caption", classes="caption")
                yield Sparkline(id="iops")
                yield Static("Temperature", id="temperature_caption", classes="caption")
                yield Sparkline(id="temperature")
        with TabbedContent(id="below"):
            for name, heading in _TABS.items():
                with TabPane(heading, id=f"tab_{name}"), VerticalScroll():
                    yield Static(id=name, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Catch up, then look again and again."""
        self._base = self.screen
        self.set_interval(_EACH_S, self.read_events)
        self.read_events()

    def read_events(self) -> None:
        """Take in the lines that have come; of a long file the next ones follow at once."""
        new, state = 0, self._state
        try:
            new = self.seen.take(self._file.new_lines())
            state = state_of(self._folder, self.seen)
        except OpenptsError as error:
            self.notify(str(error), severity="error")
        if new:
            self.call_later(self.read_events)
        if new or state != self._state:
            self._state = state
            with suppress(NoMatches):  # the screen is being taken down
                self._draw()

    def _draw(self) -> None:
        seen = self.seen
        self._say("title", run_texts.title(seen, self._state))
        self._say("now", visible_line(seen.now_text))
        self._say("left", seen.left_text)
        self._base.query_one("#bar", ProgressBar).update(progress=seen.done_share or 0.0)
        self._say("figures", _in_columns(run_texts.figures(seen)))
        rates = [point.bytes_per_s / MB for point in seen.points[-_PLOTTED:]]
        self._plot("iops", rates, "rates_caption", f"MB/s over time, up to {max(rates, default=0):,.0f}")
        heat = [one.temperature_c for one in seen.points[-_PLOTTED:] if one.temperature_c is not None]
        self._plot(
            "temperature", heat, "temperature_caption", f"°C over time, up to {max(heat, default=0):.0f}"
        )
        self._draw_plan(list(run_texts.plan_lines(seen)))
        texts = {
            "tracked": run_texts.tracked_lines(seen),
            "deviations": run_texts.deviation_lines(seen),
            "host": run_texts.host_lines(seen),
            "log": [visible_line(text) for text in reversed(seen.log)],
        }
        for name, found in texts.items():
            self._say(name, "\n".join(found))
        heading = f"Deviations ({len(seen.deviations)})"
        if self._said.get("heading") != heading:
            self._said["heading"] = heading
            tabs = self._base.query_one("#below", TabbedContent)
            tabs.get_tab("tab_deviations").label = heading

    def _say(self, name: str, text: str) -> None:
        if self._said.get(name) != text:  # laying out a text again costs the processors of the run
            self._said[name] = text
            self._base.query_one(f"#{name}", Static).update(text)

    def _plot(self, name: str, values: Sequence[float], caption: str, text: str) -> None:
        line = self._base.query_one(f"#{name}", Sparkline)
        line.display = self._base.query_one(f"#{caption}").display = bool(values)
        if line.data != values:
            line.data = values
        self._say(caption, text)

    def _draw_plan(self, plan: list[tuple[int, str, str]]) -> None:
        if plan == self._drawn_plan:
            return
        self._drawn_plan = plan
        tree: Tree[None] = self._base.query_one("#plan", Tree)
        at = tree.cursor_line
        tree.clear()
        cycles = dict.fromkeys(cycle for cycle, _, _ in plan)
        for cycle in cycles:
            parts = [(mark, text) for of, mark, text in plan if of == cycle]
            marks = {mark for mark, _ in parts}
            whole = (
                run_texts.NOW if run_texts.NOW in marks else marks.pop() if len(marks) == 1 else run_texts.NOW
            )
            is_open = whole == run_texts.NOW or len(cycles) < _OPEN_CYCLES
            branch = tree.root.add(_marked(whole, f"cycle {cycle}"), expand=is_open)
            for mark, text in parts:
                branch.add_leaf(_marked(mark, text))
        tree.cursor_line = at

    def action_stop(self) -> None:
        """Ask, then interrupt the run."""

        def answered(is_wanted: bool | None) -> None:
            if is_wanted:
                self._stop()

        self.push_screen(AskToStop(), answered)

    def _stop(self) -> None:
        try:
            with process_of(self._folder, SystemRoots()) as process:
                process.interrupt()
        except OpenptsError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify("the run is asked to stop: it ends its I/O and closes the record")


_TABS: Final = {"tracked": "Steady state", "deviations": "Deviations", "host": "Host", "log": "Log"}


def _marked(mark: str, text: str) -> Text:
    return Text(f"[{mark}] {text}", style=_STYLES[mark])


def _in_columns(figures: Sequence[tuple[str, str]]) -> str:
    """Two figures on a line."""
    cells = [f"{name:6} {value:>10}" for name, value in figures]
    return "\n".join("  ".join(cells[at : at + 2]) for at in range(0, len(cells), 2))
