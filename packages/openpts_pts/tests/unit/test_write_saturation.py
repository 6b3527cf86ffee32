"""Write saturation where its script meets a device: sectors, ledger, and how the amount is approached."""

from fractions import Fraction

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes

from openpts.errors import UsageError
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Answer, Apply, Purge, Request, Script
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.wsat import WriteSaturationConditions
from openpts_pts.wsat.script import script as write_saturation_test
from openpts_pts.wsat.script import standard_conditions, supported_on
from tests.support.player import Drive

CAPACITY_BYTES = 100 * GB


def next_of(script: Script, answer: Answer) -> Request | None:
    try:
        return script.send(answer)
    except StopIteration:
        return None


def conditions(*names: str) -> WriteSaturationConditions:
    standard = standard_conditions(DriveClass.ENTERPRISE, 1)
    return replace(standard, workloads=tuple(WORKLOADS[name] for name in names)) if names else standard


@pytest.mark.proves("PTS-WSAT-16", "PTS-WSAT-17")
def test_sizes_below_a_sector_are_left_out_and_entered() -> None:
    wanted = conditions("write_intensive", "metadata", "composite")
    assert supported_on(wanted, 512) == wanted
    possible = supported_on(wanted, 4096)
    assert [workload.name for workload in possible.workloads] == ["write_intensive", "composite"]
    sizes = possible.workloads[1].block_sizes
    assert [size.block_size_bytes // KIB for size in sizes] == [4, 8, 16, 32, 64]
    assert sum(size.weight for size in sizes) == 90
    (entry,) = deviations(possible, conditions(), PTS["wsat"].rules)
    assert entry.rule_id == "PTS-WSAT-07"
    assert entry.required == "none"
    assert entry.used == "SEQ 0.5 KiB RW50: 0.5 KiB, Composite RW40: 0.5, 1, 1.5, 2, 2.5, 3, 3.5 KiB"


def test_a_test_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(UsageError, match=r"sectors of 4,096 bytes: SEQ 0\.5 KiB RW50: 0\.5 KiB"):
        supported_on(conditions("metadata"), 4096)


@pytest.mark.proves("PTS-WSAT-07")
def test_optional_workloads_beside_the_default_are_no_deviation_and_nothing_shorter() -> None:
    rules = PTS["wsat"].rules
    both = conditions("write_intensive", "composite")
    assert deviations(both, conditions(), rules) == ()
    assert not shortened(both, conditions())
    (entry,) = deviations(conditions("composite"), conditions(), rules)
    assert entry.rule_id == "PTS-WSAT-07"
    assert not shortened(conditions("composite"), conditions())
    assert shortened(replace(conditions(), drive_fills=3.9), conditions())


@pytest.mark.proves("PTS-WSAT-08")
@pytest.mark.parametrize("name", ["write_intensive", "oltp", "vod", "composite"])
def test_the_amount_written_is_four_times_the_capacity_to_an_io(name) -> None:
    workload = WORKLOADS[name]
    drive = Drive(CAPACITY_BYTES, lambda stimulus, phase, number: Fraction(9000))
    played = drive.play(
        write_saturation_test(replace(conditions(), workloads=(workload,), longest_ns=10**16), CAPACITY_BYTES)
    )
    steps = [applied for applied in played.applied if applied.phase is Phase.SATURATION]
    written = sum(drive.sample(a.phase, a.number, a.step).write.bytes for a in steps)
    largest = workload.block_sizes[-1].block_size_bytes
    assert abs(written - 4 * CAPACITY_BYTES) <= len(steps) * largest
    (outcome,) = played.outcomes
    assert outcome.ended_by == "4 x user capacity written"


@pytest.mark.proves("PTS-WSAT-08")
def test_the_purge_before_a_workload_takes_nothing_of_its_six_hours() -> None:
    """An engine tells the time without I/O before any step but its first: a purge may take an hour."""
    two = conditions("write_intensive", "oltp")
    drive = Drive(10**18, lambda stimulus, phase, number: 1000)
    script = write_saturation_test(two, 10**18)
    cycle, lengths, answer = 0, [0, 0], None
    while (request := next_of(script, answer)) is not None:
        answer = None
        if isinstance(request, Purge):
            cycle, purged = cycle + 1, True
        if isinstance(request, Apply):
            gap_ns = 3600 * NS_PER_S if purged else 2 * NS_PER_S
            purged = False
            answer = tuple(
                with_changes(drive.sample(request.phase, request.number, step), gap_ns=gap_ns)
                for step in request.steps
            )
            if request.phase is Phase.SATURATION:
                lengths[cycle - 1] += sum(sample.elapsed_ns for sample in answer)
    assert lengths[0] == lengths[1]
    # the gaps between steps do count
    assert two.longest_ns - 60 * NS_PER_S < lengths[0] < two.longest_ns


@pytest.mark.parametrize("iops", [40_000, 50_000, 90_000])
def test_threads_share_the_amount_in_the_last_minute_only(iops) -> None:
    drive = Drive(CAPACITY_BYTES, lambda stimulus, phase, number: iops)
    played = drive.play(write_saturation_test(conditions(), CAPACITY_BYTES))
    lengths = [a.elapsed_ns for a in played.applied if a.phase is Phase.SATURATION]
    assert lengths[0] == 60 * NS_PER_S
    assert lengths[-1] <= 60 * NS_PER_S
    assert len(lengths) <= 60
    assert sum(lengths) == pytest.approx(4 * CAPACITY_BYTES / (iops * 4096) * NS_PER_S, rel=1e-6)
