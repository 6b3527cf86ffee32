"""What a simulated drive's own log says of a run, held against what the run did to it."""

from pathlib import Path

import pytest

from openpts.errors import InterruptedRunError
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.reader import Run, read_run
from openpts.runner.events import Event, Ticked
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.sample import Phase
from openpts_drives.health.health_page import health_alerts
from openpts_work.counters import change, write_amplification
from tests.support.one_point import run_one_point
from tests.support.oracle_presets import write_oracle


def around(run: Run) -> tuple[HealthRecord, HealthRecord]:
    before, *between, after = run.health
    assert {record.occasion for record in between} == {ReadingPoint.DURING}
    assert (before.occasion, after.occasion) == (ReadingPoint.BEFORE, ReadingPoint.AFTER)
    assert before.reading.source == after.reading.source == "the simulated drive's own log"
    return before, after


def written_bytes(run: Run) -> int:
    return sum(step.sample.write.bytes for step in run.steps)


@pytest.mark.parametrize("purge", [PurgeChoice.AUTO, PurgeChoice.NONE], ids=str)
def test_the_log_counts_the_bytes_that_the_steps_wrote(purge: PurgeChoice, tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [1000.0])
    run = read_run(run_one_point(preset, tmp_path / "run", step_s=2, max_rounds=2, purge=purge).folder)
    before, after = around(run)
    # a purge is proven by marks that are written before it
    marks = 64 * 4 * KIB if purge is PurgeChoice.AUTO else 0
    counted = change(before.reading.values, after.reading.values, "host_write_bytes")
    assert counted == written_bytes(run) + marks
    # it follows a script: nothing is known of a media
    assert "nand_write_bytes" not in after.reading.values
    last = run.steps[-1].sample
    assert (before.t_ns, after.t_ns) == (None, last.started_ns + last.elapsed_ns)


def test_a_drive_with_flash_tells_write_amplification_and_temperature(tmp_path: Path) -> None:
    run = read_run(run_one_point("client-qlc?capacity=16GB", tmp_path / "run", step_s=5, max_rounds=1).folder)
    before, after = (record.reading.values for record in around(run))
    ratio = write_amplification(before, after)
    assert ratio is not None
    assert ratio >= 1
    assert after["erases"] > before["erases"]
    assert health_alerts(run) == ()
    temperatures = run.telemetry_series["temperature_c"]
    assert len(temperatures.values) == sum(len(step.sample.intervals) for step in run.steps) > 0
    # the last interval ends where the last step does, and then the log was read; it has whole degrees
    last = run.steps[-1].sample
    assert temperatures.t_ns[-1] == last.started_ns + last.elapsed_ns
    assert temperatures.values[-1] == pytest.approx(after["temperature_c"], abs=1)


def test_the_controller_is_not_busy_for_longer_than_the_run(tmp_path: Path) -> None:
    drive = "client-qlc?capacity=128GB&scale=12"
    run = read_run(run_one_point(drive, tmp_path / "run", step_s=5, max_rounds=2).folder)
    _, after = around(run)
    first, last = run.steps[0].sample, run.steps[-1].sample
    busy_s = change(run.health[-2].reading.values, after.reading.values, "busy_s")
    assert busy_s is not None
    assert 0 < busy_s <= (last.started_ns + last.elapsed_ns - first.started_ns) / NS_PER_S


def test_no_setting_of_the_host_is_kept_for_a_simulated_drive(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [1000.0])
    manifest = read_run(run_one_point(preset, tmp_path / "run", step_s=1, max_rounds=1).folder).manifest
    assert (manifest.host_before, manifest.host_after) == ({}, {})


def test_a_run_that_is_stopped_has_its_second_reading_too(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [1e7], by="seconds")  # more I/Os than anybody waits for

    def stop(event: Event) -> None:
        if isinstance(event, Ticked) and event.place.phase is Phase.ROUND:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        run_one_point(preset, tmp_path / "run", step_s=10**5, max_rounds=1, listeners=(stop,))
    run = read_run(tmp_path / "run")
    _, after = around(run)
    last = run.steps[-1].sample
    assert after.t_ns == last.started_ns + last.elapsed_ns
