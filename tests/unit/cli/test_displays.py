"""What an operator reads while a run goes on."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from openpts.cli import run_display
from openpts.cli.progress import RunProgress
from openpts.cli.run_display import LiveDisplay, PlainLog, render_panel, shown_on
from openpts.engine.contract import OutstandingIo
from openpts.journal import Entry, Kind, Owner
from openpts.record.manifest import RunState
from openpts.runner.events import (
    CycleEnded,
    DeviationFound,
    Healed,
    IoHangs,
    PurgeFinished,
    PurgeProgressed,
    PurgeStarted,
    RunEnded,
)
from openpts.runner.healing import Healing
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Fact, PurgeAttempt, PurgeReport
from openpts.vocabulary.requests import CycleFinished, Outcome
from tests.unit.cli.told_run import (
    POINT,
    SIMULATED,
    STARTED,
    WIPC,
    Clock,
    begun,
    clock,
    ended,
    judged,
    log_of,
    point,
    ticked,
)

__all__ = ["clock"]


def test_a_simulated_run_says_so_first_and_last(clock: Clock) -> None:
    clock.now_s += 2
    lines = log_of(
        SIMULATED,
        begun(1, POINT, POINT),
        ended(1, 0, POINT),
        ended(1, 1, POINT),
        RunEnded(RunState.COMPLETE, None),
    )
    assert "on sim:enterprise-tlc (SIMULATED, scale 1:67, 1.00 GB" in lines[0]
    assert lines[-1] == "simulated 2.00 s in 0.00 s"


HANGING = OutstandingIo(age_ns=12 * NS_PER_S, operation="write", offset_bytes=1_048_576, length_bytes=4096)
HANG_LINE = "write of 4 KiB at byte 1048576 has not been answered for 12 s"


def test_a_hanging_io_is_a_line_with_its_place_and_age() -> None:
    flush = OutstandingIo(age_ns=1280 * NS_PER_S, operation="flush", offset_bytes=0, length_bytes=0)
    assert log_of(IoHangs(HANGING), IoHangs(flush)) == [
        HANG_LINE,
        "flush has not been answered for 1,280 s",
    ]


def test_the_panel_shows_what_hangs_until_it_is_answered(clock: Clock) -> None:
    def panel() -> str:
        console = Console(width=120, file=io.StringIO(), record=True)
        console.print(render_panel(progress))
        return console.export_text()

    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(1, *(POINT,) * 56))
    progress.hear(ticked(1, 0, POINT, oldest=replace(HANGING, age_ns=NS_PER_S)))
    before = panel()
    assert "has not been answered" not in before
    progress.hear(ticked(1, 0, POINT, oldest=HANGING))
    assert HANG_LINE in panel()
    assert panel().count("\n") == before.count("\n")
    progress.hear(ticked(1, 0, POINT))
    assert "has not been answered" not in panel()


def test_the_live_display_leaves_the_line_of_a_hang_behind() -> None:
    stream = io.StringIO()
    with LiveDisplay(stream) as display:
        display.hear(STARTED)
        display.hear(IoHangs(HANGING))
    assert HANG_LINE in stream.getvalue()


def test_a_purge_that_takes_long_is_told_now_and_then(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.hear(PurgeStarted())
    for step in range(12):
        clock.now_s += 10
        log.hear(PurgeProgressed(step / 12, "sanitize"))
    assert [line.partition("] ")[2] for line in lines] == [
        "purge",
        *(f"purge, {pct}%, sanitize" for pct in (17, 42, 67, 92)),
    ]


def test_all_that_was_seen_of_a_purge_is_told() -> None:
    report = PurgeReport(
        True,
        "NVMe Format",
        "",
        "",
        10**9,
        64,
        64,
        name="nvme-format",
        attempts=(PurgeAttempt("nvme-sanitize-block", "has none"),),
        status={"utilisation": Fact("0 B", "NUSE"), "reads_as": Fact(None, "DLFEAT 0")},
        status_before={"utilisation": Fact("9 GB", "NUSE")},
        other_samples=3,
    )
    assert log_of(PurgeFinished(report)) == [
        "not nvme-sanitize-block: has none",
        "purge done: NVMe Format, 64 of 64 marks gone, and 3 of 3 places with older data, 1.00 s",
        "Utilisation of the namespace: 0 B (before: 9 GB)",
    ]
    overwritten = PurgeReport(False, "one pass", "", "", 10**9, 64, 64, name="overwrite")
    assert log_of(PurgeFinished(overwritten)) == [
        "overwritten, NOT purged: one pass, 64 of 64 marks gone, 1.00 s"
    ]


def test_the_plain_log_tells_the_run_in_lines() -> None:
    points = (point(8 * KIB), POINT)
    lines = log_of(
        STARTED,
        DeviationFound(Deviation("PTS-IOPS-14", "7.2", "1 min 0 s per step", "1.00 s per step", "")),
        PurgeStarted(),
        PurgeFinished(PurgeReport(True, "discard", "", "", 10**9, 64, 64)),
        begun(None, WIPC),
        ended(None, 0, WIPC),
        begun(1, *points),
        *(ended(1, position, step) for position, step in enumerate(points)),
        judged(5),
        CycleEnded(1, CycleFinished(Outcome(None, 7))),
        RunEnded(RunState.COMPLETE, None),
    )
    assert lines == [
        "IOPS test, PTS-E 2.0.1, on file:x (1.00 GB, sector 512 B), TC 4 QD 32, seed 1, "
        "up to about 6 min 36 s at assumed rates",
        "run folder r1",
        "deviation PTS-IOPS-14: required 1 min 0 s per step; used 1.00 s per step",
        "purge",
        "purge done: discard, 64 of 64 marks gone, 1.00 s",
        "WIPC: SEQ 128 KiB 0/100",
        "WIPC done: 131 MB at 131 MB/s, 1.00 s",
        "round 1 done: RND 4 KiB RW0 1,000 IOPS",
        "steady state after round 5? RND 4 KiB RW0: steady, range 2.0 % (limit 20 %), "
        "slope 0.4 % (limit 10 %)",
        "steady state after round 5? RND 64 KiB RW65: not steady, range 46.4 % (limit 20 %), "
        "slope 18.2 % (limit 10 %)",
        "steady state after round 5? RND 1024 KiB RW100: steady, range 2.0 % (limit 20 %), "
        "slope 0.4 % (limit 10 %)",
        "steady state not reached in 7 rounds",
        "run complete",
    ]


def test_what_an_earlier_run_left_behind_is_told() -> None:
    entry = Entry(Kind.WRITE_CACHE, {}, {}, Owner(1, "x"))
    assert log_of(Healed(Healing(entry, True, "the write cache of /dev/sda is WCE again"))) == [
        "the write cache of /dev/sda is WCE again"
    ]


def test_a_run_that_was_stopped_says_so() -> None:
    assert log_of(RunEnded(RunState.INTERRUPTED, "stopped by the operator")) == [
        "run interrupted: stopped by the operator"
    ]


def test_the_live_panel_shows_round_step_rate_time_and_steady_state(clock: Clock) -> None:
    progress = RunProgress()
    for event in (
        STARTED,
        begun(6, *(POINT,) * 56),
        *(ended(6, position, POINT) for position in range(27)),
        judged(5),
        ticked(6, 27, POINT, step_elapsed_ns=0),
    ):
        progress.hear(event)
    clock.now_s += 1
    progress.hear(ticked(6, 27, POINT, step_elapsed_ns=NS_PER_S // 2, ios=12_345, bytes=12_345 * 4096))
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(render_panel(progress))
    text = console.export_text()
    for part in (
        "round 6 of at most 7",
        "28 of 56   RND 4 KiB 0/100",
        "24,690 IOPS, 101.1 MB/s",
        "1.00 s elapsed",
        "at most 1 min 24 s left",
        "RND 64 KiB RW65: not steady, range 46.4 %",
    ):
        assert part in text


def test_the_live_display_leaves_the_finished_lines_behind() -> None:
    stream = io.StringIO()
    with LiveDisplay(stream) as display:
        display.hear(STARTED)
        display.hear(ticked(None, 0, WIPC))
        display.hear(CycleEnded(1, CycleFinished(Outcome(5, 5))))
        display.hear(RunEnded(RunState.COMPLETE, None))
    assert "steady state reached in round 5" in stream.getvalue()


def test_the_live_panel_fits_80_columns(clock: Clock) -> None:
    """With the longest that stands in it: hours of a simulated drive, and verdicts on three variables."""
    progress = RunProgress()
    for event in (SIMULATED, begun(6, *(POINT,) * 56), judged(5)):
        progress.hear(event)
    clock.now_s += 3599
    progress.hear(ticked(6, 0, POINT, step_elapsed_ns=23 * 3600 * NS_PER_S))
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(render_panel(progress))
    text = console.export_text()
    assert "Steady state" in text
    assert "simulated 23 h 0 min in 59 min 59 s" in text
    assert "…" not in text


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "is_drawn_over"), [("dumb", False), ("xterm", True)])
def test_a_terminal_without_a_cursor_gets_lines_as_a_pipe_does(
    term: str, is_drawn_over: bool, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(run_display, "time", clock)
    screen = Screen()
    with shown_on(screen) as hear:
        hear(STARTED)
        hear(begun(1, POINT, POINT))
        hear(ticked(1, 0, POINT, step_elapsed_ns=1))
        clock.now_s += 3600
        hear(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S, ios=1000, bytes=1000 * 4096))
    assert ("\x1b[" in screen.getvalue(), "step 1 of 2" in screen.getvalue()) == (
        is_drawn_over,
        not is_drawn_over,
    )
