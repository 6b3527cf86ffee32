"""What the memory moves: held against copies of NumPy, and left alone where a run would notice."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from msgspec.structs import replace

from openpts import _native
from openpts.device.block_device import BlockDevice
from openpts.ownership import RunOwner, folder_claimed, host_used, new_run_id
from openpts.record.batch import Batch, write_batch
from openpts.system_files import SystemRoots
from openpts.units import GB, KIB, MIB
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts_host import host_capacity as memory_bandwidth
from openpts_host.host_capacity import (
    DrivenDrive,
    expected_limits,
    measured_memory,
    memory_for_batch,
    memory_of_run,
)
from openpts_host.memory import last_level_cache_bytes
from openpts_host.tests.unit.test_saturation_gauges import module, put
from tests.data.system_trees import server, shelf

__all__ = ["server", "shelf"]

CPUS = sorted(os.sched_getaffinity(0))
BUFFER_BYTES = 32 * MIB
DURATION_MS = 60
TRIES = 3
MOST_TRIES = 100
OTHER = """
import sys
from pathlib import Path
from openpts.ownership import RunOwner, host_used, owned
from openpts.system_files import SystemRoots
owner = RunOwner.this_process("id", "drive", (), SystemRoots())
with (host_used(Path(sys.argv[2]), owner, alone=False) if sys.argv[1] == "lock" else owned("x", owner, None)):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def quiet(tmp_path) -> SystemRoots:
    """A machine of which nothing is known but that memory is free; runs of others are out of sight."""
    roots = SystemRoots(sys=tmp_path / "sys", proc=tmp_path / "proc", dev=tmp_path)
    put(roots.proc / "meminfo", "MemAvailable:    33554432 kB\n")
    return roots


@pytest.fixture
def planted(monkeypatch) -> dict[str, float]:
    """What copies find: the rate on each processor, and how much of it they had."""
    found = {"rate": 5e9, "share": 0.97}

    def rates(cpus: list[int], buffer_bytes: int, duration_ms: int) -> tuple[dict[int, float], float]:
        assert (buffer_bytes, duration_ms) == (16 * MIB, 100)
        return {cpu: found["rate"] + cpu for cpu in cpus}, found["share"]

    monkeypatch.setattr(memory_bandwidth, "memory_rates", rates)
    return found


@contextmanager
def other_run(how: str, folder: Path) -> Iterator[None]:
    words = [sys.executable, "-c", OTHER, how, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.communicate()


def ours(cpus: list[int]) -> tuple[float, float]:
    rates, share = _native.measure_memory(cpus=cpus, buffer_bytes=BUFFER_BYTES, duration_ms=DURATION_MS)
    assert len(rates) == len(cpus)
    return sum(rates), share


def numpys() -> float:
    """The same with NumPy, whose copies do not hold the interpreter."""
    begin = Barrier(len(CPUS))

    def copied_per_s(cpu: int) -> float:
        os.sched_setaffinity(0, {cpu})
        source, target = (np.full(BUFFER_BYTES // 8, 1.0) for _ in range(2))
        begin.wait()
        copies, begun_s = 0, time.monotonic()
        while (elapsed_s := time.monotonic() - begun_s) < DURATION_MS / 1000:
            np.copyto(target, source)
            copies += 1
        return copies * 2 * BUFFER_BYTES / elapsed_s

    with ThreadPoolExecutor(len(CPUS)) as threads:
        return sum(threads.map(copied_per_s, CPUS))


def test_it_is_what_copies_of_another_library_move() -> None:
    """Other work on the machine makes any of them slower for a while: the best of each counts."""
    mine = theirs = 0.0
    for _ in range(MOST_TRIES):
        mine, theirs = max(mine, ours(CPUS)[0]), max(theirs, numpys())
        if is_alike := 1 / 3 < mine / theirs < 3:
            break
    assert is_alike, (mine, theirs)


def test_a_processor_that_others_use_moves_less_and_is_known_to() -> None:
    cpu = CPUS[0]
    alone, alone_share = max(ours([cpu]) for _ in range(TRIES))
    words = ["taskset", "--cpu-list", str(cpu), "sh", "-c", "while :; do :; done"]
    others = [subprocess.Popen(words) for _ in range(4)]
    try:
        shared, share = min(ours([cpu]) for _ in range(TRIES))
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert shared < 0.6 * alone
    assert share < 0.6
    assert share < alone_share <= 1.05


def test_what_can_not_be_measured_has_its_reason(quiet, tmp_path, golden) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        _native.measure_memory(cpus=[10**6], buffer_bytes=1, duration_ms=1)
    put(quiet.proc / "meminfo", "MemAvailable:    1024 kB\n")
    found = measured_memory(quiet, tmp_path)
    assert (found.bytes_per_s, found.measured) == (None, False)
    assert found.source == golden


def test_a_figure_of_processors_that_were_busy_does_not_count(quiet, tmp_path, planted) -> None:
    assert measured_memory(quiet, tmp_path).bytes_per_s == 5e9 * len(CPUS) + sum(CPUS)
    planted["share"] = 0.62
    found = measured_memory(quiet, tmp_path)
    assert (found.bytes_per_s, found.measured) == (None, False)
    assert found.source.endswith("not measured: other programs had the processors 38 % of the time")


@pytest.mark.usefixtures("planted")
def test_several_nodes_are_told_apart(quiet, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    for node, cpus in ((0, "0-1"), (1, "2-3")):
        put(quiet.sys / f"devices/system/node/node{node}/cpulist", f"{cpus}\n")
    found = measured_memory(quiet, tmp_path)
    assert found.bytes_per_s == 15e9 + 3
    assert found.source == (
        "read and written by copies on 3 processors at once, 100 ms: node 0 10.0 GB/s, node 1 5.0 GB/s"
    )


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("lock", "another run is on this host"),
        ("note", "another run is on this host: a target belongs to run "),
    ],
)
def test_a_run_that_goes_on_is_left_alone(how, said, quiet, tmp_path) -> None:
    with other_run(how, tmp_path):
        # who has what open is seen in /proc alone
        found = measured_memory(quiet if how == "lock" else SystemRoots(), tmp_path)
    assert not found.measured
    assert f"not measured: {said}" in found.source
    assert measured_memory(quiet, tmp_path).measured


@pytest.mark.usefixtures("planted")
def test_the_run_itself_is_no_other(quiet, tmp_path) -> None:
    with host_used(tmp_path, RunOwner.this_process("id", "drive", (), quiet), alone=False):
        assert measured_memory(quiet, tmp_path).measured


@pytest.mark.usefixtures("planted")
def test_two_batches_see_each_other(quiet, tmp_path) -> None:
    with other_run("lock", tmp_path):
        assert not memory_for_batch(new_run_id(), quiet, tmp_path).measured
    assert memory_for_batch(new_run_id(), quiet, tmp_path).measured
    # the batch has let go of the host
    with host_used(tmp_path, RunOwner.this_process("id", "drive", (), quiet), alone=True):
        assert measured_memory(quiet, tmp_path).measured


def test_caches_that_processors_share_count_once(quiet) -> None:
    for cpu in range(4):
        pair = ("0-1", "2-3")[cpu // 2]
        caches = enumerate([("1", "48K", str(cpu)), ("2", "2048K", str(cpu)), ("3", "32768K", pair)])
        for index, of_cache in caches:
            folder = quiet.sys / f"devices/system/cpu/cpu{cpu}/cache/index{index}"
            for name, text in zip(("level", "size", "shared_cpu_list"), of_cache, strict=True):
                put(folder / name, f"{text}\n")
    assert last_level_cache_bytes(range(4), quiet) == 2 * 32768 * KIB
    assert last_level_cache_bytes([0, 1], quiet) == 32768 * KIB
    assert last_level_cache_bytes([9], quiet) == 0


def test_a_run_of_a_batch_has_what_the_batch_measured(tmp_path, shelf, golden) -> None:
    memory = MemoryBandwidth(12.5 * GB, measured=True, source="of the batch")
    write_batch(tmp_path, Batch(batch_id="id", started_at="2026-11-23T12:00:00+00:00", memory=memory))
    run_folder = tmp_path / "1-a"
    owner = RunOwner.this_process("id", "batch", (), shelf)
    with folder_claimed(tmp_path, owner):
        assert memory_of_run(run_folder, [], shelf) == memory
    # a run of it that is resumed alone, later
    alone = memory_of_run(run_folder, [], shelf)
    drive = DrivenDrive.of_device(BlockDevice.of_name("nvme0n1", shelf), shelf)
    assert alone.source == golden
    assert memory_of_run(run_folder, [drive], shelf).source != alone.source


MANY = 64


def nvme(roots: SystemRoots, count: int, **rates: float) -> list[DrivenDrive]:
    """In slots from 4 on."""
    drives = []
    for number in range(count):
        device = BlockDevice.of_name(f"nvme{number}n1", roots)
        drives.append(replace(DrivenDrive.of_device(device, roots, str(4 + number)), **rates))
    return drives


def test_eight_drives_behind_one_uplink_would_need_eight_of_it(shelf, snapshot) -> None:
    for number in range(2):
        entry = put(shelf.sys / f"firmware/dmi/entries/17-{number}/raw", "")
        entry.write_bytes(module(3200))
    assert expected_limits(nvme(shelf, 8), 2, 800.0, shelf) == snapshot


@pytest.mark.parametrize(("rate", "said"), [(7.0 * GB, True), (7.2 * GB, False)])
def test_a_memory_that_was_measured_is_what_counts(rate, said, shelf, snapshot) -> None:
    """Twice the 3.53 GB/s that the drive can have, once a little less; its modules would do for both."""
    put(shelf.sys / "firmware/dmi/entries/17-0/raw", "").write_bytes(module(3200))
    memory = MemoryBandwidth(rate, measured=True, source="copies")
    drive = nvme(shelf, 1, bytes_per_s=3.53 * GB)
    found = [limit for limit in expected_limits(drive, MANY, None, shelf, memory) if "memory" in limit]
    assert bool(found) is said
    if said:
        assert found == snapshot


def test_one_drive_at_a_time_has_the_uplink_for_itself(shelf) -> None:
    assert expected_limits(nvme(shelf, 1), MANY, 100.0, shelf) == ()


@pytest.mark.parametrize(
    ("places", "said"),
    [((0, 1), "slots 4 and 5"), ((0, 1, 2), "slots 4 to 6"), ((0, 2, 5), "slots 4, 6 and 9")],
)
def test_drives_that_share_a_link_are_named_by_their_slots(places, said, shelf) -> None:
    drives = nvme(shelf, 8)
    (sentence,) = expected_limits([drives[place] for place in places], MANY, None, shelf)
    assert sentence.startswith(f"{said} share PCIe 3.0 x4")


def test_drives_that_are_slow_enough_fit(shelf) -> None:
    drives = nvme(shelf, 8, bytes_per_s=0.4 * GB, ios_per_s=50_000)
    assert expected_limits(drives, MANY, 500.0, shelf) == ()
    assert len(expected_limits(nvme(shelf, 8, bytes_per_s=0.5 * GB), MANY, None, shelf)) == 1


def test_neighbors_that_are_not_measured_are_named(shelf) -> None:
    (said,) = expected_limits(nvme(shelf, 2), MANY, None, shelf)
    assert said.endswith("and nvme2n1, nvme3n1, nvme4n1, nvme5n1, nvme6n1, nvme7n1 use it as well")


def test_disks_behind_an_expander_fit_through_two_phys_or_not(shelf) -> None:
    drives = [
        DrivenDrive.of_device(BlockDevice.of_name(name, shelf), shelf) for name in ("sda", "sdb", "sdc")
    ]
    # 12, 12 and 6 Gbit/s through 2 x 12
    (said,) = expected_limits(drives, MANY, None, shelf)
    assert said.startswith("sda, sdb and sdc share SAS 2 x 12 Gbit/s at port-0:0 (2.23 GB/s)")
    assert expected_limits(drives[1:], MANY, None, shelf) == ()


def test_a_drive_in_a_slow_slot(server, snapshot) -> None:
    drive = DrivenDrive.of_device(BlockDevice.of_name("nvme1n1", server), server)
    assert expected_limits([drive], MANY, 800.0, server) == snapshot


@pytest.mark.parametrize(("cpus", "quota", "said"), [(8, "max", 0), (4, "max", 1), (8, "400000", 1)])
def test_processors_are_those_that_a_control_group_leaves(cpus, quota, said, shelf) -> None:
    put(shelf.proc / "self/cgroup", "0::/\n")
    put(shelf.sys / "fs/cgroup/cpu.max", f"{quota} 100000\n")
    # 5 million I/Os at 500 ns: 2.5 processors, and as much again for the kernel
    drives = nvme(shelf, 5, bytes_per_s=1.0, ios_per_s=1_000_000)
    assert len(expected_limits(drives, cpus, 500.0, shelf)) == said


def test_a_drive_that_tells_nothing_is_not_judged(server) -> None:
    drive = DrivenDrive.of_device(BlockDevice.of_name("loop0", server), server)
    assert expected_limits([drive], 1, 10**6, server) == ()
