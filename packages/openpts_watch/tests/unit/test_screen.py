"""The screen, driven by Textual's pilot: what it shows at two sizes, its keys, and that texts are texts."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openpts.record.writer import EVENTS_NAME
from openpts.runner import event_lines as lines
from openpts_watch.tests.unit.seen import AT, in_round_seven, write

pytest.importorskip("textual", reason="the extra openpts[watch] is not installed")

from textual.pilot import Pilot

from openpts_watch.screen import AskToStop, RunScreen

Act = Callable[[RunScreen, Pilot[None]], Awaitable[None]]


def shown(app: RunScreen) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def driven(folder: Path, size: tuple[int, int], act: Act) -> str:
    async def drive() -> str:
        app = RunScreen(folder)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await pilot.pause(0.1)
            await act(app, pilot)
            await pilot.pause()
            return shown(app)

    return asyncio.run(drive())


async def nothing(_app: RunScreen, _pilot: Pilot[None]) -> None:
    """Only look."""


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_run_on_a_terminal(tmp_path, size, snapshot) -> None:
    write(tmp_path, in_round_seven())
    screen = driven(tmp_path, size, nothing)
    assert screen == snapshot
    assert "\x1b" not in screen
    assert max(map(len, screen.splitlines())) <= size[0]


def test_other_parts_are_reached_by_keys(tmp_path, snapshot) -> None:
    write(tmp_path, in_round_seven())

    async def to_deviations(_app: RunScreen, pilot: Pilot[None]) -> None:
        await pilot.press("tab", "right")
        await pilot.pause(0.3)

    assert driven(tmp_path, (80, 24), to_deviations) == snapshot


def test_what_is_appended_is_shown(tmp_path) -> None:
    write(tmp_path, in_round_seven())

    async def finish(app: RunScreen, _pilot: Pilot[None]) -> None:
        write(tmp_path, iter([lines.RunEnded(at=AT, state="complete", reason=None)]))
        app.read_events()

    assert "run complete" in driven(tmp_path, (80, 24), finish)


def test_q_leaves_and_s_asks_before_it_stops(tmp_path, snapshot) -> None:
    """Nothing works on this run, which the answer says; its file stays as it was."""
    write(tmp_path, in_round_seven())
    before = (tmp_path / EVENTS_NAME).read_bytes()

    async def ask(app: RunScreen, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await pilot.pause(0.2)
        assert isinstance(app.screen, AskToStop)

    assert driven(tmp_path, (80, 24), ask) == snapshot

    async def leave(app: RunScreen, pilot: Pilot[None]) -> None:
        await pilot.press("s", "n")
        assert not isinstance(app.screen, AskToStop)
        await pilot.press("s", "y")
        await pilot.pause(0.2)
        assert not isinstance(app.screen, AskToStop)
        await pilot.press("q")
        assert not app.is_running

    driven(tmp_path, (80, 24), leave)
    assert (tmp_path / EVENTS_NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [EVENTS_NAME]
