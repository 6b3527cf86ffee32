"""IOPS, throughput and latency step by step, against tables written from the specification."""

from typing import Any

import pytest

from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.tests.unit.trace.scenario import (
    CAPACITY_BYTES,
    CLASSES,
    COURSES,
    NEVER,
    SETTLES,
    STEADY,
    Trajectory,
    assert_same,
    at_bandwidth,
    ended,
    play,
    tracked_by,
)
from tests.support.player import Rate, lines
from tests.support.table import Case, load
from tests.support.table import lines as specified

pytestmark = pytest.mark.parametrize("drive_class", CLASSES)


def rate(table: dict[str, Any], *courses: Trajectory) -> Rate:
    """Tracked stimuli follow their courses, one for all or each its own; the others are never steady."""

    def iops(stimulus: Stimulus, phase: Phase, number: int) -> float:
        base = at_bandwidth(stimulus)
        if phase is not Phase.ROUND:
            return base
        for index, wanted in enumerate(table["steady_when"]):
            if tracked_by(stimulus, wanted):
                factor = courses[min(index, len(courses) - 1)].of_round(number)
                return base / factor if wanted["figure"] == "mean_latency" else base * factor
        return base * NEVER.of_round(number)

    return iops


@pytest.mark.proves("PTS-AR-01", "PTS-DEF-11")
@pytest.mark.parametrize("course", COURSES, ids=str)
@pytest.mark.proves(
    "PTS-IOPS-01..02",
    "PTS-IOPS-04..09",
    "PTS-IOPS-10..14",
    "PTS-IOPS-16",
    "PTS-IOPS-18..19",
    "PTS-GEN-04",
    "PTS-GEN-09",
    "PTS-FLOW-01..03",
    "PTS-SS-07",
    "PTS-PRE-01..02",
    "PTS-DEF-07",
)
def test_iops(drive_class, course) -> None:
    table = load("iops")
    played = play("iops", drive_class, rate(table, course))
    assert_same(
        lines(played, CAPACITY_BYTES), specified(table, drive_class, Case({"round": [course.last_round]}))
    )
    assert ended(played) == [(course.steady_round, course.last_round)]
    assert [check.round_number for check in played.checks(Phase.ROUND)] == list(
        range(5, course.last_round + 1)
    )


@pytest.mark.proves("PTS-IOPS-16", "PTS-SS-03")
@pytest.mark.parametrize("courses", [(STEADY, SETTLES, STEADY), (SETTLES, STEADY, STEADY)])
def test_iops_ends_when_the_last_tracked_variable_is_steady(drive_class, courses) -> None:
    assert ended(play("iops", drive_class, rate(load("iops"), *courses))) == [(8, 8)]


@pytest.mark.proves("PTS-IOPS-16", "PTS-SS-03")
def test_iops_is_not_steady_if_its_variables_never_are_so_at_once(drive_class) -> None:
    early = Trajectory("steady up to round 5", lambda number: 1 if number <= 5 else NEVER.of_round(number), 5)
    late = Trajectory("steady from round 6", lambda number: NEVER.of_round(number) if number <= 5 else 1, 10)
    played = play("iops", drive_class, rate(load("iops"), early, late, STEADY))
    assert ended(played) == [(None, 25)]


@pytest.mark.parametrize("large", COURSES, ids=str)
@pytest.mark.parametrize("small", COURSES, ids=str)
@pytest.mark.proves("PTS-TP-01..03", "PTS-TP-05..12", "PTS-TP-14..15", "PTS-PRG-01", "PTS-THR-03")
def test_throughput(drive_class, small, large) -> None:
    table = load("tp")
    played = play("tp", drive_class, rate(table, small, large))
    case = Case({"round": [small.last_round, large.last_round]})
    assert_same(lines(played, CAPACITY_BYTES), specified(table, drive_class, case))
    assert ended(played) == [(course.steady_round, course.last_round) for course in (small, large)]


@pytest.mark.parametrize("course", COURSES, ids=str)
@pytest.mark.proves("PTS-LAT-01..02", "PTS-LAT-04..11", "PTS-LAT-13..15")
def test_latency(drive_class, course) -> None:
    table = load("lat")
    played = play("lat", drive_class, rate(table, course))
    assert_same(
        lines(played, CAPACITY_BYTES), specified(table, drive_class, Case({"round": [course.last_round]}))
    )
    assert ended(played) == [(course.steady_round, course.last_round)]


@pytest.mark.parametrize(
    ("iops", "nines", "length_s"),
    # 1.5 x 10^nines I/Os at that rate, and never less than the 20 minutes that are asked for anyway
    [(8000, 5, 1200), (8000, 6, 1200), (8000, 7, 1875), (10709, 7, 1400.691), (8000, 8, 18750)],
)
@pytest.mark.proves("PTS-LAT-17..21")
def test_the_histogram_is_long_enough_for_the_nines(drive_class, iops, nines, length_s) -> None:
    (histogram,) = load("lat")["steady_when"]

    def rates(stimulus: Stimulus, phase: Phase, number: int) -> float:
        # the rate that counts is that of the histogram's own stimulus
        return iops if tracked_by(stimulus, histogram) else 3 * iops

    played = play("lat", drive_class, rates, nines=nines)
    histogram_s = played.elapsed_s(Phase.HISTOGRAM)
    if length_s == 1200:
        assert histogram_s == 1200
    else:
        assert length_s - 0.001 <= histogram_s < length_s + 60
    assert histogram_s * iops >= 1.5 * 10**nines * 0.999999
