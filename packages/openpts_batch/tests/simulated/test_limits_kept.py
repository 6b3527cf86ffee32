"""What runs keep of their limits: a baseline that may be gone, and how a run ends after it was cut off."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openpts.cli import run_settings as run_command
from openpts.errors import LimitError, NotSteadyError, OpenptsError, RecordError, UsageError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.batch import read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest, read_run
from openpts.report.run_part import summarize
from openpts.runner.event_lines import CycleEnded, RunEnded
from openpts.runner.events import Event, Listener, StepFinished
from openpts.runner.run import FinishedRun, run_test
from openpts.runner.settings import RunSettings
from openpts_batch import in_turn
from tests.support.killed_run import Killed, nth
from tests.support.limited_runs import ALLOW, FIGURES_ALONE, TARGET, invoke
from tests.support.transcript import Golden

QUICK = ("--quick", "--no-report")
WRITE = "tp.seq-128k.write"


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    place = tmp_path_factory.mktemp("baseline")
    for seed in (1, 2, 3):
        error, _ = invoke("run", "tp", TARGET, *QUICK, "--seed", seed, "--out", place / str(seed))
        assert error is None
    return tuple(place / str(seed) for seed in (1, 2, 3))


def limits_file(place: Path, *lines: str, head: str = ALLOW) -> Path:
    path = place / "limits.toml"
    path.write_text(f"{head}limits = {json.dumps(lines)}")
    return path


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ((f"{WRITE} >= -10 %", f"{WRITE} <= 1.1 x", f"{WRITE} >= 1 MB/s"), None),
        ((f"{WRITE} >= +10 %",), LimitError),
    ],
)
def test_a_run_is_judged_against_its_baseline_as_by_a_gate(
    tmp_path: Path, baseline: tuple[Path, ...], limits: tuple[str, ...], error: type[OpenptsError] | None
) -> None:
    """Also where the baseline is gone: the record has what a judgement needs of it."""
    bases = tmp_path / "bases"
    shutil.copytree(baseline[0].parent, bases)
    file, run = limits_file(tmp_path, *limits), tmp_path / "run"
    words = ("--limits", file, "--baseline", *(bases / path.name for path in baseline), "--out", run)
    found, _ = invoke("run", "tp", TARGET, *QUICK, "--seed", 4, *words)
    assert (type(found) if found else None) is error
    gated = json.loads(invoke("gate", run, "--limits", file, "--baseline", *baseline, "--json")[1])
    shutil.rmtree(bases)
    answer = json.loads(json.dumps(summarize(read_run(run))))
    assert (answer["verdict"], answer["limits"]) == (gated["verdict"], gated["limits"])
    kept = json.loads((run / "input" / "baseline.json").read_bytes())
    manifests = [read_manifest(path) for path in baseline]
    assert [(one["test_id"], Path(one["folder"]).name) for one in kept] == [
        (manifest.test_id, path.name) for manifest, path in zip(manifests, baseline, strict=True)
    ]
    invoke("report", run, "--no-html", "--no-pdf", "--no-csv")
    # its own is there, and the same for runs of one drive that began in one second
    page = (run / "report.json").read_text().replace(read_manifest(run).test_id, "")
    assert all(manifest.started_at in page for manifest in manifests)
    assert kept[0]["test_id"] not in page  # it has digits of the drive's serial number


def test_a_limit_that_could_have_no_verdict_is_refused_before_the_run(
    tmp_path: Path, baseline: tuple[Path, ...]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(baseline[0], tmp_path / "copy")
    for line, bases, words in (
        (f"{WRITE} >= -3 %", (), "it needs a baseline of two runs of tp or more; name such runs"),
        (f"{WRITE} >= -3 %", baseline[:1], "it needs a baseline of two runs of tp or more"),
        (f"{WRITE}s >= -3 %", baseline, "did you mean tp.seq_128_kib.write?"),
        (f"{WRITE} >= -3 %", (baseline[0], tmp_path / "copy"), "have the same seed"),
    ):
        given = ("--limits", limits_file(tmp_path, line), *(("--baseline", *bases) if bases else ()))
        for command in (("tp", TARGET), ("all", TARGET, "--tests", "hir,tp")):
            found, _ = invoke("run", *command, *QUICK, "--out", run, *given)
            assert isinstance(found, UsageError)
            assert words in str(found)
    found, _ = invoke("run", "tp", TARGET, *QUICK, "--out", run, "--baseline", *baseline)
    assert isinstance(found, UsageError)
    assert not run.exists()


def test_a_baseline_that_was_damaged_in_the_record_is_named(
    tmp_path: Path, baseline: tuple[Path, ...], golden: Golden
) -> None:
    words = ("--limits", limits_file(tmp_path, f"{WRITE} >= -10 %"), "--baseline", *baseline)
    invoke("run", "tp", TARGET, *QUICK, "--out", tmp_path / "run", *words)
    (tmp_path / "run/input/baseline.json").write_text('[{"test_id": 5}]')
    found, _ = invoke("report", tmp_path / "run", "--no-pdf", "--no-html", "--no-csv")
    assert isinstance(found, RecordError)
    assert str(found) == golden


@contextmanager
def killed(module: object, folder: Path, kept: Path, at: Callable[[Event], bool]) -> Iterator[None]:
    """Keeps the folder as a kill at this moment would leave it."""
    listener = Killed(folder, kept, at=at)

    def heard(test: Procedure, settings: RunSettings, listeners: list[Listener]) -> FinishedRun:
        return run_test(test, settings, [listener.on_event, *listeners])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_test", heard)
        yield


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(
    ("lines", "more", "error"),
    [
        ((f"{WRITE} >= 1 TB/s",), (), LimitError),
        ((f"{WRITE} >= +10 %",), ("--baseline",), LimitError),
        ((f"{WRITE} >= 1 TB/s",), ("--stop-on-fail",), LimitError),
        ((f"{WRITE} >= 1 MB/s",), ("--max-rounds", 3, "--require-steady"), NotSteadyError),
        ((f"{WRITE} >= 1 MB/s",), (), None),
    ],
)
def test_a_resumed_run_ends_as_one_that_was_left_alone(
    tmp_path: Path,
    baseline: tuple[Path, ...],
    lines: tuple[str, ...],
    more: tuple[object, ...],
    error: type[OpenptsError] | None,
) -> None:
    folder, cut = tmp_path / "run", tmp_path / "cut"
    words = ("--limits", limits_file(tmp_path, *lines), *more)
    words += baseline if "--baseline" in more else ()
    with killed(run_command, folder, cut, nth(StepFinished, 4)):
        undisturbed, _ = invoke("run", "tp", TARGET, *QUICK, "--seed", 4, *words, "--out", folder)
    assert read_manifest(cut).state is RunState.RUNNING
    found, _ = invoke("resume", cut, "--no-report")
    assert [type(one) if one else None for one in (undisturbed, found)] == [error, error]
    for run in (folder, cut):
        cycles = 1 if "--stop-on-fail" in more else 2
        assert len(read_manifest(run).cycles) == cycles
        assert len(read_manifest(run).attempts) == (1 if run == folder else 2)


def test_a_complete_run_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill may have come before its report and its verdict."""
    monkeypatch.setattr("openpts.report.write.write_report", FIGURES_ALONE)
    folder = tmp_path / "run"
    words = ("--limits", limits_file(tmp_path, "lat.rnd-4k-rw0.art <= 1 ns"), "--out", folder)
    first, _ = invoke("run", "lat", TARGET, *QUICK, *words)
    assert not (folder / "report.json").exists()
    again, _ = invoke("resume", folder)
    assert (type(first), str(first)) == (type(again), str(again))
    assert isinstance(again, LimitError)
    assert (folder / "report.json").exists()
    assert len(read_manifest(folder).attempts) == 1


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("least", "more", "kind", "number"),
    [
        ("1 TB/s", (), RunEnded, 1),  # before the verdict on the first test
        pytest.param("1 TB/s", (), CycleEnded, 3, marks=pytest.mark.slow),  # in the second, which passes
        ("1 TB/s", ("--stop-on-failure",), CycleEnded, 1),
        pytest.param("1 MB/s", ("--require-steady",), CycleEnded, 2, marks=pytest.mark.slow),
    ],
)
def test_a_resumed_suite_ends_as_one_that_was_left_alone(
    tmp_path: Path, least: str, more: tuple[object, ...], kind: type[Event], number: int
) -> None:
    folder, cut = tmp_path / "suite", tmp_path / "cut"
    plan = tmp_path / "plan.toml"
    plan.write_text('tests = ["tp", "lat"]\n[common]\ntime_scale = "1/100"\n[tp]\nmax_rounds = 3\n')
    words = ("--plan", plan, "--limits", limits_file(tmp_path, f"{WRITE} >= {least}"), *more)
    with killed(in_turn, folder, cut, nth(kind, number)):
        undisturbed, _ = invoke("run", "all", TARGET, "--no-report", *words, "--out", folder)
    found, _ = invoke("resume", cut, "--no-report")
    error = NotSteadyError if "--require-steady" in more else LimitError
    assert [type(undisturbed), type(found)] == [error, error]
    ends = [[(one.state, one.exit_code) for one in read_batch(each).entries] for each in (folder, cut)]
    assert ends[0] == ends[1]
