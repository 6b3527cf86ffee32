"""A rehearsal on a drive of known rate: what it foretells can be worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts_serve.cli.rehearse import rehearse_command
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.transcript import Golden

pytestmark = pytest.mark.on_disk

MIXES = (100, 95, 65, 50, 35, 5, 0)
SIZES = (MIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
IOPS = 1000.0
STEP_S = 2.0


def rehearse(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        rehearse_command, ["iops", "--no-report", "--json", *words], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def on_a_steady_drive(tmp_path: Path, *words: str) -> dict[str, Any]:
    preset = write_oracle(tmp_path, [IOPS])
    return rehearse(
        *("--like", str(preset), "--out", str(tmp_path / "run"), "--tc", "1", "--qd", "1"),
        *("--step-seconds", str(STEP_S), *words),
    )


def test_hours_and_bytes_are_those_of_the_plan(tmp_path: Path) -> None:
    found = on_a_steady_drive(tmp_path, "--tbw", "1")
    assert found["cycles"] == [{"title": "", "steady_round": 5, "last_round": 5, "ended_by": ""}]
    filling_s = 2 * CAPACITY_BYTES / (128 * KIB) / IOPS
    rounds_s = 5 * 56 * STEP_S
    assert found["duration_ns"] / 1e9 == pytest.approx(filling_s + rounds_s, rel=0.02)
    assert found["longest_ns"] - found["duration_ns"] == 20 * 56 * STEP_S * 1e9
    per_round = sum(IOPS * STEP_S * (100 - mix) / 100 * size for mix in MIXES for size in SIZES)
    assert found["written_bytes"] == pytest.approx(2 * CAPACITY_BYTES + 5 * per_round, rel=0.02)
    assert found["drive_writes"] == pytest.approx(found["written_bytes"] / CAPACITY_BYTES)
    assert found["tbw_share"] == pytest.approx(found["written_bytes"] / 1e12)


def test_promises_are_held_against_the_model_and_not_adjusted(tmp_path: Path) -> None:
    found = on_a_steady_drive(
        tmp_path, "--random-write-iops", "2000", "--random-read-iops", "500", "--sequential-write", "100"
    )
    promises = {each["name"]: each for each in found["promises"]}
    assert promises["random_write_iops"]["rated"] == 2000
    assert promises["random_write_iops"]["expected"] == pytest.approx(IOPS, rel=0.01)
    assert promises["random_read_iops"]["expected"] == pytest.approx(IOPS, rel=0.01)
    assert promises["sequential_write_bytes_per_s"]["rated"] == 100e6
    assert promises["sequential_write_bytes_per_s"]["expected"] == pytest.approx(IOPS * 128 * KIB, rel=0.01)


def test_what_would_not_work_is_said(tmp_path: Path, golden: Golden) -> None:
    found = on_a_steady_drive(tmp_path, "--nines", "5", "--max-rounds", "4", "--tbw", "0.001")
    concerns = {each["subject"]: each["message"] for each in found["plan_concerns"]}
    assert concerns == golden


@pytest.mark.slow
def test_a_share_of_the_endurance_beyond_all_of_it_is_told_in_plain_digits(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [IOPS])
    words = ("--like", str(preset), "--out", str(tmp_path / "run"), "--step-seconds", "1", "--tbw", "0.0001")
    result = CliRunner().invoke(
        rehearse_command, ["iops", *words, "--json", "--no-report"], catch_exceptions=False
    )
    share_pct = 100 * json.loads(result.stdout)["tbw_share"]
    assert share_pct > 100
    words = (*words[:3], str(tmp_path / "again"), *words[4:])
    result = CliRunner().invoke(rehearse_command, ["iops", *words, "--no-report"], catch_exceptions=False)
    assert f", {share_pct:,.0f} % of the rated endurance" in result.output


@pytest.mark.slow
def test_the_text_has_every_fact_and_where_the_report_lies(tmp_path: Path, golden: Golden) -> None:
    preset = write_oracle(tmp_path, [IOPS])
    words = ("--like", str(preset), "--out", str(tmp_path / "run"), "--step-seconds", "1", "--nines", "9")
    result = CliRunner().invoke(rehearse_command, ["iops", *words], catch_exceptions=False)
    lines = {line[:13].strip(): line[13:] for line in result.output.splitlines()}
    assert lines["rehearsed"].startswith("oracle-of-a-test, ")
    assert lines["on"].startswith(f"sim:{preset}?capacity={CAPACITY_BYTES}&scale=1&seed=1")
    assert lines["takes"] == golden
    assert lines["writes"] == golden
    assert lines["steady"] == "steady state reached in round 5"
    assert lines["PLAN"].startswith("nines: 9 nines need 1,500,000,000 I/Os; 56 of 56 test points")
    assert (tmp_path / "run" / "report.html").is_file()
    assert str(tmp_path / "run") in lines["report"]


def test_a_scale_that_would_change_the_drive_is_refused_before_anything_runs(tmp_path: Path) -> None:
    words = ["--like", "enterprise-tlc", "--scale", "100000", "--out", str(tmp_path / "run")]
    with pytest.raises(UsageError, match="superblocks"):
        CliRunner().invoke(rehearse_command, ["iops", *words], catch_exceptions=False)
    assert not (tmp_path / "run").exists()


def test_two_lengths_of_a_step_are_refused() -> None:
    words = ["--like", "oracle", "--step-seconds", "1", "--round-seconds", "56"]
    with pytest.raises(UsageError, match="sets the same as"):
        CliRunner().invoke(rehearse_command, ["iops", *words], catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["enterprise-tlc", "client-qlc"])
def test_a_class_of_drives_is_rehearsed_at_its_own_length(tmp_path: Path, preset: str) -> None:
    """The whole chain on a mechanistic drive; a few short rounds."""
    found = rehearse(
        *("--like", preset, "--capacity", "400GB", "--tbw", "700", "--step-seconds", "8", "--tc", "1"),
        *("--qd", "4", "--max-rounds", "2", "--precondition-passes", "1", "--out", str(tmp_path / "run")),
    )
    assert found["preset"] == preset
    assert found["scale"] == 17
    assert found["cycles"][0]["steady_round"] is None
    assert found["drive_writes"] > 1
    assert found["tbw_share"] == pytest.approx(found["written_bytes"] / 700e12)
    assert "steady state" in [each["subject"] for each in found["plan_concerns"]]
