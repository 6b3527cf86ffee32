"""Watts of meters against waveforms whose energy, windows and clocks are known exactly."""

import math
import random
import struct
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.power import PowerState, Transition, entries
from openpts_drives.nvme import declared_states, table_bytes, table_of
from openpts_nvme.power.polled import sensor
from openpts_nvme.power.qis import QisSource, parse_header
from openpts_nvme.power.quarch import QuarchSource
from openpts_nvme.power.source import MeterError, PowerWindows
from openpts_nvme.pstates.report import IdlePoint, levels_of
from openpts_work.counters import clock_offset
from tests.support.power_meters import quarch_module, quarch_server, stripe_of


def windows_of(watts: list[float], period_ns: float, pieces: int = 997) -> PowerWindows:
    """Added in pieces that fit no window."""
    found = PowerWindows(period_ns)
    for at in range(0, len(watts), pieces):
        found.add(watts[at : at + pieces])
    return found


def sine_with_peak(samples: int, peak_at: int) -> list[float]:
    """5 W and a sine of 3 W of 10 Hz, 4 us apart, with 25 samples of 20 W."""
    watts = [5 + 3 * math.sin(2 * math.pi * 10 * n * 4e-6) for n in range(samples)]
    watts[peak_at : peak_at + 25] = [20.0] * 25
    return watts


def test_the_integral_and_a_peak_of_100_us_are_exact() -> None:
    watts = sine_with_peak(500_000, 123_457)
    found = windows_of(watts, 4_000)
    # The sine of whole periods has no mean; what the peak replaced is known.
    replaced = math.fsum(watts[123_457 : 123_457 + 25]) - math.fsum(
        5 + 3 * math.sin(2 * math.pi * 10 * n * 4e-6) for n in range(123_457, 123_482)
    )
    assert found.joules == pytest.approx(5 * 2.0 + replaced * 4e-6, rel=1e-9)
    assert found.peak_w == pytest.approx(20.0, abs=1e-9)
    assert found.elapsed_s == 2.0


def test_the_largest_second_is_that_of_any_place() -> None:
    """A second of 9 W between 2 W, which begins at no whole second, to the block of 1 ms."""
    watts = [2.0] * 64_321 + [9.0] * 62_500 + [2.0] * 100_000
    found = windows_of(watts, 16_000)
    assert found.largest_mean_w == pytest.approx(9.0, rel=2e-3)
    assert windows_of(watts[:50_000], 16_000).largest_mean_w is None


def test_slow_samples_have_no_peak() -> None:
    assert windows_of([1.0] * 10, NS_PER_MS).peak_w is None


@pytest.mark.parametrize("power", [False, True])
def test_a_server_s_stream_has_the_energy_of_the_waveform(power) -> None:
    watts = [5 + 3 * math.sin(2 * math.pi * n / 1000) for n in range(10_000)]
    with quarch_server([stripe_of(one) for one in watts], 1000, power=power) as port:
        source = QisSource("127.0.0.1", port, resample="1mS")
        got = [one for piece in source.pieces() for one in piece]
    assert source.period_ns == NS_PER_MS
    assert len(got) == len(watts)
    assert math.fsum(got) * 1e-3 == pytest.approx(50.0, rel=1e-3)
    assert got == pytest.approx(watts, rel=1e-4)


def test_a_module_s_own_stream_has_energy_and_peak() -> None:
    watts = sine_with_peak(20_000, 8_011)
    with quarch_module([stripe_of(one) for one in watts]) as port:
        source = QuarchSource("127.0.0.1", port, averaging="0")
        found: PowerWindows | None = None
        for piece in source.pieces():
            found = found or PowerWindows(source.period_ns)
            found.add(piece)
    assert source.period_ns == 4_000
    assert found.samples == len(watts)
    assert found.joules == pytest.approx(math.fsum(watts) * 4e-6, rel=1e-3)
    assert found.peak_w == pytest.approx(20.0, rel=1e-4)


def test_averaging_makes_samples_longer() -> None:
    with quarch_module([stripe_of(4.0)] * 100, averaging=4) as port:
        source = QuarchSource("127.0.0.1", port, averaging="16")
        assert sum(map(len, source.pieces())) == 100
    assert source.period_ns == 64_000


def test_samples_that_were_lost_are_no_energy() -> None:
    with quarch_module([stripe_of(4.0)] * 1000, overruns=True) as port:
        source = QuarchSource("127.0.0.1", port)
        with pytest.raises(MeterError, match="ran over"):
            list(source.pieces())


def test_headers_that_say_nothing_are_refused() -> None:
    for text in ("no XML", "<header></header>", "<header><mainPeriod>4us</mainPeriod></header>"):
        with pytest.raises(MeterError):
            parse_header(text)


def test_a_meter_that_is_not_there_is_named() -> None:
    with pytest.raises(MeterError, match=r"127\.0\.0\.1:1"):
        QisSource("127.0.0.1", 1)


@pytest.mark.parametrize(
    ("files", "watts"),
    [
        ({"power1_average": 4_500_000, "power1_input": 9}, 4.5),
        ({"power1_input": 2_000_000}, 2.0),
        ({"in1_input": 3300, "curr1_input": 1500}, 4.95),
    ],
)
def test_sensors_are_read_in_their_units(tmp_path, files, watts) -> None:
    for name, value in files.items():
        (tmp_path / name).write_text(f"{value}\n")
    assert next(sensor(tmp_path).pieces()) == [pytest.approx(watts)]


def test_a_sensor_of_energy_gives_its_growth(tmp_path, monkeypatch) -> None:
    (tmp_path / "energy1_input").write_text("1000000\n")
    now = [10.0]
    monkeypatch.setattr("openpts_nvme.power.polled.time.monotonic", lambda: now[0])
    pieces = sensor(tmp_path).pieces()
    now[0] = 12.0
    (tmp_path / "energy1_input").write_text("7000000\n")
    assert next(pieces) == [pytest.approx(3.0)]


def test_a_folder_without_power_is_refused(tmp_path) -> None:
    with pytest.raises(MeterError, match="power1_input"):
        sensor(tmp_path)


PRIMES = (2, 3, 5, 7, 11, 13)


@pytest.mark.parametrize("offset_ms", [-1234.5, 0.0, 321.7, 3210.3])
@pytest.mark.parametrize("period_ms", [1, 10])
def test_bursts_at_prime_intervals_tell_the_clock(offset_ms, period_ms) -> None:
    """Bursts of 100 ms that begin 200, 300, 500 ... ms apart, in noise of a tenth of their power."""
    begins = list(accumulate((prime * 100 for prime in PRIMES), initial=6000))
    bursts = [(begin * NS_PER_MS, (begin + 100) * NS_PER_MS) for begin in begins]
    chosen = random.Random(3)
    t_ns = [n * period_ms * NS_PER_MS for n in range(20_000 // period_ms)]

    def watts_at(t: int) -> float:
        host = t - offset_ms * NS_PER_MS
        busy = any(begin <= host < end for begin, end in bursts)
        return 2 + 5 * busy + chosen.gauss(0, 0.5)

    found = clock_offset(t_ns, [watts_at(t) for t in t_ns], bursts)
    assert found.offset_ns / NS_PER_MS == pytest.approx(offset_ms, abs=1.5 * period_ms)


def test_bursts_that_fit_in_several_places_tell_nothing() -> None:
    bursts = [(n * NS_PER_S, n * NS_PER_S + NS_PER_S // 2) for n in range(10, 60)]
    t_ns = [n * 10 * NS_PER_MS for n in range(7000)]
    even = [2.0 + 5.0 * (t % NS_PER_S < NS_PER_S // 2) for t in t_ns]
    assert clock_offset(t_ns, even, bursts) is None
    assert clock_offset(t_ns, [4.0] * len(t_ns), bursts) is None
    apart = {after - before for (before, _), (after, _) in pairwise(bursts)}
    assert len(apart) == 1


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
def test_a_table_is_read_as_it_was_written(table) -> None:
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
        most_w=500 * 0.0001,
        idle_w=51 * 0.0001,
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


def noisy_staircase(seed: int, reads: int = 15) -> list[IdlePoint]:
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
        points.append(IdlePoint(idle_ns, idle_ns, latencies))
    return points


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_found_in_noise_and_outliers(seed) -> None:
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
        IdlePoint(n, n, tuple(round(1e5 * chosen.lognormvariate(0, 0.1)) for _ in range(10)))
        for n in range(1, 30)
    ]
    assert len(levels_of(points, None, 1)) == 1
    assert levels_of([], None, 1) == ()
