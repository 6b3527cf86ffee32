"""The whole suite on drives that follow a script: what happens to the others when one test goes wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.resume import resume
from openpts.errors import (
    InterruptedRunError,
    OpenptsError,
    PurgeError,
    RecordError,
    RunFailedError,
    UsageError,
)
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.record.batch import Batch, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.runner.events import Event, Listener, StepsStarted
from openpts.runner.settings import RunSettings
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People, Purpose
from openpts.vocabulary.purge import Consent
from openpts_batch.cli.run_all import run_all
from openpts_batch.in_turn import InTurn, SuitePart
from openpts_compare.cli.verify import verify
from openpts_pts.conformance.catalogue import PTS
from tests.support.batches import suite_of
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.transcript import Golden

FAST = [20_000.0]
QUICK = ("--time-scale", "1/600", "--no-report")


def suite(folder: Path, *words: str) -> dict[str, Any]:
    command = [*QUICK, *words, "--out", str(folder), "--json"]
    result = CliRunner().invoke(run_all, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def states(folder: Path) -> dict[str, str]:
    return {entry.test: entry.state.value for entry in read_batch(folder).entries}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A suite of all tests, and what it says in its last lines."""
    place = tmp_path_factory.mktemp("whole")
    command = [f"sim:{write_oracle(place, FAST)}", *QUICK, "--out", str(place / "suite")]
    result = CliRunner().invoke(run_all, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return place / "suite", result.output.splitlines()


def test_every_test_has_a_folder_with_its_own_purge(whole: tuple[Path, list[str]]) -> None:
    folder, _ = whole
    assert states(folder) == dict.fromkeys(PTS, "complete")
    assert [entry.test for entry in read_batch(folder).entries] == list(PTS)
    for entry in read_batch(folder).entries:
        run = read_run(folder / entry.folder)
        assert run.manifest.state is RunState.COMPLETE
        assert run.manifest.conditions.test == entry.test
        assert len(run.manifest.purges) == run.cycle_count >= 1
    page = (folder / "index.html").read_text()
    assert all(test.title in page for test in PTS.values())


def test_index_and_terminal_answer_what_a_buyer_asks_in_eight_figures_at_most(
    whole: tuple[Path, list[str]],
) -> None:
    folder, said = whole
    page = (folder / "index.html").read_text()
    asked = page.partition('<dl class="asked">')[2].partition("</dl>")[0]
    names = [text.partition("</dt>")[0] for text in asked.split("<dt>")[1:]]
    assert [name.partition(",")[0] for name in names] == [
        "sequential reads of 128 KiB",
        "sequential writes of 128 KiB",
        "random reads of 4 KiB",
        "random writes of 4 KiB",
        "random I/O",
        "random reads of 4 KiB",
        "random writes of 4 KiB",
    ]
    *_, index = lines = said[-len(names) - 1 :]
    assert index.startswith("index: ")
    assert [line.partition("  ")[0] for line in lines[:-1]] == names


@pytest.mark.slow
def test_only_the_tests_that_were_asked_for_run_in_the_order_of_their_names(tmp_path: Path) -> None:
    target = f"sim:{write_oracle(tmp_path, FAST)}"
    found = suite(tmp_path / "suite", target, "--tests", "sustained, XSR iops,xsr")
    assert [entry["folder"] for entry in found["entries"]] == ["1-sustained", "2-xsr", "3-iops"]
    assert {entry["state"] for entry in found["entries"]} == {"complete"}


def test_a_name_of_no_test_is_refused_with_the_near_one(tmp_path: Path, golden: Golden) -> None:
    ended = CliRunner().invoke(run_all, ["sim:theory", "--tests", "iops,sustaned"])
    assert ended.exit_code == 2
    assert ended.output == golden


def test_a_plan_says_which_tests_run_and_options_win(tmp_path: Path) -> None:
    plan, target = tmp_path / "plan.toml", f"sim:{write_oracle(tmp_path, FAST)}"
    plan.write_text("tests = ['tp', 'hir']\n[common]\nqd = 3\n")
    suite(tmp_path / "of-plan", target, "--plan", str(plan))
    assert states(tmp_path / "of-plan") == {"tp": "complete", "hir": "complete"}
    conditions = read_run(tmp_path / "of-plan/2-hir").manifest.conditions
    assert getattr(conditions, "qd", None) == 3
    suite(tmp_path / "chosen", target, "--plan", str(plan), "--tests", "lat")
    assert states(tmp_path / "chosen") == {"lat": "complete"}


def test_a_plan_has_a_table_for_each_test_and_options_win(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('class = "client"\n[common]\nactive_range = 50\n[tp]\nqd = 3\n[hir]\nqd = 5\n')
    with plan.open("a") as file:
        file.write('[purpose]\nuse_case = "gaming"\n')
    target = f"sim:{write_oracle(tmp_path, FAST)}"
    folder = tmp_path / "suite"
    suite(folder, target, "--tests", "tp,hir", "--plan", str(plan), "--active-range", "75")
    manifests = [read_run(folder / name).manifest for name in ("1-tp", "2-hir")]
    assert [m.conditions.drive_class for m in manifests] == [DriveClass.CLIENT] * 2
    assert [m.conditions.active_range.end_pct for m in manifests] == [75, 75]
    assert [getattr(m.conditions, "qd", None) for m in manifests] == [3, 5]
    assert [m.purpose for m in manifests] == [Purpose(use_case="gaming")] * 2


@pytest.mark.slow
def test_the_checksums_of_a_suite_are_those_of_its_files_at_its_end(tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "suite"
    plan.write_text("short_report = true\n[common]\nactive_range = 50\n")
    words = (f"sim:{write_oracle(tmp_path, FAST)}", "--time-scale", "1/600", "--tests", "iops,lat")
    ended = CliRunner().invoke(run_all, [*words, "--plan", str(plan), "--out", str(folder)])
    assert ended.exit_code == 0, ended.output
    for report in (folder, folder / "1-iops", folder / "2-lat"):
        verified = CliRunner().invoke(verify, [str(report)])
        assert verified.exit_code == 0, str(verified.exception)
        assert json.loads((report / "report-short.json").read_text())["style"] == "short"
    assert [name.partition(".")[0] for name in read_batch(folder).reports] == ["report"] * 3 + [
        "report-short"
    ] * 3
    for name in ("batch.json", "index.html", "1-iops/input/plan.toml", "2-lat/report.pdf"):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(before + b" ")
        verified = CliRunner().invoke(verify, [str(folder)])
        assert name in str(verified.exception)
        (folder / name).write_bytes(before)


def refused(folder: Path, *words: str) -> OpenptsError:
    with pytest.raises(OpenptsError) as raised:
        CliRunner().invoke(run_all, [*QUICK, *words, "--out", str(folder)], catch_exceptions=False)
    return raised.value


@pytest.mark.parametrize(
    "words", [("--active-range", "0"), ("--time-scale", "2"), ("--data-pattern", "pattern:xyz")]
)
def test_what_one_test_would_refuse_is_refused_before_the_first(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    target = f"sim:{write_oracle(tmp_path, FAST)}"
    assert isinstance(refused(tmp_path / "suite", target, *words), UsageError)
    assert not (tmp_path / "suite").exists()


def test_a_target_too_small_for_the_last_test_is_refused_before_the_first(
    tmp_path: Path, golden: Golden
) -> None:
    preset = write_oracle(tmp_path, FAST)
    error = refused(tmp_path / "suite", f"sim:{preset}?capacity=32MiB", "--tests", "iops,cbw,xsr")
    assert str(error) == golden
    assert not (tmp_path / "suite").exists()


def test_steps_too_short_for_a_drive_s_scale_in_the_last_test_are_refused_before_the_first(
    tmp_path: Path,
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("tests = ['powercut', 'thermal']\n[powercut]\ncycles = 1\n[thermal]\nload_seconds = 1\n")
    error = refused(tmp_path / "suite", "sim:client-qlc?scale=43", "--plan", str(plan))
    assert str(error).startswith("thermal: sim:client-qlc")
    assert not (tmp_path / "suite").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, golden: Golden) -> None:
    target = f"sim:{write_oracle(tmp_path, FAST)}"
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "precious").write_text("data")
    assert str(refused(folder, target)) == golden
    assert [path.name for path in folder.iterdir()] == ["precious"]


def test_an_io_that_fails_ends_its_test_and_not_the_suite(tmp_path: Path, golden: Golden) -> None:
    # iops writes twice the capacity before its rounds, hir some 4 MB in each of the few seconds that it has
    limit = 2 * CAPACITY_BYTES - 1
    preset = write_oracle(tmp_path, [1000.0], extra=f"[oracle.errors]\nread_only_after_bytes = {limit}\n")
    folder = tmp_path / "suite"
    error = refused(folder, f"sim:{preset}", "--tests", "iops,hir")
    assert isinstance(error, RunFailedError)
    assert str(error) == golden
    assert states(folder) == {"iops": "failed", "hir": "complete"}


def test_a_drive_that_loses_data_in_power_cuts_fails_that_test_and_not_the_suite(
    tmp_path: Path, golden: Golden
) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "suite"
    target = "sim:client-qlc?capacity=24GB&faults=lost-flush:0.01"
    plan.write_text(
        "tests = ['powercut', 'lat']\nseed = 5\n[powercut]\ncycles = 5\nrange = '8MiB'\nload_seconds = 0.01\n"
        "[lat]\nread_pcts = [0]\nblock_sizes = ['4KiB']\nprecondition_passes = 0\nstep_seconds = 0.5\n"
        "histogram_seconds = 0.5\nmax_rounds = 5\n"
    )
    error = refused(folder, target, "--plan", str(plan))
    assert str(error) == golden
    assert error.exit_code == 7
    assert states(folder) == {"powercut": "failed", "lat": "complete"}
    # cut off in the first, which no other process can go on with: what is behind it does
    entries = read_batch(folder).entries
    begun = replace(entries[0], state=RunState.RUNNING, reason=None)
    write_batch(folder, replace(read_batch(folder), entries=(begun, *entries[1:]), ended_at=None))
    writer = RunWriter.reopen(folder / "1-powercut")
    writer.update_manifest(state=RunState.RUNNING)
    writer.close()
    again = CliRunner().invoke(resume, [str(folder), "--no-report"])
    assert str(again.exception) == golden
    assert states(folder) == {"powercut": "failed", "lat": "complete"}


def test_without_keeping_going_the_first_failure_is_the_last(tmp_path: Path) -> None:
    limit = 2 * CAPACITY_BYTES - 1
    preset = write_oracle(tmp_path, FAST, extra=f"[oracle.errors]\nread_only_after_bytes = {limit}\n")
    folder = tmp_path / "suite"
    refused(folder, f"sim:{preset}", "--tests", "iops,hir", "--stop-on-failure")
    assert states(folder) == {"iops": "failed", "hir": "waiting"}


def test_a_purge_that_fails_ends_the_suite(tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    error = refused(folder, f"sim:{write_oracle(tmp_path, FAST, purge='lies')}", "--tests", "iops,hir")
    assert isinstance(error, PurgeError)
    assert states(folder) == {"iops": "failed", "hir": "waiting"}
    assert read_batch(folder).ended_at is not None


def phase(name: str, preset: Path) -> SuitePart:
    def adjust(standard: Any) -> Any:
        return conditions_of(Overrides({"time_scale": "1/600"}, {"time_scale": "--time-scale"}), standard)

    settings = RunSettings(
        target=f"sim:{preset}",
        drive_class=DriveClass.ENTERPRISE,
        adjust=adjust,
        consent=Consent(),
        people=People(),
        command_line=(),
        seed=1,
    )
    return SuitePart(PTS[name], settings)


class Noted(InTurn):
    """Keeps each state of the suite that it publishes."""

    def publish(self) -> None:
        told.append(self.batch)
        super().publish()


told: list[Batch] = []


def run_parts(
    folder: Path,
    preset: Path,
    tests: Sequence[str],
    listener: Listener = lambda _: None,
    kind: type[InTurn] = Noted,
    reports: Sequence[str] = (),
) -> None:
    def report(_run_folder: Path) -> Sequence[str]:
        if not reports:
            raise ZeroDivisionError("a defect of a page")
        return reports

    told.clear()
    parts = [phase(name, preset) for name in tests]
    entries = [part.entry(number) for number, part in enumerate(parts, start=1)]
    kind(
        folder=folder,
        batch=suite_of(*entries, target="sim:x"),
        parts=parts,
        listeners=lambda _: [listener],
        report=report,
    ).run()


def test_ctrl_c_ends_the_suite_and_keeps_what_there_is(tmp_path: Path) -> None:
    seen: list[Event] = []

    def stop_in_the_second(event: Event) -> None:
        seen.append(event)
        if isinstance(event, StepsStarted) and event.apply.phase.value == "access_group":
            raise KeyboardInterrupt

    preset = write_oracle(tmp_path, FAST)
    with pytest.raises(InterruptedRunError):
        run_parts(tmp_path, preset, ("hir", "xsr", "iops"), stop_in_the_second, reports=["report.json"])
    assert [entry.state for entry in told[-1].entries] == [
        RunState.COMPLETE,
        RunState.INTERRUPTED,
        RunState.WAITING,
    ]
    assert told[-1].ended_at is not None
    assert told[-1].entries[0].reports == ("report.json",)
    assert read_run(tmp_path / "1-hir").manifest.state is RunState.COMPLETE
    assert read_run(tmp_path / "2-xsr").manifest.state is RunState.INTERRUPTED


def test_a_report_that_can_not_be_made_ends_nothing(tmp_path: Path) -> None:
    run_parts(tmp_path, write_oracle(tmp_path, FAST), ("tp", "hir"))
    assert [entry.state for entry in told[-1].entries] == [RunState.COMPLETE] * 2
    assert told[-1].entries[0].report_reason == "ZeroDivisionError: a defect of a page"


class NoRoom(Noted):
    """A disk that is full while a test runs."""

    def publish(self) -> None:
        super().publish()
        if any(entry.state is RunState.RUNNING for entry in self.batch.entries):
            raise RecordError("No space left on device")


def test_an_index_that_has_no_room_meanwhile_ends_nothing(tmp_path: Path) -> None:
    run_parts(tmp_path, write_oracle(tmp_path, FAST), ["hir"], kind=NoRoom, reports=["r"])
    assert [entry.state for entry in told[-1].entries] == [RunState.COMPLETE]


def test_the_suite_is_told_as_it_goes(tmp_path: Path) -> None:
    run_parts(tmp_path, write_oracle(tmp_path, FAST), ["hir"], reports=["r"])
    assert [suite.entries[0].state.value for suite in told] == [
        "waiting",
        "running",
        "complete",
        "complete",
        "complete",
    ]
