"""A lifetime run that continues a finished one on the same simulated drive."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from scipy import stats

from openpts.cli.run import run as run_command
from openpts.errors import OpenptsError, RecordError, TargetError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, read_run, stored_run
from openpts.record.writer import RunWriter
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.runner.resumed_run import Continuation, Resumption
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ActiveRange
from openpts_practice.lifetime import LifetimeConditions, StopOn
from tests.support.endurance_presets import write_forgetful_drive, write_worn_drive
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.whole_tests import run_whole

DAY_NS = 24 * 3600 * NS_PER_S
TEST = PROCEDURES["lifetime"]
READ_ONLY_IN_8 = f"[oracle.errors]\nread_only_after_bytes = {int(7.5 * CAPACITY_BYTES)}\n"


def begun(folder: Path, target: str, **changes: Any) -> Run:
    return run_whole(
        "lifetime", DriveClass.ENTERPRISE, folder, changed(**{"drive_cycles": 3, **changes}), target
    )


def changed(**changes: Any) -> Any:
    return lambda conditions: replace(conditions, **changes)


def order_after(run: Run, folder: Path, rest_days: float | None = None, **changes: Any) -> RunSettings:
    path = run.manifest.target.path
    rest_ns = None if rest_days is None else round(rest_days * DAY_NS)
    return RunSettings(
        target=path,
        drive_class=DriveClass.ENTERPRISE,
        adjust=changed(**changes),
        consent=Consent(),
        people=run.manifest.people,
        command_line=("run", "lifetime", path),
        folder=folder,
        seed=9,
        continues=Continuation(stored_run(run.folder), rest_ns),
    )


def after(run: Run, folder: Path, rest_days: float | None = None, **changes: Any) -> Run:
    return read_run(run_test(TEST, order_after(run, folder, rest_days, **changes), []).folder)


def test_three_runs_are_one_life(tmp_path: Path) -> None:
    """The cycle in which writes fail is that of a single run, and the logs go on."""
    target = f"sim:{write_oracle(tmp_path, [10_000.0], extra=READ_ONLY_IN_8)}"
    first = begun(tmp_path / "1", target, stop_on=StopOn.FAILED_WRITE)
    second = after(first, tmp_path / "2", drive_cycles=3)
    third = after(second, tmp_path / "3", drive_cycles=30)
    whole = begun(tmp_path / "whole", target, stop_on=StopOn.FAILED_WRITE, drive_cycles=30)
    assert [summarize(run)["end_of_life_cycle"] for run in (first, second, third)] == [None, None, 8]
    assert [cycle["number"] for cycle in summarize(third)["cycles"]] == [7, 8]
    assert not third.manifest.purges
    parts = [cycle for run in (first, second, third) for cycle in summarize(run)["cycles"]]
    assert parts == summarize(whole)["cycles"]
    reads = summarize(third)["read_back"]
    assert [(read["cycle"], read["run"]) for read in reads] == [
        (3, first.manifest.test_id),
        (3, second.manifest.test_id),
        (6, second.manifest.test_id),
        (6, third.manifest.test_id),
    ]
    build_report(third, default_date(third))


def test_the_forecast_is_over_all_runs_of_the_chain(tmp_path: Path) -> None:
    """A cycle at a time: the line is SciPy's through the readings of all, and that of a single run."""
    target = f"sim:{write_worn_drive(tmp_path)}?capacity=400MB&scale=1"
    first = begun(tmp_path / "1", target, drive_cycles=3)
    second = after(first, tmp_path / "2", drive_cycles=1)
    third = after(second, tmp_path / "3", drive_cycles=1)
    whole = begun(tmp_path / "whole", target, drive_cycles=5)
    chained, single = (summarize(run)["rated_life_used_after_cycles"] for run in (third, whole))
    logs = [health.reading.values for health in whole.health if health.phase is Phase.DRIVE_CYCLE]
    line = stats.linregress(range(6), [log["percentage_used_pct"] for log in logs])
    assert chained["likely"] == pytest.approx((100 - line.intercept) / line.slope)
    assert chained == single
    assert "through 6 readings" in str(build_report(third, default_date(third)))


@pytest.mark.proves("HYP-TMP-01")
def test_data_ages_in_virtual_time(tmp_path: Path) -> None:
    """By the law of the preset a read needs a retry of 500 us as soon as its data is some days old."""
    target = f"sim:{write_forgetful_drive(tmp_path, 0.0)}?capacity=400MB&scale=1"
    first = begun(tmp_path / "1", target, tc=1, qd=1)
    means_ns = {}
    for days in (0, 30, 90):
        run = after(first, tmp_path / f"after {days}", days)
        at_once, later = summarize(run)["read_back"]
        assert later["age_ns"] == pytest.approx(
            days * DAY_NS + at_once["age_ns"], rel=1e-3, abs=60 * NS_PER_S
        )
        assert (at_once["errors"], later["errors"]) == (0, 0)
        rests = [step.sample.elapsed_ns for step in run.phase(Phase.REST)]
        assert rests == [days * DAY_NS] * (days > 0)
        means_ns[days] = later["mean_ns"] - at_once["mean_ns"]
    assert abs(means_ns[0]) < 1000
    assert means_ns[30] == pytest.approx(means_ns[90])
    assert means_ns[30] > 500_000


@pytest.mark.proves("HYP-LIFE-02")
def test_data_that_did_not_last_is_counted_or_ends_it(tmp_path: Path) -> None:
    target = f"sim:{write_forgetful_drive(tmp_path, 1.0)}?capacity=400MB&scale=1"
    first = begun(tmp_path / "1", target)
    strict = summarize(after(first, tmp_path / "2", 90))
    assert strict["ended_by"].startswith("first failed read of what cycle 3 wrote: ")
    assert (strict["cycles"], strict["read_back"][-1]["errors"] > 0) == ([], True)
    patient = after(first, tmp_path / "3", 90, stop_on=StopOn.FAILED_WRITE)
    figures = summarize(patient)
    lost = figures["read_back"][-1]["errors"]
    assert lost * 128 * 1024 == pytest.approx(patient.manifest.target.user_capacity_bytes, rel=0.02)
    assert figures["io_errors"] == lost
    assert [cycle["complete"] for cycle in figures["cycles"]] == [True] * 3
    tables = build_report(patient, default_date(patient)).tables()
    assert [row.cells[3].value for row in tables["lifetime-age-values"].rows] == [0, lost]
    # what could not be read can be continued from again: it is still what cycle 3 wrote
    again = summarize(after(read_run(tmp_path / "2"), tmp_path / "4", stop_on=StopOn.FAILED_WRITE))
    assert again["continues"] == {"run": strict["test_id"], "cycle": 3}


def test_a_continued_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    target = f"sim:{write_oracle(tmp_path, [10_000.0])}"
    first = begun(tmp_path / "1", target)
    whole = after(first, tmp_path / "2", 1)
    cut = tmp_path / "cut"

    def kill(event: object) -> None:
        steps = tmp_path / "3"
        if type(event).__name__ == "StepFinished" and not cut.exists() and len(read_run(steps).steps) == 3:
            shutil.copytree(steps, cut)

    run_test(TEST, order_after(first, tmp_path / "3", 1), [kill])
    run_test(TEST, RunSettings.to_resume(Resumption(stored_run(cut)), Consent()), [])
    assert [step.sample for step in read_run(cut).steps] == [step.sample for step in whole.steps]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("finished")
    return begun(folder / "run", f"sim:{write_oracle(folder, [10_000.0])}")


def changed_copy(run: Run, folder: Path, **sections: Any) -> Run:
    writer = RunWriter.reopen(Path(shutil.copytree(run.folder, folder)))
    writer.update_manifest(**sections)
    writer.close()
    return read_run(folder)


def another_serial(manifest: Manifest) -> dict[str, Any]:
    return {"dut": manifest.dut | {"serial": Fact("OTHER", "made up")}}


@pytest.mark.parametrize(
    ("sections", "changes", "error", "words"),
    [
        (another_serial, {}, TargetError, "not the drive of that run: serial .* instead of OTHER"),
        (lambda _: {"state": RunState.INTERRUPTED}, {}, RecordError, "is interrupted, not complete.*resume"),
        (lambda _: {}, {"active_range": ActiveRange(0, 50)}, UsageError, "--active-range must be that of"),
    ],
)
def test_what_can_not_be_continued_is_refused(
    finished: Run,
    tmp_path: Path,
    sections: Any,
    changes: dict[str, Any],
    error: type[OpenptsError],
    words: str,
) -> None:
    run = changed_copy(finished, tmp_path / "run", **sections(finished.manifest))
    with pytest.raises(error, match=words):
        after(run, tmp_path / "next", **changes)
    assert not (tmp_path / "next").exists()


def test_a_run_that_ended_while_it_wrote_is_refused(tmp_path: Path) -> None:
    target = f"sim:{write_oracle(tmp_path, [10_000.0], extra=READ_ONLY_IN_8)}"
    dead = begun(tmp_path / "1", target)
    dead = after(dead, tmp_path / "2", drive_cycles=30)
    with pytest.raises(RecordError, match=r"ended while cycle 8 was written .* can't be known"):
        after(dead, tmp_path / "3")


def test_a_simulated_drive_whose_past_is_gone_is_refused(finished: Run, tmp_path: Path) -> None:
    first = changed_copy(finished, tmp_path / "1")
    second = after(first, tmp_path / "2")
    shutil.rmtree(tmp_path / "1")
    with pytest.raises(RecordError, match=r"can't bring back the simulated drive: .* is not in"):
        after(second, tmp_path / "3")


def test_another_test_is_refused(tmp_path: Path) -> None:
    target = f"sim:{write_oracle(tmp_path, [10_000.0])}"
    fill = run_whole("fill", DriveClass.ENTERPRISE, tmp_path / "fill", target=target)
    settings = replace(order_after(fill, tmp_path / "2"), adjust=lambda conditions: conditions)
    with pytest.raises(RecordError, match="it is a run of fill"):
        run_test(TEST, settings, [])


def invoke(*words: str) -> Any:
    return CliRunner().invoke(run_command, ["lifetime", *words], catch_exceptions=True)


def test_the_command_continues_a_run(finished: Run, tmp_path: Path) -> None:
    target = finished.manifest.target.path
    words = ("--continue", str(finished.folder), "--out", str(tmp_path / "next"), "--no-report")
    done = invoke(target, *words, "--rest-days", "20", "--cycles", "1")
    assert done.exit_code == 0, done.output
    run = read_run(tmp_path / "next")
    conditions = run.manifest.conditions
    assert isinstance(conditions, LifetimeConditions)
    assert conditions.continues is not None
    assert (conditions.continues.cycle, conditions.continues.rest_ns) == (3, 20 * DAY_NS)
    assert {step.place.number for step in run.phase(Phase.DRIVE_CYCLE)} == {4}
    for more, named in (
        (("--purge", "auto", *words), "--purge can't go with --continue"),
        (("--rest-days", "3"), "--rest-days needs --continue"),
    ):
        assert named in str(invoke(target, *more).exception)
