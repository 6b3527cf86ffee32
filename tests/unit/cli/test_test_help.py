"""The lengths that the help of a test names are those of its script at full length."""

import re
from collections.abc import Callable

import pytest

from openpts.cli.procedure_options import help_of
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, PlannedApply, dry_run
from openpts.procedures.pts.suite import PTS
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase

CAPACITY_BYTES = 10**12
FAST, SLOW = AssumedDrive(write_iops=1e6, write_bytes_per_s=1e10), AssumedDrive(write_bytes_per_s=1e6)
LENGTH = re.compile(r"(?:([0-9]+) h(?:ours)?)?(?: ?([0-9]+) min(?:utes)?\b)?")


def said_minutes(test: str) -> set[int]:
    text = " ".join(help_of(PTS[test]).split("TARGET is")[0].split())
    found = (LENGTH.match(text, at) for at in (m.start() for m in re.finditer(r"(?<![0-9])[0-9]+ ", text)))
    return {int(m[1] or 0) * 60 + int(m[2] or 0) for m in found if m and (m[1] or m[2])}


def minutes(test: str, drive: AssumedDrive, ending: Ending, wanted: Callable[[PlannedApply], bool]) -> float:
    script = PTS[test].script(PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1), CAPACITY_BYTES)
    planned = dry_run(script, CAPACITY_BYTES, drive, ending)
    return sum(sum(one.durations_ns) for one in planned if one.cycle == 1 and wanted(one)) / 60e9


def parts(*names: Phase) -> Callable[[PlannedApply], bool]:
    return lambda one: one.apply.phase in names


ROUNDS = parts(Phase.ROUND)
VARIATION = parts(Phase.ROUND, Phase.ROUND_PREWRITE)


@pytest.mark.parametrize("test", ["iops", "tp", "lat"])
def test_rounds(test: str) -> None:
    for drive, ending in ((FAST, Ending.SHORTEST), (FAST, Ending.LONGEST)):
        assert minutes(test, drive, ending, ROUNDS) in said_minutes(test)


@pytest.mark.parametrize("test", ["hir", "cbw", "dirth"])
def test_preconditioning(test: str) -> None:
    for ending in (Ending.SHORTEST, Ending.LONGEST):
        assert minutes(test, FAST, ending, parts(Phase.WDPC)) in said_minutes(test)


@pytest.mark.parametrize("test", ["lat", "wsat"])
def test_histograms(test: str) -> None:
    assert minutes(test, FAST, Ending.SHORTEST, parts(Phase.HISTOGRAM)) in said_minutes(test)


def test_saturation_of_a_drive_that_is_too_slow_to_be_filled() -> None:
    assert minutes("wsat", SLOW, Ending.LONGEST, parts(Phase.SATURATION)) in said_minutes("wsat")


def test_wait_states() -> None:
    states = parts(Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE)
    assert minutes("hir", FAST, Ending.SHORTEST, states) in said_minutes("hir")


def test_access_groups() -> None:
    assert {
        minutes("xsr", FAST, Ending.SHORTEST, parts(Phase.ACCESS_GROUP)),
        minutes("xsr", FAST, Ending.SHORTEST, lambda one: one.apply.number == 1),
        minutes("xsr", FAST, Ending.SHORTEST, lambda one: one.apply.number == 2),
    } == said_minutes("xsr")


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_demand_variation(test: str) -> None:
    one_histogram = minutes(
        test,
        FAST,
        Ending.SHORTEST,
        lambda one: one.apply.phase in {Phase.HISTOGRAM, Phase.HISTOGRAM_PREWRITE} and one.apply.number == 1,
    )
    assert {
        minutes(test, FAST, Ending.SHORTEST, VARIATION),
        minutes(test, SLOW, Ending.LONGEST, VARIATION),
        one_histogram,
    } <= said_minutes(test)
