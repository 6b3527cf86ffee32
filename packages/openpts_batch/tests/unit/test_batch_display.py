"""What an operator sees of a batch: a table that fits the terminal, and lines that say what is news."""

import io
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from openpts.cli.procedure_options import own_words
from openpts.cli.run import run
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import Batch, BatchEntry
from openpts.record.manifest import RunState
from openpts.runner import event_lines as lines
from openpts.runner.event_lines import PurgeStarted
from openpts.vocabulary.run_request import RunRequest
from openpts.vocabulary.sample import Phase, StepPlace
from openpts_batch.cli import batch
from openpts_batch.cli.batch_display import BatchDisplay, DriveRow
from openpts_batch.executor import BatchEvent, EntryChanged, EntryOutput
from tests.support.batches import suite_entry, suite_of

AT = "2026-01-01T00:00:00.000Z"
PLACE = StepPlace(cycle=1, phase=Phase.ROUND, number=3, position=0)


def entries(count: int) -> list[BatchEntry]:
    return [
        BatchEntry(
            request=RunRequest(
                run_id=f"{number}",
                test_words=("iops",),
                target=f"/dev/nvme{number}n1",
                model="A drive of some length",
                serial=f"S{number:05}",
            ),
            folder=f"{number}-S{number:05}",
            slot=str(number),
        )
        for number in range(1, count + 1)
    ]


def story(first: BatchEntry, second: BatchEntry) -> list[BatchEvent]:
    running = replace(first, state=RunState.RUNNING, cpus="0-3")
    refused = replace(second, state=RunState.REFUSED, exit_code=3, reason="/dev/nvme2n1 doesn't exist")
    target = lines.TargetLine(
        path="",
        name="",
        kind="",
        model=None,
        serial=None,
        firmware=None,
        user_capacity_bytes=1,
        sector_bytes=512,
        simulated=None,
    )
    started = lines.RunStartedLine(
        at=AT,
        run="",
        folder="",
        test="iops",
        profile="",
        seed=1,
        target=target,
        longest_ns=1,
        planned_steps=8,
        resumes_at="",
        labels={},
        host_limits=(),
        plan=(),
    )
    phase = lines.PhaseStartedLine(at=AT, cycle=1, phase=Phase.ROUND, number=3, stimuli=("x",), most=None)
    step = lines.StepFinishedLine(
        at=AT,
        place=PLACE,
        stimulus="x",
        state="measured",
        ended_by=None,
        elapsed_ns=1,
        gap_ns=None,
        operations={},
        errors=0,
        failure=None,
    )
    progress = lines.RunProgressLine(
        at=AT,
        place=PLACE,
        step_elapsed_ns=1,
        ios=1,
        bytes=1,
        iops=181234.0,
        bytes_per_s=742_334_464.0,
        temperature_c=48.6,
        step_share=None,
        left_ns=None,
        left_bounded=False,
        drive_fills=None,
    )
    limited = lines.HostLimitedLine(
        at=AT,
        place=PLACE,
        limited_ns={"processor": 2_000_000_000},
        judged_ns=3_000_000_000,
        evidence=("the hypervisor gave the engine's processors to others",),
    )
    hang = lines.Note(at=AT, topic="io_hangs", text="a read hangs for 4 s")
    told = (
        started,
        lines.PurgeStarted(at=AT),
        phase,
        step,
        step,
        changed_number(phase),
        progress,
        limited,
        limited,
        hang,
    )
    return [EntryChanged(0, running), EntryChanged(1, refused), *(EntryOutput(0, line) for line in told)]


def changed_number(phase: lines.PhaseStartedLine) -> lines.PhaseStartedLine:
    """The next round: the same phase, no news in a log."""
    return replace(phase, number=4)


def display_of(batch: Batch, said: list[str] | None = None) -> BatchDisplay:
    rows = [DriveRow(entry) for entry in batch.entries]
    return BatchDisplay(rows, batch.kind, (said if said is not None else []).append)


def drawn(table: BatchDisplay, width: int, height: int) -> str:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(table.drawn(width, height))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_fits_the_terminal(width, snapshot) -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(3)))
    table = display_of(batch)
    for event in story(*batch.entries[:2]):
        table.on_event(event)
    text = drawn(table, width, 24)
    assert all(len(line) <= width for line in text.splitlines())
    assert text == snapshot


def test_a_narrow_terminal_shortens_the_phase_and_nothing_else() -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(1)))
    first = replace(batch.entries[0], request=replace(batch.entries[0].request, serial="S4EVNX0R512345"))
    table = display_of(replace(batch, entries=(first,)))
    for event in story(first, first):
        if not event.index:
            table.on_event(event)
    phase = lines.PhaseStartedLine(
        at=AT, cycle=2, phase=Phase.RETURN_TO_BASELINE, number=1, stimuli=("x",), most=None
    )
    table.on_event(EntryOutput(0, phase))
    row = drawn(table, 80, 24).splitlines()[1]
    assert row.startswith("1     S4EVNX0R512345  cycle 2, ")
    assert row.endswith("…  25 %  181,234   742  49 C  running")


def test_of_many_drives_those_that_run_or_failed_are_seen(golden) -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(100)))
    table = display_of(batch)
    for index, state in ((98, RunState.RUNNING), (99, RunState.FAILED)):
        table.on_event(EntryChanged(index, replace(batch.entries[index], state=state)))
    text = drawn(table, 120, 24)
    assert len(text.splitlines()) <= 24
    assert text == golden


def test_at_the_end_all_drives_are_listed_and_their_number_comes_behind() -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(100)))
    console = Console(file=io.StringIO(), width=120, height=24)
    console.print(display_of(batch).table(120))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:]] == [str(number) for number in range(1, 101)]


def test_while_reports_are_made_their_number_is_seen() -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(3)))
    table = display_of(batch)
    complete = [replace(entry, state=RunState.COMPLETE) for entry in batch.entries]
    for index, entry in enumerate(complete):
        table.on_event(EntryChanged(index, entry))
    assert drawn(table, 120, 24).splitlines()[-1] == "3 drives: 3 complete"
    table.on_event(EntryChanged(1, replace(complete[1], reports=("report.html",))))
    assert drawn(table, 120, 24).splitlines()[-1] == "3 drives: 3 complete; reports of 1"


def test_the_log_has_a_line_for_what_is_news(snapshot) -> None:
    batch = Batch(batch_id="l", started_at=AT, entries=tuple(entries(2)))
    said: list[str] = []
    display = display_of(batch, said)
    for event in story(*batch.entries):
        display.on_event(event)
    assert "\n".join(line[11:] for line in said) == snapshot


def test_of_a_suite_the_tests_are_seen_and_what_the_running_one_does(golden) -> None:
    suite = suite_of(suite_entry("iops", "1-iops"), suite_entry("tp", "2-tp"))
    said: list[str] = []
    display = display_of(suite, said)
    running = replace(suite.entries[0], state=RunState.RUNNING)
    display.on_event(EntryChanged(0, running))
    display.on_event(EntryOutput(0, PurgeStarted()))
    shown = drawn(display, 80, 24).splitlines()
    assert "\n".join(line for line in shown if not line.startswith("Time")) == golden
    display.on_event(EntryChanged(0, replace(running, state=RunState.COMPLETE)))
    assert "Phase" not in drawn(display, 80, 24)
    assert [line[11:] for line in said] == [
        "1-iops: begins iops on /dev/nvme9n1",
        "purge",
        "1-iops: complete",
    ]


@pytest.mark.parametrize(
    ("words", "targets", "own"),
    [
        (
            ("iops", "d1", "--step-seconds=3", "d2", "--stagger", "3s", "--confirm-serial=1", "--tune"),
            ("d1", "d2"),
            ("--step-seconds=3", "--tune"),
        ),
        (
            ("workload", "job.fio", "d1", "d2", "--label", "a=b", "--out=o", "--json"),
            ("d1", "d2"),
            ("job.fio", "--label", "a=b"),
        ),
        (("workload", "job.fio", "--drives", "slot=3", "--no-report"), (), ("job.fio",)),
        (("app", "d1", "d2", "--", "make", "--out", "x"), ("d1", "d2"), ("--", "make", "--out", "x")),
    ],
)
def test_options_of_the_test_go_on_and_those_of_the_batch_do_not(words, targets, own, monkeypatch) -> None:
    found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def note(
        test: Procedure, options: dict[str, Any], _limits: Path | None, *, targets: tuple[str, ...], **_: Any
    ) -> None:
        found.append((targets, own_words(test, options, batch._OF_THE_BATCH)))

    monkeypatch.setattr(batch, "run_asked", note)
    run.main(list(words), standalone_mode=False)
    assert found == [(targets, own)]
