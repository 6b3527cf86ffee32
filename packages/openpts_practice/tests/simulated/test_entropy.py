"""Entropy and write-share sweeps on drives that reduce data, that don't, and that only get slower."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import ReducibleData
from openpts_practice.entropy import EntropyConditions
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole


def shorter(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, EntropyConditions)
    return replace(conditions, precondition_passes=0.3, minute_ns=10 * NS_PER_S, write_pcts=(0, 5, 100))


@pytest.mark.proves("LSI-ENT-01")
def test_a_drive_that_reduces_data_is_found_out(tmp_path: Path) -> None:
    run = run_whole("entropy", DriveClass.ENTERPRISE, tmp_path / "run", shorter, "sim:sata-reduction")
    figures = summarize(run)
    assert figures["sequential_write"]["verdict"] == "data reduction seen"
    # zeros are held up by the link of 530 MB/s, random bytes by the flash: 300 MB/s are published
    assert figures["sequential_write"]["factor"] == pytest.approx(530 / 300, rel=0.05)
    assert [level["entropy_pct"] for level in figures["random_write"]["levels"]] == [0, 10, 25, 46, 67, 100]
    # the model is told the share, and the record says so instead of claiming a sample
    assert [check.data for check in run.manifest.data_checks] == [
        ReducibleData(pct) for pct in (0, 10, 25, 46, 67, 100)
    ]
    assert {check.sampled_bytes for check in run.manifest.data_checks} == {0}
    build_report(run, default_date(run))


def test_a_drive_that_does_not_shows_no_effect(tmp_path: Path) -> None:
    run = run_whole("entropy", DriveClass.CLIENT, tmp_path / "run", shorter, "sim:enterprise-tlc")
    figures = summarize(run)
    for sweep in ("sequential_write", "random_write"):
        assert figures[sweep]["verdict"] == "no effect seen"
        assert figures[sweep]["factor"] == pytest.approx(1, abs=0.02)
    assert figures["write_share"]["loss_at_5_pct_writes_pct"] > 5


def test_a_drive_that_slows_down_is_not_taken_for_one_that_compresses(tmp_path: Path) -> None:
    """One I/O a second less with each step: a single way up would make 10 % of it at the last level."""
    preset = write_oracle(tmp_path, [1000.0 - step for step in range(68)])
    run = run_whole("entropy", DriveClass.ENTERPRISE, tmp_path / "run", target=f"sim:{preset}")
    figures = summarize(run)
    # steps 14 to 25, the random sweep: levels at 986 to 981 on the way up, 980 to 975 down
    random = figures["random_write"]
    assert random["verdict"] == "no effect seen"
    assert random["factor"] == pytest.approx(1, abs=1e-4)
    assert [level["iops"] for level in random["levels"]] == pytest.approx([980.5] * 6, rel=1e-4)
    assert random["largest_drift_pct"] == pytest.approx(100 * (975 / 986 - 1), abs=0.01)
