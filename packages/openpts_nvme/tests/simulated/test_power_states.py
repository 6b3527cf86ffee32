"""The test of power states on a drive with five of them, whose times and power are known."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.power import PowerMode
from openpts_nvme.pstates import PowerStateConditions
from openpts_nvme.pstates.report import FoundState, StatesReport
from tests.support.five_states import DECLARED_EXIT_US, ENTERED_MS, EXITS_US, IDLE_W, write_five_states
from tests.support.oracle_presets import write_oracle
from tests.support.whole_tests import run_whole


def run_pstates(folder: Path, preset: Path) -> Run:
    def shortened(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, PowerStateConditions)
        return replace(conditions, repeats=8, longest_ns=60 * NS_PER_S, range_bytes=1 << 24)

    return run_whole("pstates", DriveClass.ENTERPRISE, folder / "run", shortened, f"sim:{preset}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("pstates")
    return run_pstates(folder, write_five_states(folder))


@pytest.fixture(scope="module")
def states(run: Run) -> list[FoundState]:
    return list(StatesReport.of(run).states)


def test_each_state_s_exit_is_within_100_us_and_its_entry_within_a_step_of_the_grid(
    run: Run, states: list[FoundState]
) -> None:
    grid = 10 ** (1 / run.conditions(PowerStateConditions).per_decade) * 1.01
    assert [state.declared and state.declared.number for state in states] == [0, 1, 2, 3, 4]
    assert states[0].level is None
    for number, state in enumerate(states[1:], start=1):
        assert state.level is not None
        assert state.level.exit_ns / 1000 == pytest.approx(EXITS_US[number], abs=100)
        assert state.commanded_ns is not None
        assert state.commanded_ns / 1000 == pytest.approx(EXITS_US[number], abs=100)
        assert state.level.after_ns / NS_PER_MS / grid < ENTERED_MS[number]
        assert state.level.not_after_ns is not None
        assert state.level.not_after_ns / NS_PER_MS < ENTERED_MS[number]
        assert state.entered_ns == pytest.approx(ENTERED_MS[number] * NS_PER_MS)


def test_a_state_that_takes_longer_than_declared_is_named(states: list[FoundState]) -> None:
    kept = {number: state.keeps_exit for number, state in enumerate(states[1:], start=1)}
    assert kept == {n: EXITS_US[n] <= DECLARED_EXIT_US[n] for n in range(1, 5)}


def test_power_in_each_state_is_that_of_the_drive(states: list[FoundState]) -> None:
    assert [state.power_w for state in states] == [pytest.approx(watts, rel=1e-3) for watts in IDLE_W]


def test_without_transitions_the_drive_stays_awake(run: Run) -> None:
    found = StatesReport.of(run)
    assert {latency for point in found.always_on for latency in point.latencies_ns} == {100_000}
    modes = [one.mode for one in run.manifest.power_states]
    assert modes[:2] == [PowerMode.AUTONOMOUS, PowerMode.OFF]
    assert not any(one.refused for one in run.manifest.power_states)


def test_a_drive_with_one_state_has_no_steps_and_is_asked_for_none(tmp_path: Path) -> None:
    found = StatesReport.of(run_pstates(tmp_path, write_oracle(tmp_path, [5000.0])))
    assert len(found.levels) == 1
    assert found.states == ()
    told = found.set(PowerMode.AUTONOMOUS)
    assert told is not None
    assert told.refused
