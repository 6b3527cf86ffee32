"""Lengths that make sense alone and not together: refused at once, with their number and what to change."""

from time import perf_counter

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.plan import plan_command
from openpts.errors import UsageError
from openpts.planning.dry_run import MOST_STEPS, AssumedDrive, AssumedDrives, Ending, dry_run
from openpts.planning.plan import plan_run
from openpts.procedures.registry import PROCEDURES
from openpts.units import GB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, Script
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.shared.continuous import continuous

YEAR_S = 365 * 24 * 3600
TOO_MANY = {
    # a look each millisecond of a year; 1000 x 31,536,000
    "thermal --look-seconds 0.001 --longest-cooling-seconds 31536000": ("31,536,000,000", "look-seconds"),
    # two runs of half an hour
    "thermal --step-seconds 0.001": ("3,600,000", "step-seconds"),
    "thermal --busy-seconds 0.001 --idle-seconds 0.001 --duty-seconds 31536000": ("31,536,000,000", "busy"),
    # 5 wait states, each with access, idle time and return
    "hir --cycles 1000000": ("15,000,000", "cycles"),
    # steps have 30 minutes, here of a millisecond: two years and 30 ms
    "xsr --step-seconds 0.001 --group-seconds 31536000,31536000,0.03": ("2,102,400,001", "step-seconds"),
    "lat --step-seconds 0.001 --histogram-seconds 31536000": ("1,051,200,000", "step-seconds"),
    "wsat --step-seconds 0.001 --histogram-seconds 31536000": ("1,051,200,000", "step-seconds"),
    "lifetime --cycles 1000000": ("2,000,000", "cycles"),
    # three benchmarks, each with a look and idle time a millisecond
    "benchmarks --step-seconds 0.001 --settle-seconds 31536000": ("189,216,000,000", "step-seconds"),
}


@pytest.mark.parametrize(("words", "told"), TOO_MANY.items(), ids=TOO_MANY)
def test_lengths_that_make_too_many_steps_are_refused_with_their_number(words, told) -> None:
    began_s = perf_counter()
    done = CliRunner().invoke(plan_command, [*words.split(), "--capacity", "1TB"])
    assert perf_counter() - began_s < 60  # without the check none of them comes to an end
    assert isinstance(done.exception, UsageError), done.output
    for phase in told:
        assert phase in str(done.exception)


def endless(length: int) -> Script:
    number = 0
    while True:
        number += 1
        yield Apply(Phase.REST, number, (Step.of(None, Duration(1)),) * length)


@pytest.mark.parametrize("length", [pytest.param(10_000, marks=pytest.mark.slow), 2_000_000])
def test_a_script_without_an_end_is_refused_at_the_limit(length) -> None:
    with pytest.raises(UsageError, match=r"brings the plan to [12],0[01]0,000 steps and more"):
        dry_run(endless(length), 10**12, AssumedDrive(), Ending.SHORTEST)


def test_a_long_stimulus_is_refused_before_its_steps_are_made() -> None:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 1, 1, ActiveRange())
    with pytest.raises(UsageError, match="1,051,200,000 steps"):
        continuous(stimulus, YEAR_S * NS_PER_S, NS_PER_MS)
    assert len(continuous(stimulus, 45 * 60 * NS_PER_S, 60 * NS_PER_S)) == 2


@pytest.mark.slow
def test_a_plan_with_pieces_by_the_ten_thousands_takes_time_in_proportion() -> None:
    """Twice 10,000 minutes of load; with a look at all before in each, time would go with the square."""
    test = PROCEDURES["thermal"]
    standard = test.standard_conditions(DriveClass.ENTERPRISE, 1)
    conditions = replace(standard, minute_ns=180 * NS_PER_MS)
    began_s = perf_counter()
    plan = plan_run(test, conditions, standard, 100 * GB, AssumedDrives())
    loads = [phase for phase in plan.phases if phase.phase is Phase.LOAD]
    assert sum(phase.longest_applies for phase in loads) == 3
    assert sum(len(one.apply.steps) for one in plan.longest) == 1 + 30 + 2 * (10_000 + 5 + 10)
    assert perf_counter() - began_s < 120
    assert MOST_STEPS == 1_000_000
