"""The test of rotational disks on a drive that follows a script: slower from zone to zone, as a disk is."""

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.summary import summarize
from openpts.units import MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.purge import PurgeChoice
from openpts_practice.hdd import RotationalConditions
from tests.simulated.whole_tests import run_whole
from tests.support.oracle_presets import write_oracle

WRITES = (200, 180, 160, 130, 100)
READS = (220, 200, 180, 150, 110)
ACCESSES = (80, 70, 110, 90)  # R and W at QD 1, R and W at QD 32
WHOLE = (60, 50, 100, 70)


def five_zones(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, RotationalConditions)
    return replace(conditions, zones=5, minute_ns=10 * NS_PER_S)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("disk")
    steps = [rate for at in zip(WRITES, READS, strict=True) for rate in (*at, *ACCESSES)]
    preset = write_oracle(folder, [*steps, *WHOLE], by="steps")
    no_such_purge = PurgeChoice(("nvme-format",))  # which must not be asked for: a disk may have none at all
    return run_whole("hdd", DriveClass.CLIENT, folder / "run", five_zones, f"sim:{preset}", no_such_purge)


def test_nothing_is_purged(run: Run) -> None:
    assert run.manifest.purges == ()


def test_the_course_over_the_zones_is_that_of_the_script(run: Run) -> None:
    figures = summarize(run)
    zones = figures["zones"]
    assert len(zones) == 5 * 6
    for direction, rates in (("write", WRITES), ("read", READS)):
        course = [z for z in zones if z["pattern"] == "sequential" and z["direction"] == direction]
        assert [z["first_pct"] for z in course] == pytest.approx([0, 20, 40, 60, 80])
        assert [z["mb_per_s"] for z in course] == pytest.approx([r * MIB / 1e6 for r in rates], rel=0.02)
    assert figures["sequential_read_last_to_first"] == pytest.approx(110 / 220, rel=0.02)
    assert figures["sequential_write_last_to_first"] == pytest.approx(100 / 200, rel=0.02)


def test_access_over_the_whole_range_has_its_time(run: Run) -> None:
    whole = summarize(run)["whole_range"]
    assert [(w["direction"], w["qd"]) for w in whole] == [
        ("read", 1),
        ("write", 1),
        ("read", 32),
        ("write", 32),
    ]
    assert [w["iops"] for w in whole] == pytest.approx(WHOLE, rel=0.02)
    # Little's law: with one I/O outstanding, the time is the reciprocal of the rate
    assert whole[0]["mean_ms"] == pytest.approx(1000 / 60, rel=0.02)
