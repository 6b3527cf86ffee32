"""Job files of fio in rounds, and suites with limits, on drives whose rates are known."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import InterruptedRunError, UsageError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.runner.events import Event, StepFinished
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Phase
from openpts_compare.limits.judge import judged_run
from openpts_fio.workload import RoundFigure, WorkloadConditions
from openpts_fio.workload.job import (
    FioJob,
    LimitedFigure,
    LimitedOperation,
    SuiteLimit,
    SuiteWorkload,
    WorkloadSuite,
)
from tests.support import openpts_process
from tests.support.killed_run import ordered
from tests.support.openpts_process import Ended
from tests.support.oracle_presets import write_oracle
from tests.support.subject_files import CLONE
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

MS = 1_000_000
TWO = FioJob(
    "two.fio",
    (
        "[global]",
        "ioengine=libaio",
        "time_based",
        "runtime=10",
        "[reader]",
        "rw=randread",
        "bs=4k",
        "iodepth=4",
        "[writer]",
        "rw=randwrite",
        "bs=4k",
        "rate_iops=100",
        "iodepth=2",
    ),
)


def of_job(job: FioJob = TWO, **changes: Any) -> Any:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, WorkloadConditions)
        return replace(conditions, job=job, precondition_passes=0.1, **changes)

    return adjust


def test_each_stream_has_its_rate_in_the_window(tmp_path: Path) -> None:
    """1,000 I/Os a second, of which the writer asks for a tenth, and the reader gets the rest."""
    preset = write_oracle(tmp_path, [1000.0])
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", of_job(), f"sim:{preset}")
    figures = summarize(run)
    assert figures["steady"]
    assert figures["window"] == [1, 2, 3, 4, 5]
    rates = {(one["stream"], one["operation"]): one["iops"] for one in figures["streams"]}
    assert rates["writer", "write"] == pytest.approx(100, rel=0.01)
    assert rates["reader", "read"] == pytest.approx(900, rel=0.02)
    assert rates["all", "read"] == rates["reader", "read"]
    report = build_report(run, default_date(run))
    shown = report.tables()["workload-job-text"]
    assert [row.cells[0].text for row in shown.rows] == list(TWO.lines)


@pytest.mark.parametrize(
    ("options", "fio_ios"),
    [
        (("rate=4m", "thinktime=50000", "thinktime_blocks=4"), 236),
        (("rate_iops=400", "thinktime=200000", "thinktime_blocks=100"), 1200),
        (("rate_iops=100", "thinktime=1000", "thinktime_blocks=1"), 300),
    ],
)
def test_a_rate_catches_up_with_rests_as_in_fio(
    tmp_path: Path, options: tuple[str, ...], fio_ios: int
) -> None:
    """fio 3.33 on a loop device: so many reads in three seconds."""
    lines = ("[a]", "rw=randread", "bs=4k", "time_based", "runtime=3", *options)
    target = f"sim:{write_oracle(tmp_path, [9000.0])}"
    run = run_whole(
        "workload", DriveClass.ENTERPRISE, tmp_path / "run", of_job(FioJob("a", lines), max_rounds=5), target
    )
    assert 3 * summarize(run)["values"][0] == pytest.approx(fio_ios, rel=0.02)


@pytest.mark.parametrize(
    ("figure", "stream", "first"),
    [
        (RoundFigure.IOPS, "writer", 100),
        (RoundFigure.THROUGHPUT, "all", 4.096),
        (RoundFigure.MEAN_LATENCY, "reader", 4.4),
        (RoundFigure.P99_LATENCY, "reader", 5),
    ],
)
def test_steady_state_is_judged_by_what_was_chosen(
    tmp_path: Path, figure: RoundFigure, stream: str, first: float
) -> None:
    preset = write_oracle(tmp_path, [1000.0])
    adjust = of_job(figure=figure, stream=stream, max_rounds=5)
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", adjust, f"sim:{preset}")
    figures = summarize(run)
    assert figures["values"][0] == pytest.approx(first, rel=0.2)
    assert len(figures["values"]) == 5


def test_a_drive_that_slows_down_is_not_steady(tmp_path: Path) -> None:
    """A step of preparation, then rounds of which each has two thirds of the one before."""
    preset = write_oracle(tmp_path, [9000.0, *(9000 * (2 / 3) ** n for n in range(7))])
    adjust = of_job(max_rounds=7)
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", adjust, f"sim:{preset}")
    figures = summarize(run)
    assert not figures["steady"]
    assert figures["window"] == [3, 4, 5, 6, 7]
    assert figures["values"] == pytest.approx([9000 * (2 / 3) ** n for n in range(7)], rel=0.02)


def test_a_stream_that_the_job_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="--stream 'reeder': the job has no such stream: use all or reader, writer"
    ):
        run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", of_job(stream="reeder"), "sim:mlc")


ALONE = FioJob("alone.fio", ("[alone]", "ioengine=libaio", "rw=randrw", "rwmixread=70", "bs=4k", "iodepth=4"))


def planted(limits: tuple[SuiteLimit, ...], *, cycles: int = 1) -> Any:
    """A workload of 20 s whose mix has 700 reads and 300 writes a second of a drive with 1,000 IOPS."""
    template = replace(ALONE, lines=(*ALONE.lines, "time_based", "runtime=${TIME}"))
    workload = SuiteWorkload("mix", template.name, ("TIME=20",), limits)
    suite = WorkloadSuite("planted", (), (workload,), (template,), run_cycles=cycles)

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, WorkloadConditions)
        return replace(conditions, suite=suite, cycles=cycles)

    return adjust


def limit(operation: str, figure: LimitedFigure, value: float, percentile: float = 0) -> SuiteLimit:
    return SuiteLimit(LimitedOperation(operation), figure, value, percentile)


KEPT = (
    limit("read", LimitedFigure.IOPS, 690),
    limit("write", LimitedFigure.THROUGHPUT, 290 * 4096),
    limit("read", LimitedFigure.PERCENTILE, 4.1 * MS, 99),
    limit("write", LimitedFigure.MAX_LATENCY, 4.1 * MS),
    limit("read", LimitedFigure.MEAN_LATENCY, 4.1 * MS),
    limit("trim", LimitedFigure.THROUGHPUT, 0),
)
FAILED = (
    limit("read", LimitedFigure.IOPS, 710),
    limit("write", LimitedFigure.THROUGHPUT, 310 * 4096),
    limit("read", LimitedFigure.PERCENTILE, 3.9 * MS, 99),
    limit("write", LimitedFigure.MAX_LATENCY, 3.9 * MS),
    limit("read", LimitedFigure.MEAN_LATENCY, 3.9 * MS),
)
DOUBTFUL = (
    limit("trim", LimitedFigure.IOPS, 1),
    limit("read", LimitedFigure.PERCENTILE, 10 * MS, 99.9999),
    limit("trim", LimitedFigure.MAX_LATENCY, 1),
    limit("trim", LimitedFigure.PERCENTILE, 1, 99),
)


def test_limits_on_a_drive_of_known_rates(tmp_path: Path) -> None:
    target = f"sim:{write_oracle(tmp_path, [1000.0])}"
    adjust = planted((*KEPT, *FAILED, *DOUBTFUL))
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", adjust, target)
    result = judged_run(run)
    assert result is not None
    found = [one.judgement for one in result.judged]
    expected = [Judgement.PASS] * len(KEPT) + [Judgement.FAIL] * len(FAILED)
    assert found == [*expected, *[Judgement.NO_VERDICT] * len(DOUBTFUL)]
    (workload,) = summarize(run)["workloads"]
    assert [one["verdict"] for one in workload["limits"]] == [str(judgement) for judgement in found]
    report = build_report(run, default_date(run))
    shown = report.tables()["limits-verdicts"]
    assert [row.cells[1].text for row in shown.rows] == [str(judgement) for judgement in found]


def test_what_ocp_asks_of_trims_too_stands_beside_a_suites_limit(tmp_path: Path) -> None:
    """The figures of META-PERF-2, and nothing beside other limits."""
    target = f"sim:{write_oracle(tmp_path, [1000.0])}"
    adjust = planted((*KEPT[-1:], *DOUBTFUL))
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", adjust, target)
    shown = build_report(run, default_date(run)).tables()["limits-verdicts"]
    trims = "OCP 2.7, META-PERF-2, of trims alone:"
    asked = [f"{trims} 50 GiB/s of 64 MiB, 500 GiB/s of 3 GB", "", "", "", f"{trims} 10 ms"]
    assert [row.cells[0].note for row in shown.rows] == asked


def test_of_several_cycles_the_worst_counts(tmp_path: Path) -> None:
    """The drive is slower in the second cycle alone."""
    target = f"sim:{write_oracle(tmp_path, [1000.0, 500.0, 1000.0])}"
    adjust = planted((limit("read", LimitedFigure.IOPS, 600),), cycles=3)
    run = run_whole("workload", DriveClass.ENTERPRISE, tmp_path / "run", adjust, target)
    (one,) = summarize(run)["workloads"][0]["limits"]
    assert [cycle["verdict"] for cycle in one["cycles"]] == ["pass", "fail", "pass"]
    assert one["verdict"] == "fail"
    assert one["measured"] == pytest.approx(350, rel=0.02)


@pytest.mark.parametrize(
    ("adjust", "phase", "steps"), [(of_job(), Phase.ROUND, 5), (planted(KEPT, cycles=4), Phase.PROFILE, 4)]
)
def test_a_run_goes_on_without_the_files_that_it_was_made_of(
    tmp_path: Path, adjust: Any, phase: Phase, steps: int
) -> None:
    """A stop in the middle; the record has all that the rest needs."""

    def stop(event: Event) -> None:
        if isinstance(event, StepFinished) and (event.place.phase, event.place.number) == (phase, 2):
            raise KeyboardInterrupt

    target = f"sim:{write_oracle(tmp_path, [1000.0])}"
    settings = replace(ordered("workload", tmp_path / "run", target), adjust=adjust)
    with pytest.raises(InterruptedRunError):
        run_test(PROCEDURES["workload"], settings, [stop])
    begun = read_run(tmp_path / "run")
    assert len(begun.phase(phase)) < steps
    again = RunSettings.to_resume(Resumption(begun), Consent(), None)
    run_test(PROCEDURES["workload"], again, [])
    whole = read_run(tmp_path / "run")
    assert [step.place.number for step in whole.phase(phase)] == list(range(1, steps + 1))
    result = judged_run(whole)
    assert summarize(whole)["steady"] if result is None else result.verdict is Judgement.PASS


def openpts(folder: Path, *words: str, **variables: str) -> Ended:
    return openpts_process.openpts(*words, cwd=folder, COLUMNS="100", **variables)


def test_the_words_of_the_command_line(tmp_path: Path, golden: Golden) -> None:
    """The job is before the target, with variables of the environment; a plan may name it instead."""
    (tmp_path / "two.fio").write_text(
        "[a]\nrw=randread\nbs=${BS}\nruntime=2\ntime_based\n[b]\nrw=randwrite\n"
    )
    words = ("--precondition-passes", "0.1", "--max-rounds", "1", "--no-report", "--out", "run")
    ended = openpts(tmp_path, "run", "workload", "two.fio", "sim:mlc?capacity=1GB", *words, BS="8k")
    assert (ended.exit_code, ended.stderr) == (0, "")
    conditions: Any = read_run(tmp_path / "run").manifest.conditions
    assert conditions.job.values == ("BS=8k",)
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "plan.toml").write_text("[workload]\njob = '../two.fio'\n")
    plan = ("sim:mlc?capacity=1GB", "--plan", "plans/plan.toml")
    assert "a: RND 8 KiB" in openpts(tmp_path, "plan", "workload", *plan, "--steps", BS="8k").stdout
    assert openpts(tmp_path, "plan", "workload", *plan).stderr == golden


def test_a_failed_limit_has_an_exit_code(tmp_path: Path) -> None:
    suite = str(CLONE / "wkldsuites" / "Two")
    words = ("run", "workload", suite, "sim:mlc?capacity=1GB", "--time-scale", "1/20")
    ended = openpts(tmp_path, *words, "--no-report", "--out", "run")
    assert ended.exit_code == 10
    lines = ended.stdout.splitlines()
    (counted,) = [line for line in lines if line.startswith("limits: ")]
    assert counted.endswith("1 without a verdict")
    assert any(
        line.startswith("fail: workload.light: read maximum response time at most 0.001 ms: measured ")
        for line in lines
    )
    ended = openpts(tmp_path, "report", "run", "--json", "--no-pdf", "--no-html")
    assert json.loads(ended.stdout)["measures"]["limits_failed"]["value"] >= 1


def test_without_a_job_or_a_suite_there_is_no_run(tmp_path: Path, golden: Golden) -> None:
    assert openpts(tmp_path, "run", "workload", "sim:mlc").stderr == golden
    assert not list(tmp_path.iterdir())
