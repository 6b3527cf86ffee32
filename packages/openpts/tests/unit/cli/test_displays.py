"""What an operator reads while a run goes on."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from openpts.cli import run_settings as run_display
from openpts.cli.console import table_console, table_of
from openpts.cli.run_settings import PlainLog, live_display, render_panel, shown_on
from openpts.engine.contract import OutstandingIo
from openpts.record.manifest import RunState
from openpts.runner.event_lines import (
    CycleEnded,
    DeviationFound,
    Note,
    PurgeProgressed,
    PurgeStarted,
    RunEnded,
)
from openpts.runner.events import IoHangs, PurgeFinished
from openpts.runner.progress import RunProgress
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.document import filled
from openpts.vocabulary.facts import Fact, PurgeAttempt, PurgeReport
from openpts.vocabulary.requests import CycleFinished, Outcome
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts.vocabulary.verdict import Deviation
from tests.support.told_run import (
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


def panel_of(progress: RunProgress, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(render_panel(progress))
    return console.export_text()


def test_a_simulated_run_says_so_first_and_last(clock, snapshot) -> None:
    clock.now_s += 2
    ends = (ended(1, 0, POINT), ended(1, 1, POINT), RunEnded(state=RunState.COMPLETE, reason=None))
    assert "\n".join(log_of(SIMULATED, begun(1, POINT, POINT), *ends)) == snapshot


HANGING = OutstandingIo(age_ns=12 * NS_PER_S, operation="write", offset_bytes=1_048_576, length_bytes=4096)
HANG_LINE = "write of 4 KiB at byte 1048576 has not been answered for 12 s"


def test_a_hanging_io_is_a_line_with_its_place_and_age() -> None:
    flush = OutstandingIo(age_ns=1280 * NS_PER_S, operation="flush", offset_bytes=0, length_bytes=0)
    assert log_of(IoHangs(HANGING), IoHangs(flush)) == [HANG_LINE, "flush has not been answered for 1,280 s"]


def test_the_panel_shows_what_hangs_until_it_is_answered(clock) -> None:
    progress = RunProgress()
    progress.on_event(STARTED)
    progress.on_event(begun(1, *(POINT,) * 56))
    progress.on_event(ticked(1, 0, POINT, oldest=replace(HANGING, age_ns=NS_PER_S)))
    before = panel_of(progress, 120)
    assert HANG_LINE not in before
    progress.on_event(ticked(1, 0, POINT, oldest=HANGING))
    assert HANG_LINE in panel_of(progress, 120)
    assert panel_of(progress, 120).count("\n") == before.count("\n")
    progress.on_event(ticked(1, 0, POINT))
    assert HANG_LINE not in panel_of(progress, 120)


def test_the_live_display_leaves_the_line_of_a_hang_behind() -> None:
    stream = io.StringIO()
    with live_display(stream) as on_event:
        on_event(STARTED)
        on_event(IoHangs(HANGING))
    assert HANG_LINE in stream.getvalue()


def test_a_purge_that_takes_long_is_told_now_and_then(clock, monkeypatch) -> None:
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.on_event(PurgeStarted())
    for step in range(12):
        clock.now_s += 10
        log.on_event(PurgeProgressed(share=step / 12, text="sanitize"))
    assert [line.partition("] ")[2] for line in lines] == [
        "purge",
        *(f"purge, {pct}%, sanitize" for pct in (17, 42, 67, 92)),
    ]


def test_all_that_was_seen_of_a_purge_is_told(snapshot) -> None:
    report = PurgeReport(
        *(True, "NVMe Format", "", "", 10**9, 64, 64),
        name="nvme-format",
        attempts=(PurgeAttempt("nvme-sanitize-block", "has none"),),
        status={"utilisation": Fact("0 B", "NUSE"), "reads_as": Fact(None, "DLFEAT 0")},
        status_before={"utilisation": Fact("9 GB", "NUSE")},
        other_samples=3,
    )
    overwritten = PurgeReport(False, "one pass", "", "", 10**9, 64, 64, name="overwrite")
    assert "\n".join(log_of(PurgeFinished(report), PurgeFinished(overwritten))) == snapshot


def test_the_plain_log_tells_the_run_in_lines(snapshot) -> None:
    points = (point(8 * KIB), POINT)
    lines = log_of(
        STARTED,
        Note(topic="healed", text="the write cache of /dev/sda is WCE again"),
        filled(DeviationFound, Deviation("PTS-IOPS-14", "7.2", "1 min 0 s per step", "1.00 s per step", "")),
        PurgeStarted(),
        PurgeFinished(PurgeReport(True, "discard", "", "", 10**9, 64, 64)),
        begun(None, WIPC),
        ended(None, 0, WIPC),
        begun(1, *points),
        *(ended(1, position, step) for position, step in enumerate(points)),
        judged(5),
        CycleEnded.of(1, CycleFinished(Outcome(None, 7))),
        RunEnded(state=RunState.COMPLETE, reason=None),
        RunEnded(state=RunState.INTERRUPTED, reason="stopped by the operator"),
    )
    assert "\n".join(lines) == snapshot


def test_the_live_panel_shows_round_step_rate_time_and_steady_state(clock, snapshot) -> None:
    progress = RunProgress()
    for event in (
        STARTED,
        begun(6, *(POINT,) * 56),
        *(ended(6, position, POINT) for position in range(27)),
        judged(5),
        ticked(6, 27, POINT, step_elapsed_ns=0),
    ):
        progress.on_event(event)
    clock.now_s += 1
    progress.on_event(ticked(6, 27, POINT, step_elapsed_ns=NS_PER_S // 2, ios=12_345, bytes=12_345 * 4096))
    assert panel_of(progress, 100) == snapshot


def test_the_live_display_leaves_the_finished_lines_behind(golden) -> None:
    stream = io.StringIO()
    with live_display(stream) as on_event:
        on_event(STARTED)
        on_event(ticked(None, 0, WIPC))
        on_event(CycleEnded.of(1, CycleFinished(Outcome(5, 5))))
        on_event(RunEnded(state=RunState.COMPLETE, reason=None))
    assert stream.getvalue() == golden


def test_the_live_panel_fits_80_columns(clock, snapshot) -> None:
    """With the longest that stands in it: hours of a simulated drive, and verdicts on three variables."""
    progress = RunProgress()
    for event in (SIMULATED, begun(6, *(POINT,) * 56), judged(5)):
        progress.on_event(event)
    clock.now_s += 3599
    progress.on_event(ticked(6, 0, POINT, step_elapsed_ns=23 * 3600 * NS_PER_S))
    text = panel_of(progress, 80)
    assert "…" not in text
    assert text == snapshot


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "is_drawn_over"), [("dumb", False), ("xterm", True)])
def test_a_terminal_without_a_cursor_gets_lines_as_a_pipe_does(
    term, is_drawn_over, clock, monkeypatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(run_display, "time", clock)
    screen = Screen()
    with shown_on(screen) as on_event:
        on_event(STARTED)
        on_event(begun(1, POINT, POINT))
        on_event(ticked(1, 0, POINT, step_elapsed_ns=1))
        clock.now_s += 3600
        on_event(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S, ios=1000, bytes=1000 * 4096))
    assert ("\x1b[" in screen.getvalue(), "step 1 of 2" in screen.getvalue()) == (
        is_drawn_over,
        not is_drawn_over,
    )


STEP_S = 30


def step(tc: int, qd: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, tc, qd, ActiveRange())
    return Step.of(stimulus, Duration.seconds(STEP_S))


def test_steps_of_half_a_minute_have_their_own_rate_and_demand_each(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.on_event(STARTED)
    steps = (step(1, 1), step(1, 32), step(1, 1))
    log.on_event(begun(1, *steps))
    rates = (100, 7_000, 100)
    ios = 0
    for number, (one, rate) in enumerate(zip(steps, rates, strict=True)):
        for second in range(STEP_S):
            told = {"step_elapsed_ns": second * NS_PER_S, "ios": ios, "bytes": ios * 4096}
            log.on_event(ticked(1, number, one, **told))
            ios += rate
            clock.now_s += 1
        log.on_event(ended(1, number, one))
    said = [line.partition("step ")[2].partition(";")[0] for line in lines if "IOPS, " in line]
    assert said[:2] == [
        "2 of 3, RND 4 KiB 100/0, TC 1 QD 32: 7,000 IOPS, 28.7 MB/s",
        "3 of 3, RND 4 KiB 100/0, TC 1 QD 1: 100 IOPS, 0.4 MB/s",
    ]


def test_steps_too_short_for_a_rate_are_told_without_one(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(run_display, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    short = step(1, 1)
    log.on_event(STARTED)
    log.on_event(begun(1, *(short,) * 400))
    for number in range(400):
        log.on_event(ticked(1, number, short, step_elapsed_ns=0))
        clock.now_s += 0.25
        log.on_event(ended(1, number, short))
    told = [line for line in lines if ", step " in line]
    assert len(told) == 2
    assert not any("IOPS" in line for line in told)


def test_deviations_are_counted_once_in_one_line_unless_each_is_asked_for() -> None:
    first, second = (
        filled(DeviationFound, Deviation(rule, "7.2", "25 rounds", used, ""))
        for rule, used in (("PTS-GEN-05", "a simulated drive"), ("PTS-IOPS-11", "7 rounds"))
    )
    again = (PurgeStarted(), first, second, PurgeStarted())
    assert log_of(STARTED, first, second, first, *again)[2:] == [
        "2 deviations (PTS-GEN-05, PTS-IOPS-11): the report and --verbose list them",
        "purge",
        "purge",
    ]
    lines: list[str] = []
    PlainLog(lines.append, verbose=True).on_event(second)
    assert lines == ["[00:00:00] deviation PTS-IOPS-11: required 25 rounds; used 7 rounds"]


@pytest.mark.parametrize(
    ("columns", "headings"),
    [(200, ["State", "Drive", "Left", "Run"]), (60, ["State", "Drive", "Run"]), (40, ["State", "Run"])],
)
def test_a_table_leaves_columns_out_before_it_breaks_a_word(columns, headings, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = io.StringIO()
    table = table_of("=State", "Drive", ">Left", "Run", left_out=("Left", "Drive"))
    cells = ("running", "sim:enterprise-tlc", "34.76 s", "openpts-runs/suite-1/8-dirth")
    table.add_row(*cells)
    table_console(printed).print(table)
    head, row = printed.getvalue().splitlines()
    assert head.split() == headings
    assert "  ".join(cells[1:3]) in row or columns < 200
    assert row.endswith(cells[-1])
