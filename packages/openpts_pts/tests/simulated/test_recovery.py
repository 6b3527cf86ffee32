"""HIR and XSR at full length, enterprise and client."""

from pathlib import Path

import pytest

from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from tests.support.whole_tests import DRIVES, run_whole

HOUR_NS = 3600 * NS_PER_S
# Of the hours of sequential writes a scale of 1:67 takes half of the computing that 1:11 does.
XSR_DRIVES = {**DRIVES, DriveClass.CLIENT: f"{DRIVES[DriveClass.CLIENT]}&scale=67"}


@pytest.mark.long("hours of a drive at full length")
@pytest.mark.proves("PTS-HIR-01", "PTS-HIR-21..24", "PTS-HIR-26", "PTS-HIR-27")
@pytest.mark.slow
@pytest.mark.parametrize("drive_class", DriveClass)
def test_host_idle_recovery(tmp_path: Path, drive_class: DriveClass) -> None:
    run = run_whole("hir", drive_class, tmp_path / "run")
    assert not run.manifest.shortened
    for number, idle_s in ((1, 5), (2, 10), (3, 15), (5, 25), (10, 50)):
        waits = [step.sample for step in run.phase(Phase.WAIT_STATE, number=number)]
        assert len(waits) == 720
        assert {sample.elapsed_ns for sample in waits[1::2]} == {idle_s * NS_PER_S}
        returns = run.phase(Phase.RETURN_TO_BASELINE, number=number)
        assert len(returns) == 360
        assert all(step.sample.step.stimulus is not None for step in returns)
        # at a scale of 1:67 the moment in which the drive answers what is outstanding counts 67 times
        assert 1800 * NS_PER_S <= sum(step.sample.elapsed_ns for step in returns) < 1900 * NS_PER_S
    figures = summarize(run)
    assert figures["steady_state"]["reached"]
    # this drive collects garbage in its pauses, so that longer ones gain more, until they gain all
    gains = [state["gain_pct"] for state in figures["wait_states"]]
    assert gains[0] > 5
    assert gains[-1] > gains[0]
    assert all(abs(state["largest_pause_error_ms"]) < 10 for state in figures["wait_states"])
    assert not [entry for entry in run.ledger if entry.rule_id.startswith("PTS-HIR")]
    pages = {page.id for page in build_report(run, default_date(run)).pages() if page.mandatory}
    assert pages >= {"hir-1", "hir-2", "hir-3", "hir-4", *(f"hir-ws{number}" for number in (1, 2, 3, 5, 10))}


@pytest.mark.long("22 hours of a drive, millions of I/Os")
@pytest.mark.proves("PTS-XSR-01", "PTS-XSR-07", "PTS-XSR-10", "PTS-XSR-13", "PTS-XSR-18..23")
@pytest.mark.slow
@pytest.mark.parametrize("drive_class", DriveClass)
def test_cross_stimulus_recovery(tmp_path: Path, drive_class: DriveClass) -> None:
    run = run_whole("xsr", drive_class, tmp_path / "run", target=XSR_DRIVES[drive_class])
    assert not run.manifest.shortened
    for number, hours, size in ((1, 8, MIB), (2, 6, 8192), (3, 8, MIB)):
        samples = [step.sample for step in run.phase(Phase.ACCESS_GROUP, number=number)]
        assert sum(sample.elapsed_ns for sample in samples) >= hours * HOUR_NS
        assert {sample.step.stimulus.block_size_bytes for sample in samples if sample.step.stimulus} == {size}
        assert all(sample.state is StepState.COMPLETE for sample in samples)
        assert sum(sample.write.ios for sample in samples) == sum(sample.ios for sample in samples)
    figures = summarize(run)
    first, second, third = figures["groups"]
    assert second["bandwidth_bytes_per_s"] < 0.7 * first["bandwidth_bytes_per_s"]
    assert third["bandwidth_bytes_per_s"] > second["bandwidth_bytes_per_s"]
    assert figures["recovery_to_peak_min"] >= (figures["recovery_to_95_pct_min"] or 0)
    pages = {page.id for page in build_report(run, default_date(run)).pages() if page.mandatory}
    assert pages >= {
        "xsr-1", "xsr-4", "xsr-5", "xsr-transition-1", "xsr-transition-2",
        *(f"xsr-group-{number}" for number in (1, 2, 3)),
    }  # fmt: skip
