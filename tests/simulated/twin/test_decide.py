"""Questions on simulated drives, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from openpts.analysis.uncertainty import Block
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.runs.measured_run import MeasuredRun
from openpts_twin.decide import measured_rounds
from openpts_twin.decide.command import decide
from openpts_twin.decide.question import read_question
from openpts_twin.decide.sequential import look
from tests.support.transcript import Golden

DRIVE = "sim:enterprise-tlc?scale=290"
WITH_LESS = f"{DRIVE}&page_mapped.mapping.physical_per_user=1.15"


def asked(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(
        decide, [*words, "--quick", "--no-report", "--out", str(folder)], standalone_mode=False
    )


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "decision.json").read_text())
    return found


@pytest.mark.slow
def test_a_drive_with_less_spare_flash_is_slower(tmp_path: Path) -> None:
    """The record has all that the answer follows from, and nothing ran on when it was there."""
    folder = tmp_path / "out"
    result = asked(folder, "B slower than A by 5 %", "--targets", DRIVE, WITH_LESS)
    assert result.return_value == 0, result.output
    found = document(folder)
    assert (found["decision"], found["question"]["of"]) == ("yes", 1)
    assert found["difference_pct"] < found["high_pct"] < 0
    question = read_question("B slower than A by 5 %", lambda _: "")
    blocks = [
        Block(place * 10**9, 10**9, question.towards_yes(tuple(values)))
        for place, values in enumerate(found["values"])
    ]
    assert look(blocks, question.margin, 4 * found["most_rounds"]).mean > question.margin
    for name, place in (("a", 0), ("b", 1)):
        run = read_run(folder / name)
        assert run.manifest.state is RunState.INTERRUPTED
        counted = [step.sample.iops for step in run.steps][-len(found["values"]) :]
        assert len(counted) == 4 * found["rounds"]
        assert counted == pytest.approx([values[place] for values in found["values"]])


def test_a_bound_that_is_not_kept(tmp_path: Path, golden: Golden) -> None:
    folder = tmp_path / "out"
    result = asked(folder, "keeps p99.9 <= 50 us at 4k random read qd 1", DRIVE)
    assert result.return_value == 10, result.output
    assert document(folder)["drives"][0]["mean"] > 50_000
    assert result.stdout == golden


def test_a_plan_alone_touches_nothing(tmp_path: Path, golden: Golden) -> None:
    folder = tmp_path / "out"
    result = asked(folder, "B faster than A by 2 %", DRIVE, WITH_LESS, "--plan-only", "--tbw", "5PB")
    assert (result.return_value, folder.exists()) == (0, False)
    assert result.output == golden


def test_a_stop_leaves_the_question_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(measured_rounds, "block_of", stop)
    folder = tmp_path / "out"
    result = asked(folder, "keeps p99.9 <= 5 ms at 4k random read qd 1", DRIVE)
    assert result.return_value == 13, result.output
    found = document(folder)
    assert (found["decision"], found["rounds"], found["values"]) == ("not decided", 0, [])
    assert read_run(folder / "a").manifest.state is RunState.INTERRUPTED


@pytest.mark.parametrize("targets", [(), (DRIVE, WITH_LESS)])
def test_as_many_targets_as_the_question_has_drives(tmp_path: Path, targets: tuple[str, ...]) -> None:
    result = asked(tmp_path / "out", "keeps iops >= 1 k", *targets)
    assert "targets are named" in str(result.exception)


def test_a_figure_of_a_whole_test(tmp_path: Path) -> None:
    """Runs of the test follow each other until they answer, and it is their own key value that is judged."""
    folder = tmp_path / "out"
    result = asked(folder, "tp.seq_128_kib.read >= 3 GB/s by 2 %", DRIVE)
    assert result.return_value == 0, result.output
    found = document(folder)
    names = found["drives"][0]["runs"]
    assert names == [f"a-{number}" for number in range(1, len(names) + 1)]
    assert len(names) == found["rounds"] < found["fixed_rounds"]
    runs = [MeasuredRun.of(read_run(folder / name)) for name in names]
    assert {run.state for run in runs} == {RunState.COMPLETE}
    assert len({run.seeds for run in runs}) == len(runs)
    assert found["values"] == [[run.value("seq_128_kib.read")] for run in runs]
    assert found["difference_pct"] == pytest.approx(100 * (found["drives"][0]["mean"] / 3000 - 1))


def test_a_plan_of_whole_tests(tmp_path: Path, golden: Golden) -> None:
    result = asked(tmp_path / "out", "keeps tp seq 128k read >= 3 GB/s", DRIVE, "--plan-only")
    assert result.return_value == 0
    assert result.output == golden


def test_a_figure_that_a_test_does_not_have(tmp_path: Path) -> None:
    """It is refused before the drive is touched, and not after hours."""
    result = asked(tmp_path / "out", "keeps tp.seq_128_kib.reads >= 3 GB/s", DRIVE)
    assert "did you mean tp.seq_128_kib.read?" in str(result.exception)
    assert not (tmp_path / "out").exists()
