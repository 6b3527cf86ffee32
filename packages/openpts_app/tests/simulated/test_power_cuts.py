"""Power cuts of simulated drives, honest ones and others, by the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openpts.cli.main import cli
from openpts.errors import DataLossError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts_app.powercut.report import excluded_rate
from tests.support.transcript import Golden

SMALL = ("--range", "8MiB", "--load-seconds", "0.01", "--no-report", "--seed", "5")


def run_powercut(target: str, folder: Path, *options: str) -> Result:
    """The run, and how it ended."""
    return CliRunner().invoke(cli, ["run", "powercut", target, "--out", str(folder), *SMALL, *options])


def test_an_honest_drive_loses_nothing_in_either_state_of_its_cache(tmp_path: Path) -> None:
    ended = run_powercut("sim:client-qlc", tmp_path / "run", "--cycles", "8")
    assert ended.exit_code == 0, ended.output
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.state is RunState.COMPLETE
    assert [cut.write_cache for cut in manifest.cuts] == ["WCE"] * 8 + ["WCD"] * 8
    assert [cut.volatile for cut in manifest.cuts] == [True] * 8 + [False] * 8
    assert [cut.number for cut in manifest.cuts] == list(range(1, 17))
    assert not any(cut.accused or cut.accusations for cut in manifest.cuts)
    assert sum(cut.lost_unpromised_sectors for cut in manifest.cuts if cut.volatile) > 1000
    assert not any(cut.lost_unpromised_sectors for cut in manifest.cuts if not cut.volatile)
    assert all(cut.outstanding > 10 and cut.promised > 0 for cut in manifest.cuts)


def test_a_drive_without_a_volatile_cache_has_one_state(tmp_path: Path) -> None:
    assert run_powercut("sim:enterprise-tlc", tmp_path / "run", "--cycles", "3").exit_code == 0
    cuts = read_run(tmp_path / "run").manifest.cuts
    # the first cut shows that there is nothing to switch on
    assert [cut.volatile for cut in cuts] == [False] * 4


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(
    ("fault", "losses"),
    [
        ("lost-write", {"lost-write", "lost-flush", "reordered"}),
        ("lost-flush", {"lost-flush", "reordered"}),
        ("torn-sector", {"torn-sector"}),
        ("torn-unit", {"torn-unit", "lost-write", "lost-flush", "reordered"}),
        ("stale-block", {"stale", "lost-write", "lost-flush", "reordered"}),
        ("reordered-pair", {"reordered"}),
    ],
)
def test_a_drive_that_loses_data_is_accused_of_it(fault: str, losses: set[str], tmp_path: Path) -> None:
    ended = run_powercut(f"sim:client-qlc?faults={fault}:0.004", tmp_path / "run", "--cycles", "20")
    assert isinstance(ended.exception, DataLossError), ended.output
    assert ended.exception.exit_code == 7
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.state is RunState.COMPLETE
    found = {loss for cut in manifest.cuts for loss in cut.losses}
    assert found
    assert found <= losses
    accusations = [each for cut in manifest.cuts for each in cut.accusations]
    assert {each.loss for each in accusations} == found
    assert all(each.lba < 8 * 2**20 // 512 and each.context for each in accusations)


def test_the_same_seed_gives_the_same_cuts(tmp_path: Path) -> None:
    def cuts(name: str) -> object:
        run_powercut("sim:client-qlc?faults=torn-unit:0.001", tmp_path / name, "--cycles", "5")
        return read_run(tmp_path / name).manifest.cuts

    assert cuts("one") == cuts("other")


def test_what_makes_no_sense_is_refused(tmp_path: Path, golden: Golden) -> None:
    cases = (
        ("sim:client-qlc?faults=lost-flsh:0.1", ()),
        ("sim:client-qlc?faults=lost-flush", ()),
        ("sim:client-qlc?faults=lost-flush:2", ()),
        ("sim:client-qlc", ("--range", "4MiB")),
    )
    assert [
        str(run_powercut(target, tmp_path / "run", *options).exception) for target, options in cases
    ] == golden
    assert not (tmp_path / "run").exists()


def test_the_report_has_verdict_losses_and_accusations(tmp_path: Path) -> None:
    run_powercut("sim:client-qlc?faults=reordered-pair:0.004", tmp_path / "run", "--cycles", "10")
    made = CliRunner().invoke(cli, ["report", str(tmp_path / "run"), "--no-pdf", "--json"])
    assert made.exit_code == 0, made.output
    (on, off) = json.loads(made.stdout)["states"]
    assert on["cuts_with_losses"] > 0
    assert on["losses"]["reordered"] > 0
    assert (off["cuts"], off["cuts_with_losses"]) == (10, 0)
    assert off["excluded_share_of_cuts"] == pytest.approx(0.259, abs=0.001)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "data lost that had to survive" in page
    assert "nothing lost that had to survive, in 10 power cuts" in page
    assert "Accusations, with the journal" in page


@pytest.mark.parametrize("trials", [1, 100, 1000, 100_000])
def test_the_excluded_rate_would_have_shown_with_95_per_cent(trials: int) -> None:
    """By its definition, and by the rule of three for many trials."""
    rate = excluded_rate(trials)
    assert rate is not None
    assert (1 - rate) ** trials == pytest.approx(0.05)
    if trials >= 100:
        assert rate == pytest.approx(3 / trials, rel=0.03)


def test_nothing_is_excluded_without_a_trial() -> None:
    assert excluded_rate(0) is None


def test_a_plan_has_all_cuts(tmp_path: Path) -> None:
    planned = CliRunner().invoke(cli, ["plan", "powercut", "sim:client-qlc", "--cycles", "2", "--json"])
    assert planned.exit_code == 0, planned.output
    blocks = json.loads(planned.stdout)["blocks"]
    assert sum(block["count"] for block in blocks) == 4
