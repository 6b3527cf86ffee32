"""Power states of a served drive behind the kernel's own nvme-tcp: planted ones are found by the test.

An emulated processor answers within some milliseconds: the planted exits are a multiple of that.
"""

import os
from typing import Final

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.units import NS_PER_MS
from openpts.vocabulary.power import PowerMode
from openpts_nvme.pstates.report import FoundState, StatesReport
from tests.lab.machine import OPENPTS, TESTBENCH, complaints, in_lab, needs_lab
from tests.support.five_states import five_states

pytestmark = [needs_lab, pytest.mark.slow]

SERIAL: Final = "STATES5"
EXITS_MS: Final = (0, 150, 400, 800, 1600)
ENTRY_MS: Final = 1
DECLARED_EXIT_MS: Final = (0, 0.4, 1, 4, 12)
AFTER_IDLE_MS: Final = tuple(50 * (ENTRY_MS + exit_ms) for exit_ms in DECLARED_EXIT_MS)
"""The kernel sets its own table when it connects: without its time-outs, 50 times of what is declared."""
MOST_ADDED_MS: Final = 50
SHORT: Final = (
    "--shortest-seconds 0.02 --longest-seconds 2 --per-decade 10 --repeats 4 --least-repeats 2 "
    "--point-seconds 10 --settle-seconds 0.1 --range 8MiB --no-report"
)


@pytest.fixture(scope="module")
def run(disk_path_factory: pytest.TempPathFactory) -> Run:
    """What the machine left."""
    folder = disk_path_factory.mktemp("states")
    preset = folder / "five-states.toml"
    preset.write_text(
        five_states(
            exits_us=[1000 * ms for ms in EXITS_MS],
            entries_us=[1000 * ENTRY_MS] * 5,
            declared_us=[round(1000 * ms) for ms in DECLARED_EXIT_MS],
        )
    )
    ended = in_lab(
        folder,
        timeout_s=1500,
        script=f"""
        exec 2> {folder}/errors.log
        export PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        modprobe nvme-tcp && echo 0 > /sys/module/nvme_core/parameters/apst_primary_timeout_ms || exit 10
        {TESTBENCH} --nvme-tcp 127.0.0.1:4420 --serial {SERIAL} {preset} > {folder}/served &
        until [ -s {folder}/served ]; do sleep 0.2; done
        $(sed -n 's/.*"connect": "\\([^"]*\\)".*/\\1/p' {folder}/served) > /dev/null || exit 11
        until [ -b /dev/nvme0n1 ]; do sleep 0.2; done
        {OPENPTS} run pstates /dev/nvme0n1 --confirm-serial {SERIAL} {SHORT} --out {folder}/run || exit 12
        nvme get-feature /dev/nvme0 -f 2 > {folder}/state
        """,
    )
    assert ended.returncode == 0, ended.stderr + complaints(folder)
    assert "value:00000000" in (folder / "state").read_text()
    return read_run(folder / "run")


@pytest.fixture(scope="module")
def states(run: Run) -> list[FoundState]:
    return [state for state in StatesReport.of(run).states if state.declared is not None]


def test_the_kernel_lets_each_setting_through(run: Run) -> None:
    assert run.manifest.state is RunState.COMPLETE
    set_modes = {one.mode for one in run.manifest.power_states}
    assert set_modes == {PowerMode.AUTONOMOUS, PowerMode.OFF, PowerMode.COMMANDED}
    assert not [one.refused for one in run.manifest.power_states if one.refused]


def test_each_commanded_state_is_left_after_what_was_planted(states: list[FoundState]) -> None:
    assert [state.declared and state.declared.number for state in states] == [0, 1, 2, 3, 4]
    for planted_ms, state in zip(EXITS_MS, states, strict=True):
        assert state.commanded_ns is not None
        assert abs(state.commanded_ns / NS_PER_MS - planted_ms) <= MOST_ADDED_MS


def test_the_staircase_has_each_state_that_it_reaches(states: list[FoundState]) -> None:
    grid = 10 ** (1 / 10) * 1.01
    entered_ms = 0.0
    for number, state in enumerate(states[1:], start=1):
        entered_ms += AFTER_IDLE_MS[number] + ENTRY_MS
        assert state.level is not None, number
        assert abs(state.level.exit_ns / NS_PER_MS - EXITS_MS[number]) <= MOST_ADDED_MS
        assert state.level.not_after_ns is not None
        assert state.level.not_after_ns / NS_PER_MS < entered_ms * grid
        assert state.level.after_ns / NS_PER_MS > entered_ms / grid
