"""The thermal test on drives that get hot, that stay cool, and that tell nothing of heat."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import KIB, MB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts_pages.model import Verdict
from openpts_practice.thermal import ThermalConditions
from tests.support.endurance_presets import THROTTLED_FACTOR, WRITE_COMMAND_S, write_hot_drive
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole


def without_fill(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, ThermalConditions)
    return replace(conditions, precondition_passes=0.2, ambient_c=30.0)


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hot")
    target = f"sim:{write_hot_drive(folder)}?capacity=200GB"
    return run_whole("thermal", DriveClass.ENTERPRISE, folder / "run", without_fill, target)


@pytest.mark.proves("SOL-BMK-06", "HYP-TMP-02")
def test_a_hot_drive_throttles_when_its_log_says_so(hot: Run) -> None:
    figures = summarize(hot)["loads"]
    cold, warm = figures["cold_run"], figures["warm_run"]
    assert cold["evidence"] == warm["evidence"] == "drive"
    # the log was read each minute: it counts the first throttling in that of the report's first second
    readings = [h for h in hot.health if (h.phase, h.number) == (Phase.LOAD, 1)]
    events = [reading.reading.values["throttle_events"] for reading in readings]
    minute = next(n for n, (a, b) in enumerate(pairwise(events)) if b > a)
    assert 60 * minute <= cold["first_throttle_s"] < 60 * (minute + 1.1)
    # the sensor is a second behind the controller, which throttles at 75 °C
    assert cold["temperature_at_start_c"] < 70
    assert cold["highest_temperature_c"] > 75
    assert warm["first_throttle_s"] < cold["first_throttle_s"] + 30


def test_the_throttled_speed_is_that_of_the_slower_front_end(hot: Run) -> None:
    """One command after the other, each 60 times as long as it was."""
    figures = summarize(hot)["loads"]["cold_run"]
    theory = 128 * KIB / (THROTTLED_FACTOR * WRITE_COMMAND_S)
    assert figures["throttled_bytes_per_s"] == pytest.approx(theory, rel=0.005)
    assert figures["before_bytes_per_s"] > 2000 * MB
    # what was written until then is speed times time
    written = figures["before_bytes_per_s"] * figures["first_throttle_s"]
    assert figures["written_before_throttle_bytes"] == pytest.approx(written, rel=1e-3)


def test_runs_end_when_the_throttled_drive_is_stable(hot: Run) -> None:
    """Not after half an hour: it throttles in the second minute, and is stable from then on."""
    assert len(hot.phase(Phase.LOAD, number=1)) < 10


def test_the_report_has_the_drives_limits_and_both_panels(hot: Run) -> None:
    report = build_report(hot, default_date(hot))
    figures = {figure.id: figure for figure in report.figures()}
    speed, temperature = figures["thermal-course-speed"], figures["thermal-course-temperature"]
    assert speed.zoom_group == temperature.zoom_group != ""
    assert speed.x == temperature.x
    assert [rule.value for rule in temperature.rules] == [70, 80]


@pytest.mark.proves("SOL-BMK-06")
def test_a_duty_cycle_keeps_a_drive_cooler(hot: Run) -> None:
    figures = summarize(hot)["loads"]
    assert figures["duty_cycle"]["highest_temperature_c"] < figures["cold_run"]["highest_temperature_c"]
    assert figures["duty_cycle"]["throttled_share"] < figures["cold_run"]["throttled_share"]


def verdicts(run: Run) -> list[str]:
    page = next(page for page in build_report(run, default_date(run)).pages() if page.id == "thermal-course")
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def test_a_drive_whose_cache_is_full_is_not_called_hot(tmp_path: Path, golden: Golden) -> None:
    """A tenth of its first speed after some seconds, and no heat to speak of."""
    run = run_whole(
        "thermal",
        DriveClass.CLIENT,
        tmp_path / "run",
        lambda c: replace(c, precondition_passes=0.1, load_ns=c.load_ns // 3),
        "sim:client-qlc?capacity=256GB",
    )
    figures = summarize(run)["loads"]["cold_run"]
    assert (figures["evidence"], figures["first_throttle_s"], figures["throttled_share"]) == ("none", None, 0)
    cold = verdicts(run)[0]
    assert cold == golden


def test_a_drive_without_a_sensor_is_not_judged(tmp_path: Path) -> None:
    run = run_whole(
        "thermal",
        DriveClass.CLIENT,
        tmp_path / "run",
        lambda c: replace(c, precondition_passes=0.02, load_ns=c.load_ns // 10),
        "sim:sata-reduction",
    )
    assert summarize(run)["loads"]["cold_run"]["evidence"] == "unknown"
    temperature, cold = verdicts(run)[:2]
    assert temperature.startswith("Temperature: not reported")
    assert cold.startswith("Cold run: n/a (the record has neither temperatures")
