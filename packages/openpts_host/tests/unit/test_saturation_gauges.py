"""Gauges of the host, from files of made-up machines: its limits, pressure, power, processors' time."""

from pathlib import Path

import pytest

from openpts.analysis.host_limits import marks_of
from openpts.gauge import Gauge, Values
from openpts.record.health import TelemetrySeries
from openpts.system_files import SystemRoots
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts_host.container import cpu_quota
from openpts_host.gauges import power_gauges, pressure_gauge, processor_gauges, saturation_gauges
from openpts_host.memory import memory_peak_bytes_per_s

S = 10**9


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    return SystemRoots(sys=tmp_path / "sys", proc=tmp_path / "proc")


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def gauges(roots: SystemRoots, *cpus: int) -> dict[str, Gauge]:
    return {gauge.name: gauge for gauge in saturation_gauges(roots, cpus)}


def grown(gauge: Gauge, first: list[str], second: list[str], seconds: int = 2) -> Values:
    assert gauge.understand([text.encode() for text in first], 0) == {}
    return gauge.understand([text.encode() for text in second], seconds * S)


def thread(roots: SystemRoots, number: int, name: str) -> None:
    put(roots.proc / f"self/task/{number}/comm", f"{name}\n")
    put(roots.proc / f"self/task/{number}/schedstat", "0 0 0\n")


def test_the_thread_that_waited_most_counts_and_the_one_that_had_least_rest(roots) -> None:
    for number, name in enumerate(("python", "openpts-io-0", "openpts-io-1", "openpts-collect")):
        thread(roots, number, name)
    gauge = gauges(roots)["engine threads"]
    assert [path.parent.name for path in gauge.paths] == ["1", "2"]
    # in 2 s: 0.4 s at work and 0.5 s waiting, 1.6 s at work and 0.1 s waiting
    first = ["100 200 5\n", "0 0 0\n"]
    second = [f"{100 + 4 * S // 10} {200 + S // 2} 9\n", f"{16 * S // 10} {S // 10} 9\n"]
    values = grown(gauge, first, second)
    assert values == {"engine_wait_pct": pytest.approx(25), "engine_awake_pct": pytest.approx(85)}


def test_of_very_many_threads_some_are_read(roots, golden) -> None:
    for number in range(1000):
        thread(roots, number, f"openpts-io-{number}")
    gauge = gauges(roots)["engine threads"]
    assert 50 <= len(gauge.paths) <= 64
    assert str(gauge.what) == golden


def test_what_a_machine_does_not_tell_has_its_reason(roots, golden) -> None:
    assert {name: (gauge.what, gauge.paths) for name, gauge in gauges(roots).items()} == dict.fromkeys(
        ("engine threads", "processor quota", "processor throttling", "memory bandwidth"), (None, ())
    )
    put(roots.proc / "self/task/7/comm", "openpts-io-0\n")
    assert gauges(roots)["engine threads"].source == golden


@pytest.mark.parametrize(
    ("line", "folder", "before", "after"),
    [
        ("0::/box/run", "fs/cgroup/box", "throttled_usec 100\n", "throttled_usec 600100\n"),
        ("4:cpu:/box/run", "fs/cgroup/cpu/box", "throttled_time 5\n", "throttled_time 600000005\n"),
    ],
)
def test_a_quota_of_a_group_above_counts_in_both_versions(line, folder, before, after, roots) -> None:
    put(roots.proc / "self/cgroup", f"{line}\n")
    put(roots.sys / folder / "run/cpu.stat", "nr_periods 1\nnr_throttled 0\n" + before)
    put(roots.sys / folder / "cpu.stat", "nr_periods 1\n" + before)
    gauge = gauges(roots)["processor quota"]
    assert len(gauge.paths) == 2
    # 0.6 s of 2 s, of the group above
    assert grown(gauge, [before, before], [before, after]) == {"cpu_quota_pct": pytest.approx(30)}


V1 = "fs/cgroup/cpu/box/cpu.cfs"


@pytest.mark.parametrize(
    ("line", "files", "processors"),
    [
        ("0::/box/run", {"fs/cgroup/box/cpu.max": "150 100", "fs/cgroup/box/run/cpu.max": "max 100"}, 1.5),
        ("4:cpu:/box", {f"{V1}_quota_us": "20000", f"{V1}_period_us": "100000"}, 0.2),
        ("4:cpu:/box", {f"{V1}_quota_us": "-1", f"{V1}_period_us": "100000"}, None),
    ],
)
def test_the_quota_is_that_of_the_tightest_group(line, files, processors, roots) -> None:
    put(roots.proc / "self/cgroup", f"{line}\n")
    for name, text in files.items():
        put(roots.sys / name, f"{text}\n")
    assert cpu_quota(roots) == processors


def test_heat_counts_for_the_engines_cores_and_their_package(roots) -> None:
    for cpu in range(4):
        folder = roots.sys / f"devices/system/cpu/cpu{cpu}"
        put(folder / "thermal_throttle/core_throttle_total_time_ms", "0\n")
        put(folder / "thermal_throttle/package_throttle_total_time_ms", "0\n")
        put(folder / "topology/physical_package_id", f"{cpu // 2}\n")
    gauge = gauges(roots, 2, 3)["processor throttling"]
    assert [path.parent.parent.name for path in gauge.paths] == ["cpu2", "cpu3", "cpu3"]
    assert grown(gauge, ["5", "5", "5"], ["5", "305", "105"]) == {"cpu_throttled_pct": pytest.approx(15)}
    assert len(gauges(roots)["processor throttling"].paths) == 6


def module(mt_per_s: int) -> bytes:
    """DSP0134 7.18: 16 GiB of DDR4 at that rate."""
    structure = bytearray(0x28)
    structure[0], structure[1] = 17, len(structure)
    structure[0x0C:0x0E] = (16 * 1024).to_bytes(2, "little")
    structure[0x12] = 0x1A
    structure[0x20:0x22] = mt_per_s.to_bytes(2, "little")
    return bytes(structure) + b"\0\0"


def test_the_memory_is_held_against_what_its_modules_move(roots) -> None:
    for number in range(2):
        entry = put(roots.sys / f"firmware/dmi/entries/17-{number}/raw", "")
        entry.write_bytes(module(3200))
        put(roots.sys / f"fs/resctrl/mon_data/mon_L3_0{number}/mbm_total_bytes", "0\n")
    peak = 2 * 3200e6 * 8
    assert memory_peak_bytes_per_s(roots) == peak
    values = grown(gauges(roots)["memory bandwidth"], ["0", "7"], [str(int(peak)), str(int(peak / 2) + 7)])
    assert values == {"memory_use_pct": pytest.approx(75)}


def test_a_second_is_marked_by_the_memory_that_was_measured(roots, golden) -> None:
    """5 GB/s are half of what the module could do, and all that copies have moved."""
    put(roots.sys / "firmware/dmi/entries/17-0/raw", "").write_bytes(module(1250))
    counter = put(roots.sys / "fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "0\n")
    measured = MemoryBandwidth(5e9, measured=True, source="copies on 2 processors")
    for memory, use_pct, marks in ((None, 50, set()), (measured, 100, {"memory_use_pct"})):
        gauge = {one.name: one for one in saturation_gauges(roots, (), memory)}["memory bandwidth"]
        assert gauge.paths == (counter,)
        values = grown(gauge, ["0"], [str(10 * S)])
        assert values == {"memory_use_pct": pytest.approx(use_pct)}
        sampled = TelemetrySeries((2 * S,), (values["memory_use_pct"],))
        assert marks_of({"memory_use_pct": sampled}, [(S, 2 * S)], S, polling=False) == [marks]
    assert str(gauge.what) == golden


PSI = "some avg10=99.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
GB_UJ = 10**9


def test_pressure_is_the_share_of_the_time_between_two_readings(roots) -> None:
    for resource in ("memory", "cpu"):
        put(roots.proc / "pressure" / resource, PSI.format(0, 0))
    gauge = pressure_gauge(roots)
    before = [PSI.format(1_000_000, 500_000).encode(), PSI.format(0, 0).encode()]
    after = [PSI.format(1_500_000, 700_000).encode(), PSI.format(2_000_000, 0).encode()]
    assert gauge.understand(before, 10**9) == {}
    assert gauge.understand(after, 3 * 10**9) == {
        "memory_pressure_some_pct": 25,
        "memory_pressure_full_pct": 10,
        "cpu_pressure_some_pct": 100,
    }


def test_without_pressure_information_the_reason_is_said(roots, golden) -> None:
    gauge = pressure_gauge(roots)
    assert (gauge.what, gauge.paths) == (None, ())
    assert gauge.source == golden


def test_sensors_are_in_watts_under_the_names_of_chip_and_label(roots) -> None:
    meter, board = roots.sys / "class/hwmon/hwmon0", roots.sys / "class/hwmon/hwmon1"
    put(meter / "name", "power_meter\n")
    put(meter / "power1_average", "123456789\n")
    put(board / "name", "ina226\n")
    put(board / "power1_label", "SSD 3V3+12V\n")
    put(board / "power1_input", "8250000\n")
    put(board / "power1_average", "1\n")
    sensors = power_gauges(roots)[0]
    contents = [path.read_bytes() for path in sensors.paths]
    assert sensors.understand(contents, 0) == {
        "power_power_meter_1_w": pytest.approx(123.456789),
        "power_ina226_ssd_3v3_12v_w": 8.25,
    }
    assert sensors.understand([b"", b"n/a\n"], 0) == {}


def test_energy_counters_become_mean_power_and_a_wrap_gives_none(roots) -> None:
    zones = roots.sys / "class/powercap"
    for zone, name in {
        "intel-rapl:0": "package-0",
        "intel-rapl:0:0": "dram",
        "intel-rapl:1": "psys",
        "intel-rapl-mmio:0": "package-0",
    }.items():
        put(zones / zone / "name", f"{name}\n")
        put(zones / zone / "energy_uj", "0\n")
    energy = power_gauges(roots)[1]
    assert len(energy.paths) == 3
    readings = [(0, [0, 0, GB_UJ]), (2, [100_000_000, 3_000_000, GB_UJ]), (3, [5, 4_000_000, GB_UJ])]
    values = [
        energy.understand([f"{uj}\n".encode() for uj in energies_uj], at_s * 10**9)
        for at_s, energies_uj in readings
    ]
    assert values == [
        {},
        {"power_package_0_w": 50, "power_package_0_dram_w": 1.5, "power_psys_w": 0},
        {"power_package_0_dram_w": 1, "power_psys_w": 0},
    ]


def test_without_sensors_the_reasons_are_said(roots, golden) -> None:
    sensors, energy = power_gauges(roots)
    assert (sensors.what, energy.what) == (None, None)
    assert sensors.source == golden
    assert energy.source == golden


# user nice system idle iowait irq softirq steal guest guest_nice
FIRST = """cpu  600 0 600 6000 150 30 60 5 0 0
cpu0 100 0 100 1000 50 10 20 0 0 0
cpu1 200 0 200 2000 50 10 20 5 0 0
cpu2 300 0 300 3000 50 10 20 0 0 0
intr 12345 0 9
ctxt 99
"""
SECOND = """cpu  640 10 630 6195 160 35 65 10 0 0
cpu0 140 10 120 1010 60 15 25 0 0 0
cpu1 200 0 200 2095 50 10 20 10 0 0
cpu2 300 0 310 3090 50 10 20 0 0 0
intr 12345 0 9
ctxt 99
"""


@pytest.fixture
def ticking(tmp_path) -> SystemRoots:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(FIRST)
    return SystemRoots(proc=tmp_path / "proc", sys=tmp_path / "sys")


def two_readings(gauge: Gauge, first: str = FIRST, second: str = SECOND) -> Values:
    assert gauge.understand([first.encode()], 0) == {}
    return gauge.understand([second.encode()], 10**9)


def test_the_engines_processors_and_all_others_are_two_groups(ticking) -> None:
    values = two_readings(processor_gauges(ticking, (0,))[0])
    # processor 0 had 100 ticks: 40 user, 10 nice, 20 system, 10 idle, 10 iowait, 5 irq, 5 softirq
    assert {name: value for name, value in values.items() if "engine" in name} == {
        "cpu_engine_busy_pct": 80,
        "cpu_engine_user_pct": 50,
        "cpu_engine_sys_pct": 20,
        "cpu_engine_iowait_pct": 10,
        "cpu_engine_irq_pct": 5,
        "cpu_engine_softirq_pct": 5,
        "cpu_engine_steal_pct": 0,
    }
    # 1 and 2 had 100 each: 95 and 90 idle, 5 stolen, 10 system
    assert values["cpu_others_busy_pct"] == 7.5
    assert (values["cpu_others_steal_pct"], values["cpu_others_sys_pct"]) == (2.5, 5)


def test_where_the_engine_has_all_processors_there_are_no_others(ticking) -> None:
    """Even if the kernel's sum, which it rounds by itself, is a tick more."""
    values = two_readings(
        processor_gauges(ticking, (0, 1, 2))[0], second=SECOND.replace("cpu  640", "cpu  641")
    )
    assert {name.split("_")[1] for name in values} == {"engine"}
    assert values["cpu_engine_busy_pct"] == pytest.approx(100 * (80 + 5 + 10) / 300)


def test_without_pinned_threads_all_processors_are_one_group(ticking) -> None:
    values = two_readings(processor_gauges(ticking, ())[0])
    assert {name.split("_")[1] for name in values} == {"all"}
    assert values["cpu_all_busy_pct"] == pytest.approx(100 * (80 + 5 + 10) / 300)


def test_each_processor_is_sampled_by_itself_and_more_rarely(ticking) -> None:
    group, single, _ = processor_gauges(ticking, (0,))
    assert single.each > group.each
    values = two_readings(single)
    assert [values[f"cpu_{cpu}_busy_pct"] for cpu in range(3)] == [80, 5, 10]
    assert values["cpu_2_sys_pct"] == 10


def test_times_that_go_back_count_as_none(ticking) -> None:
    back = SECOND.replace("1010 60", "1010 40")
    values = two_readings(processor_gauges(ticking, (0,))[0], second=back)
    assert values["cpu_engine_iowait_pct"] == 0
    assert values["cpu_engine_busy_pct"] == pytest.approx(100 * 80 / 90)


def test_a_processor_that_comes_or_goes_has_no_share(ticking) -> None:
    without = "\n".join(line for line in FIRST.splitlines() if not line.startswith("cpu1"))
    single = processor_gauges(ticking, ())[1]
    assert "cpu_1_busy_pct" not in two_readings(single, first=without)
    assert "cpu_0_busy_pct" in two_readings(processor_gauges(ticking, ())[1], first=without)


@pytest.mark.parametrize("text", ["", "cpu0 1 2 3", "cpu0 a b c d e f g h", "nonsense\n\n", SECOND[:24]])
def test_nonsense_gives_no_value(text, ticking) -> None:
    assert two_readings(processor_gauges(ticking, (2,))[0], second=text) == {}


def test_the_clock_is_the_mean_and_the_lowest_of_the_engines_processors(ticking) -> None:
    for cpu, khz in enumerate([3_000_000, 1_000_000, 2_000_000]):
        folder = ticking.sys / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    clock = processor_gauges(ticking, (0, 2))[2]
    contents = [path.read_bytes() for path in clock.paths]
    assert clock.understand(contents, 0) == {
        "cpu_engine_clock_mhz": 2500,
        "cpu_engine_lowest_clock_mhz": 2000,
    }
    assert clock.understand([b"", b""], 0) == {}
    assert len(processor_gauges(ticking, ())[2].paths) == 3


def test_what_the_kernel_does_not_show_has_its_reason(tmp_path, golden) -> None:
    (only,) = processor_gauges(SystemRoots(proc=tmp_path, sys=tmp_path), ())
    assert (only.what, only.paths) == (None, ())
    (tmp_path / "stat").write_text(FIRST)
    clock = processor_gauges(SystemRoots(proc=tmp_path, sys=tmp_path), ())[2]
    assert clock.what is None
    assert clock.source == golden
