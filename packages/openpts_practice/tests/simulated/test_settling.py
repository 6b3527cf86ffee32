"""Idle time on a simulated drive that empties its cache in the background, as its own counters have it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis.settling import IdleObservation
from openpts.engine.options import Demand, NativeOptions
from openpts.fields.conditions import Conditions, RestingConditions
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.procedures.registry import PROCEDURES
from openpts.procedures.shared.settling import SettlingCourse, settle
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.runner.device_under_test import device_under_test
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import Answer, Apply
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Step
from openpts.vocabulary.workload import simple_workload
from openpts_pages.model import Table
from openpts_practice.rows.benchmarks import BenchmarksConditions
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

TARGET = "sim:client-qlc?capacity=256GB"
RULE = SettlingRule(probe_ns=20 * NS_PER_S, least_ns=0, longest_ns=30 * 60 * NS_PER_S)


def after_writes(share: float, rule: SettlingRule = RULE) -> SettlingCourse:
    """Write a share of a new drive, and wait."""
    with device_under_test(TARGET, Consent(), for_writing=True) as device:
        writes = simple_workload("fill", AccessPattern.SEQUENTIAL, 128 * KIB, 0)
        stimulus = writes.stimulus(tc=1, qd=32, active_range=ActiveRange(0, 100))
        amount = ByteAmount(round(share * device.facts.user_capacity_bytes))
        with device.engine(Demand(1, 32, 128 * KIB), 1, NativeOptions(), near=False) as engine:

            def sampled(steps: tuple[Step, ...]) -> tuple[Sample, ...]:
                def answers() -> Iterator[Sample]:
                    for _ in steps:
                        while (sample := engine.poll(1.0)) is None:
                            pass
                        yield sample

                engine.submit(steps)
                return tuple(answers())

            sampled((Step.of(stimulus, amount),))
            script = settle(rule, ActiveRange(0, 100), 1)
            answer: Answer = None
            while True:
                try:
                    request = script.send(answer)
                except StopIteration as end:
                    course: SettlingCourse = end.value
                    return course
                answer = sampled(request.steps) if isinstance(request, Apply) else device.health()


def moved_bytes(looks: tuple[IdleObservation, ...]) -> list[float]:
    """What the drive wrote by itself from each look to the next."""
    written = [look.nand_write_bytes or 0.0 for look in looks]
    return [later - earlier for earlier, later in pairwise(written)]


@pytest.mark.proves("SOL-GEN-06", "SOL-DEV-03")
def test_a_wait_ends_when_the_cache_is_empty_and_not_before() -> None:
    course = after_writes(0.3)
    assert course.last.settled
    moved = moved_bytes(course.looks)
    assert moved[0] > 1e9
    # all looks that settled it lie after the last byte that was moved
    assert moved[-(RULE.looks - 1) :] == [0] * (RULE.looks - 1)
    last_move = max(place for place, amount in enumerate(moved) if amount)
    assert len(course.looks) == last_move + 1 + RULE.looks


def test_a_drive_with_nothing_to_do_settles_with_the_first_looks() -> None:
    # it is new and still warms up from the air around it
    rule = replace(RULE, within_k=10)
    assert len(after_writes(0.0001, rule).looks) == rule.looks


def with_idle_time(conditions: Conditions) -> Conditions:
    assert isinstance(conditions, BenchmarksConditions)
    return replace(
        conditions, benchmarks=conditions.benchmarks[:1], precondition_passes=0.1, settle_ns=1800 * NS_PER_S
    )


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("rested") / "run"
    return run_whole("benchmarks", DriveClass.CLIENT, folder, with_idle_time, TARGET)


@pytest.mark.proves("SOL-DEV-04")
def test_a_benchmark_can_be_left_alone_before_its_first_row(rested: Run) -> None:
    rest = [step.sample for step in rested.phase(Phase.REST, number=1)]
    assert len(rest) >= 20  # ten minutes at the least, each with a look
    assert sum(s.elapsed_ns for s in rest[::2]) >= 600 * NS_PER_S
    assert all(s.write.ios == 0 for s in rest)
    drive_class = rested.phase(Phase.PROFILE)
    assert max(s.started_ns + s.elapsed_ns for s in rest) <= min(
        step.sample.started_ns for step in drive_class
    )


@pytest.mark.proves("SOL-DEV-04")
def test_its_report_says_what_the_idle_time_did(rested: Run, golden: Golden) -> None:
    report = build_report(rested, default_date(rested))
    blocks = [block for section in report.sections for page in section.pages for block in page.blocks]
    (table,) = [
        block for block in blocks if isinstance(block, Table) and block.title.startswith("Left alone")
    ]
    assert [[row.head.text, *(cell.text for cell in row.cells)] for row in table.rows] == golden


@pytest.mark.proves("SOL-DEV-04")
@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("sustained", {"benchmarks": ["short", "data-sheet"]}),
        ("precon", {"benchmarks": ["short", "data-sheet"]}),
        ("replay", {"traces": ["boot", "like:office"], "idle": ["full"], "background": "none"}),
    ],
)
def test_every_measurement_has_a_rest_of_its_own(test: str, options: dict[str, Any]) -> None:
    procedure, size_bytes = PROCEDURES[test], 128 * 10**9
    standard = procedure.standard_conditions(DriveClass.CLIENT, 1)
    values = {**options, "settle_seconds": 1200}
    conditions = conditions_of(Overrides(values, {name: name for name in values}), standard)
    assert isinstance(conditions, RestingConditions)
    drive = AssumedDrive(write_bytes_per_s=400e6, write_iops=20_000)
    plan = dry_run(procedure.script(conditions, size_bytes), size_bytes, drive, Ending.SHORTEST)
    numbers = [one.apply.number for one in plan if one.apply.phase is Phase.REST]
    assert sorted(set(numbers)) == list(range(1, len(conditions.rests) + 1))
