"""Power states of NVMe against the layouts of its specification, and the staircase against known steps."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.nvme.power_states import declared_states, table_bytes, table_of
from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.power_states import PowerState, Transition, entries
from openpts_nvme.pstates.results import Point, levels_of

TRANSITIONS = st.lists(
    st.builds(
        Transition,
        st.integers(0, 31),
        st.integers(0, 31),
        st.integers(1, 0xFFFFFF).map(lambda ms: ms * NS_PER_MS),
    ),
    unique_by=lambda one: one.origin,
)


@given(TRANSITIONS)
def test_a_table_is_read_as_it_was_written(table: list[Transition]) -> None:
    data = table_bytes(tuple(table))
    assert len(data) == 256
    assert table_of(data) == tuple(sorted(table, key=lambda one: one.origin))


def test_transitions_have_their_bits_where_the_specification_has_them() -> None:
    """ITPS 4 in bits 7:3, ITPT 2000 ms in bits 31:8 of entry 3."""
    data = table_bytes((Transition(3, 4, 2 * NS_PER_S),))
    assert struct.unpack_from("<Q", data, 24) == (4 << 3 | 2000 << 8,)


def test_descriptors_are_read_in_their_scales() -> None:
    data = bytearray(4096)
    data[263] = 2
    # 8.25 W in 0.01 W; then 0.05 W in 0.0001 W, not operational, 1.5 and 9 ms, 5.1 mW idle
    struct.pack_into("<H", data, 2048, 825)
    struct.pack_into("<HBBII", data, 2080, 500, 0, 3, 1500, 9000)
    struct.pack_into("<HB", data, 2096, 51, 1 << 6)
    struct.pack_into("<HB", data, 2128, 7, 2 << 6)
    awake, asleep, other = declared_states(bytes(data))
    assert awake == PowerState(0, operational=True, most_w=8.25)
    assert asleep == PowerState(
        1,
        operational=False,
        most_w=pytest.approx(0.05),
        idle_w=pytest.approx(0.0051),
        entry_ns=1500 * NS_PER_US,
        exit_ns=9 * NS_PER_MS,
    )
    assert other.idle_w == pytest.approx(0.07)


def test_entries_add_up_and_a_table_that_leads_back_ends() -> None:
    states = [PowerState(n, operational=not n, entry_ns=n * NS_PER_MS) for n in range(4)]
    table = [
        Transition(0, 1, 100 * NS_PER_MS),
        Transition(1, 3, 2 * NS_PER_S),
        Transition(3, 1, 5 * NS_PER_S),
    ]
    found = [(state.number, at_ns / NS_PER_MS) for state, at_ns in entries(states, table)]
    assert found == [(1, 101.0), (3, 2104.0)]
    assert entries(states, [Transition(0, 9, NS_PER_S)]) == []


EXITS_US = (0, 400, 2_000, 12_000, 60_000)
ENTERED_AT = (0, 5, 10, 16, 21)
"""Points of the grid from which on the states are entered."""


def noisy_staircase(seed: int, reads: int = 15) -> list[Point]:
    """Reads of 100 us with 10 % of noise and one in 30 that takes 5 ms longer, behind five states."""
    chosen = random.Random(seed)
    points = []
    for place in range(28):
        exit_us = max(us for us, at in zip(EXITS_US, ENTERED_AT, strict=True) if at <= place)
        latencies = tuple(
            round((exit_us + 100 * chosen.lognormvariate(0, 0.1) + 5000 * (chosen.random() < 1 / 30)) * 1000)
            for _ in range(reads)
        )
        idle_ns = round(1e6 * 10 ** (place / 5))
        points.append(Point(idle_ns, idle_ns, latencies))
    return points


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_found_in_noise_and_outliers(seed: int) -> None:
    points = noisy_staircase(seed)
    levels = levels_of(points, None, seed)
    assert [level.start for level in levels] == list(ENTERED_AT)
    for level, exit_us in zip(levels, EXITS_US, strict=True):
        assert level.exit_ns / 1000 == pytest.approx(exit_us, abs=100)
        assert level.exit_from_ns <= level.exit_ns <= level.exit_to_ns
        assert level.confidence > 0.9


def test_noise_alone_has_no_step() -> None:
    chosen = random.Random(1)
    points = [
        Point(n, n, tuple(round(1e5 * chosen.lognormvariate(0, 0.1)) for _ in range(10)))
        for n in range(1, 30)
    ]
    assert len(levels_of(points, None, 1)) == 1
    assert levels_of([], None, 1) == ()
