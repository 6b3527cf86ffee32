"""The one pass of the short form on simulated drives, against the state after a jump start."""

from pathlib import Path
from statistics import fmean
from typing import TypeVar, cast

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from benches.drawn_drives import draw
from openpts.cli.main import cli
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import RunFailedError
from openpts.fields.conditions import Conditions, at_time_scale
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.units import KIB, MB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, ScriptPart
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import ActiveRange
from openpts_pts.iops.script import standard_conditions
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.one_pass import AFTERWARDS, PASS, OnePass, condition_in_one_pass
from openpts_pts.shared.rounds.script import conditioned
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive
from tests.support.next_sample import next_sample
from tests.support.whole_tests import run_whole

T = TypeVar("T")
_WHOLE = ActiveRange()


class Drive:
    """A simulated drive, and all windows that were written to it, by the number of their part."""

    def __init__(self, preset: str, simulated_bytes: int, scale: int = 1) -> None:
        self.capacity_bytes = scale * simulated_bytes
        self.drive = SimulatedDrive(
            load_preset(preset), path=f"sim:{preset}", capacity_bytes=self.capacity_bytes, scale=scale, seed=1
        )
        self.engine = self.drive.engine(Demand(4, 32, 128 * KIB), 1, NativeOptions())
        self.known_flash: float | None = None
        self.windows: dict[int, list[Sample]] = {}

    def condition(self, part: ActiveRange = _WHOLE, known_flash: float | None = None) -> bool:
        """Carry the script out; whether the drive was at rest afterwards."""
        conditions = replace(standard_conditions(DriveClass.ENTERPRISE, seed=1), active_range=part)
        self.known_flash = known_flash
        return self.carry_out(condition_in_one_pass(conditions, self.capacity_bytes, known_flash))

    @property
    def one_pass(self) -> OnePass:
        parts = self.windows.items()
        return OnePass.of(((part, one) for part, samples in parts for one in samples), self.known_flash)

    def carry_out(self, script: ScriptPart[T]) -> T:
        """The script's own answer."""
        answer = None
        while True:
            try:
                request = script.send(answer)
            except StopIteration as ended:
                return cast("T", ended.value)
            assert isinstance(request, Apply)
            answer = self.apply(request)

    def apply(self, request: Apply) -> tuple[Sample, ...]:
        self.engine.submit(list(request.steps))
        samples = tuple(next_sample(self.engine, "") for _ in request.steps)
        self.windows.setdefault(request.number, []).extend(samples)
        return samples


def test_it_leaves_the_state_of_a_drive_that_collects_the_oldest_block(tmp_path: Path) -> None:
    # collection during the pass would leave blocks of another age than the pass means
    oldest_first = draw("enterprise", 307, tmp_path, {"page_mapped.collection.victim": "fifo"})
    test_it_leaves_the_state_of_long_writing(str(oldest_first.path), 8_000 * MB)


@pytest.mark.parametrize(
    ("preset", "capacity_bytes"),
    [("enterprise-tlc", 4_000 * MB), ("mlc", 2_000 * MB), ("sata-reduction", 4_000 * MB)],
)
def test_it_leaves_the_state_of_long_writing(preset: str, capacity_bytes: int) -> None:
    shortly, long = Drive(preset, capacity_bytes), Drive(preset, capacity_bytes)
    assert shortly.condition()
    long.drive.jump_start()
    again = Apply(Phase.CONDITIONING, AFTERWARDS, tuple(one.step for one in shortly.windows[AFTERWARDS][:10]))
    # the first windows of either fill the write buffer, or find it filled
    found, steady = (
        fmean(one.iops for one in samples[-7:]) for samples in (shortly.apply(again), long.apply(again))
    )
    assert found == pytest.approx(steady, rel=0.03)


def test_a_drive_that_heat_slows_down_later_goes_on_at_full_length(tmp_path: Path) -> None:
    # ten windows after the pass it is at 74 °C, and at 75 °C some windows later: the rate was 9 % too high
    drawn = draw("enterprise", 700, tmp_path, {"page_mapped.collection.victim": "greedy"})
    drive = Drive(str(drawn.path), 8_000 * MB, scale=200)
    assert not drive.condition()
    assert "heat" in drive.one_pass.why_not


def test_it_finds_what_the_flash_holds_for_a_part_of_the_lbas() -> None:
    whole, part = (Drive("enterprise-tlc", 4_000 * MB) for _ in range(2))
    assert whole.condition()
    assert part.condition(ActiveRange(0, 80))
    found, larger = (drive.one_pass.flash for drive in (whole, part))
    # 28 % over-provisioning, of which some is kept free
    assert found is not None
    assert 1.25 < found < 1.28
    assert larger == pytest.approx(found / 0.8, abs=0.01)


def test_what_the_flash_holds_has_to_be_found_only_once(tmp_path: Path) -> None:
    first, second, long = (Drive("enterprise-tlc", 4_000 * MB) for _ in range(3))
    assert first.condition()
    flash = round(first.one_pass.flash or 0, 3)
    assert second.condition(known_flash=flash)
    written = sum(one.write.bytes for samples in second.windows.values() for one in samples)
    assert written < (flash + 0.25) * second.capacity_bytes
    long.drive.jump_start()
    again = Apply(Phase.CONDITIONING, AFTERWARDS, tuple(one.step for one in first.windows[AFTERWARDS][:10]))
    found, steady = (
        fmean(one.iops for one in samples[-7:]) for samples in (second.apply(again), long.apply(again))
    )
    assert found == pytest.approx(steady, rel=0.03)


@pytest.mark.parametrize(("known", "found"), [(1.20, "more"), (1.35, "less")])
def test_a_flash_that_holds_something_else_is_noticed(known: float, found: str) -> None:
    drive = Drive("enterprise-tlc", 4_000 * MB)
    assert not drive.condition(known_flash=known)
    assert f"the flash holds {found} than {known:g}" in drive.one_pass.why_not


def test_where_collection_never_shows_the_test_goes_on_at_full_length() -> None:
    drive = Drive("pslc", 1_000 * MB)
    short = replace(standard_conditions(DriveClass.ENTERPRISE, seed=1), within_pct=5, minute_ns=5 * NS_PER_S)
    goes_on_with = drive.carry_out(conditioned(short, 128 * KIB, drive.capacity_bytes))
    assert PASS not in drive.windows
    assert goes_on_with == standard_conditions(DriveClass.ENTERPRISE, seed=1)


def test_where_only_the_short_form_is_asked_for_the_test_ends_with_its_record(tmp_path: Path) -> None:
    target = "sim:pslc?capacity=1GB&scale=1"
    asked = CliRunner().invoke(
        cli, ["run", "lat", target, "--short", "--only-short", "--out", str(tmp_path / "run")]
    )
    assert isinstance(asked.exception, RunFailedError)
    assert "the rate never fell for good" in str(asked.exception)
    record = read_run(tmp_path / "run")
    assert record.phase(Phase.CONDITIONING)
    assert not record.phase(Phase.ROUND)


@pytest.mark.long("a demand test twice, one of them prepared at full length")
def test_a_demand_test_after_one_pass_measures_the_state_of_full_length(tmp_path: Path) -> None:
    """The highest demand's IOPS after the pass are those after tracked minutes half an hour apart."""
    found = {}
    for one_pass in (True, False):

        def adjust(conditions: Conditions, one_pass: bool = one_pass) -> Conditions:
            assert isinstance(conditions, DemandConditions)
            short = replace(conditions, one_pass=one_pass, tcs=(32,), qds=(32,), capture=False)
            return at_time_scale(short, 1 / 600)

        target = "sim:enterprise-tlc?capacity=2GB"
        run = run_whole("dirth", DriveClass.ENTERPRISE, tmp_path / str(one_pass), adjust, target)
        found[one_pass] = fmean(step.sample.iops for step in run.phase(Phase.ROUND))
        assert bool(run.phase(Phase.CONDITIONING)) is one_pass
        tracked_s = sum(step.sample.elapsed_ns for step in run.phase(Phase.WDPC)) / NS_PER_S
        assert (tracked_s < 2) is one_pass
        report = build_report(run, default_date(run))
        assert ("dirth-preparation-short" in report.tables()) is one_pass
    assert found[True] == pytest.approx(found[False], rel=0.05)
