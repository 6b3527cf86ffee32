"""The latency test at full length on drives whose response times are published or written down."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from openpts_pts.lat import LatencyConditions
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole


@pytest.mark.proves("PTS-LAT-01..02", "PTS-LAT-04..05", "PTS-LAT-07..12", "PTS-LAT-15..16")
@pytest.mark.parametrize("drive_class", list(DriveClass))
@pytest.mark.slow
def test_a_whole_test_of_a_single_io(tmp_path: Path, drive_class: DriveClass) -> None:
    run = run_whole("lat", drive_class, tmp_path / "run")
    assert not run.manifest.shortened
    (cycle,) = run.manifest.cycles
    (wipc,) = run.phase(Phase.WIPC)
    capacity_bytes = run.manifest.target.user_capacity_bytes
    assert wipc.sample.write.bytes == pytest.approx(2 * capacity_bytes, rel=1e-3)
    rounds = run.phase(Phase.ROUND)
    assert len(rounds) == 9 * cycle.outcome.last_round
    order = [(mix, round(size * KIB)) for mix in (100, 65, 0) for size in (8, 4, 0.5)]
    for index, step in enumerate(rounds):
        stimulus = step.sample.step.stimulus
        assert stimulus is not None
        assert (round(stimulus.read_pct), stimulus.block_size_bytes) == order[index % 9]
        assert (stimulus.toio, stimulus.random_pct) == (1, 100)
        assert step.sample.elapsed_ns == pytest.approx(60 * NS_PER_S, rel=0.05)
        assert step.sample.state is StepState.COMPLETE
    (histogram,) = run.phase(Phase.HISTOGRAM)
    assert histogram.sample.elapsed_ns == pytest.approx(1200 * NS_PER_S, rel=0.01)
    figures = summarize(run)
    assert figures["steady_state"]["reached"]
    cells = {(cell["block_size_bytes"], cell["read_pct"]): cell for cell in figures["iops"]}
    assert len(cells) == 9
    for cell in cells.values():
        # one I/O outstanding: its response time is all that the drive takes
        assert cell["iops"] * cell["art_ms"] == pytest.approx(1000, rel=0.02)
        assert cell["art_ms"] <= cell["mrt_ms"]
    assert cells[8 * KIB, 100]["art_ms"] > cells[4 * KIB, 100]["art_ms"]
    in_window, after = cells[4 * KIB, 0]["art_ms"], figures["histogram"]["art_ms"]
    assert after == pytest.approx(in_window, rel=0.1)
    build_report(run, default_date(run))


@pytest.mark.proves("PTS-LAT-13")
def test_a_drive_of_known_latency_is_reported_with_exactly_that(tmp_path: Path) -> None:
    """500, 400, 300 and then 250 writes a second at one outstanding: 2, 2.5, 3.3 and 4 ms."""
    elements = [900.0] * 8
    tracked = 7  # RND 4 KiB 0/100 is the eighth of nine
    script = [1000.0]
    for rate in (500.0, 400.0, 300.0, *[250.0] * 22):
        script += [*elements[:tracked], rate, *elements[tracked:]]
    preset = write_oracle(tmp_path, [*script[: 1 + 9 * 8], 250.0])
    run = run_whole("lat", DriveClass.ENTERPRISE, tmp_path / "run", target=f"sim:{preset}")
    figures = summarize(run)
    assert figures["steady_state"]["round"] == 8
    (variable,) = figures["steady_state"]["variables"]
    assert variable["average"] == pytest.approx(4.0, rel=1e-3)
    assert figures["histogram"]["art_ms"] == pytest.approx(4.0, rel=1e-3)
    assert figures["histogram"]["ios"] == pytest.approx(1200 * 250, rel=1e-3)


@pytest.mark.proves("PTS-LAT-17..20")
def test_nines_lengthen_the_histogram_and_are_told(tmp_path: Path) -> None:
    def seven(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, LatencyConditions)
        return replace(conditions, nines=6, max_rounds=5, minute_ns=NS_PER_S, precondition_passes=0.01)

    preset = write_oracle(tmp_path, [1000.0])
    run = run_whole("lat", DriveClass.CLIENT, tmp_path / "run", seven, target=f"sim:{preset}")
    elapsed_ns = sum(step.sample.elapsed_ns for step in run.phase(Phase.HISTOGRAM))
    assert elapsed_ns == pytest.approx(1500 * NS_PER_S, rel=0.01)
    figures = summarize(run)["histogram"]
    assert figures["recorded_ios"] >= 1_000_000
    assert figures["p99_9999_ms"] == pytest.approx(1.0, rel=0.01)
    assert not [entry for entry in run.ledger if entry.rule_id == "PTS-LAT-19"]
