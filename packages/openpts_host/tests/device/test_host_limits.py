"""The host as the limit, planted on this machine's processors and links, and whether it is found."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts.units import MB, MIB, NS_PER_S

LOAD_S = 4
LEAST_FOUND = 0.99
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
BLKIO = Path("/sys/fs/cgroup/blkio")
BURN = "import os\nos.sched_setaffinity(0, {0})\nos.nice(-15)\nwhile True: pass"


def load(node: Path, *options: object) -> dict[str, Any]:
    """What the load printed."""
    words = [str(node), str(LOAD_S), *map(str, options)]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.limited_load", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def share(found: dict[str, Any], begins: str) -> float:
    """How many of the seconds a value with such a name marks; without the last, which is cut off."""
    seconds = found["seconds"][:-1]
    assert None not in seconds
    marked = [any(name.startswith(begins) for name in marks) for marks in seconds]
    return sum(marked) / len(marked)


@contextlib.contextmanager
def control_group(top: Path, **limits: object) -> Iterator[Path]:
    group = top / f"openpts-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {top}: {error.strerror}")
    try:
        for name, value in limits.items():
            (group / name.replace("__", ".")).write_text(str(value))
        yield group
    except FileNotFoundError as error:
        pytest.skip(f"{error.filename} is missing: control groups limit nothing here")
    finally:
        group.rmdir()


@contextlib.contextmanager
def a_twentieth_of_a_processor() -> Iterator[Path]:
    if V1.is_dir():
        with control_group(V1, cpu__cfs_period_us=100_000, cpu__cfs_quota_us=5_000) as group:
            yield group
    else:
        with control_group(V2, cpu__max="5000 100000") as group:
            yield group


@pytest.mark.slow
def test_a_quota_that_is_used_up_is_found(attach_memory: Callable[[int], Path]) -> None:
    node = attach_memory(64 * MIB)
    with a_twentieth_of_a_processor() as group:
        found = load(node, "--group", group)
        throttled = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    assert int(throttled["nr_throttled"]) > 0
    assert share(found, "") >= LEAST_FOUND
    # in other seconds the host's other work left it less than the quota
    assert share(found, "cpu_quota") > 0.5


@pytest.fixture
def burning() -> Iterator[None]:
    """Two programs that take all that they get of processor 0, with more weight than others."""
    if 0 not in os.sched_getaffinity(0):
        pytest.skip("this process may not run on processor 0")
    programs = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("burning")
def test_a_processor_that_others_take_is_found(attach_memory: Callable[[int], Path]) -> None:
    found = load(attach_memory(64 * MIB), "--cpus", 0)
    assert share(found, "cpu_engine_busy") >= LEAST_FOUND
    assert share(found, "engine_wait") >= 0.8


# PCIe 1.0 x1: 250 MB/s after the line code, 221.7 MB/s for data in packets of 256 B
CARRIED_BYTES_PER_S = 250 * MB * 256 / 280 * 0.97


@pytest.fixture
def behind_a_slow_link(tmp_path: Path) -> Callable[[Path], Path]:
    """A machine on which the loop device, under its own name, is one of two drives behind PCIe 1.0 x1."""

    def made(node: Path) -> Path:
        top = tmp_path / "sys"
        bridge = top / "devices/pci0000:00/0000:00:01.0"
        for slot, disk in enumerate((node.name, "nvme9n1")):
            function = bridge / f"0000:01:0{slot}.0"
            folder = function / f"nvme/nvme{slot}/{disk}"
            folder.mkdir(parents=True)
            (folder / "size").write_text("131072\n")
            (folder / "dev").write_text("7:0\n")
            for name in ("current", "max"):
                (function / f"{name}_link_speed").write_text("8.0 GT/s PCIe\n")
                (function / f"{name}_link_width").write_text("4\n")
            for place in ("class/block", "block"):
                (top / place).mkdir(parents=True, exist_ok=True)
                (top / place / disk).symlink_to(folder)
        (bridge / "current_link_speed").write_text("2.5 GT/s PCIe\n")
        (bridge / "current_link_width").write_text("1\n")
        return top

    return made


def planted(found: dict[str, Any]) -> list[int]:
    """The seconds in which the drive, as the engine counted, filled the link, and in those beside them."""
    full = [rate_per_ns * NS_PER_S >= CARRIED_BYTES_PER_S for rate_per_ns in found["rates"]]
    return [number for number in range(1, len(full) - 1) if all(full[number - 1 : number + 2])]


@pytest.mark.parametrize("of_the_link", [3, pytest.param(0.5, marks=pytest.mark.slow)])
@pytest.mark.long("seconds in which a link is full, and others before and after")
def test_a_full_link_is_found_and_a_drive_that_is_slower_is_not(
    of_the_link: float,
    attach_memory: Callable[[int], Path],
    behind_a_slow_link: Callable[[Path], Path],
    roots: SystemRoots,
) -> None:
    node = attach_memory(64 * MIB)
    number = BlockDevice.of_node(node, roots).number
    limit = round(of_the_link * CARRIED_BYTES_PER_S)
    top = BLKIO if BLKIO.is_dir() else V2
    rule = (
        {"blkio__throttle__read_bps_device": f"{number} {limit}"}
        if top is BLKIO
        else {"io__max": f"{number} rbps={limit}"}
    )
    with control_group(top, **rule) as group:
        options = ("--block-kib", 128, "--sys", behind_a_slow_link(node), "--disk", node.name)
        found = load(node, *options, "--group", group)
    marked = [any(name.startswith("path_") for name in marks) for marks in found["seconds"]]
    if of_the_link < 1:
        assert not any(marked)
        assert found["highest"]["path_0_use_pct"] < 75
        return
    full = planted(found)
    if not full:
        pytest.skip("other work kept the drive from filling the link")
    assert sum(marked[number] for number in full) >= LEAST_FOUND * len(full)
