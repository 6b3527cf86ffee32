"""What tells that the host is at its limit, from files of made-up machines."""

from pathlib import Path

import pytest

from openpts.analysis.limited_seconds import marks_of
from openpts.gauge import Gauge, Values
from openpts.host.container import cpu_quota
from openpts.host.memory import memory_peak_bytes_per_s
from openpts.host.saturation_gauges import saturation_gauges
from openpts.record.health import TelemetrySeries
from openpts.system_files import SystemRoots
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth

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
