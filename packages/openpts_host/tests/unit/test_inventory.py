"""What is left of the memory, as the kernel tells it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.system_files import SystemRoots
from openpts_host.inventory import host_facts, primary_storage_fact
from openpts_host.memory import available_memory_bytes, describe, memory_modules_fact
from tests import DATA

KEYS = [
    "system", "motherboard", "bios", "cpu", "cpu_clock", "cpu_package_power", "microcode", "memory",
    "memory_modules", "operating_system", "primary_storage", "peripherals", "virtualization",
]  # fmt: skip


def _values(roots: SystemRoots) -> dict[str, str | None]:
    facts = host_facts(roots)
    assert list(facts) == KEYS
    assert all(fact.source for fact in facts.values())
    return {key: fact.value for key, fact in facts.items()}


def test_a_server(server, golden) -> None:
    assert _values(server) == golden


def test_a_virtual_machine_on_arm(virtual_machine, golden) -> None:
    assert _values(virtual_machine) == golden


@pytest.mark.proves("SOL-SYS-01")
def test_a_laptop_tells_its_clocks_and_its_power(laptop) -> None:
    values = _values(laptop)
    assert values["cpu_clock"] == "2,400 MHz base, 4,200 MHz at most"
    assert values["cpu_package_power"] == "15 W long term, 51 W short term"
    assert values["microcode"] == "0xa6"
    assert values["bios"] == "LENOVO N32ET75W (1.51 ) 12/02/2021"


def test_processors_with_two_kinds_of_cores_tell_both(laptop) -> None:
    policy = laptop.sys / "devices/system/cpu/cpufreq/policy1"
    (policy / "base_frequency").write_text("1800000\n")
    (policy / "cpuinfo_max_freq").write_text("3100000\n")
    assert (
        _values(laptop)["cpu_clock"] == "2,400 MHz base, 4,200 MHz at most; 1,800 MHz base, 3,100 MHz at most"
    )


def test_what_cannot_be_read_is_left_open(malformed) -> None:
    values = _values(malformed)
    assert values.pop("peripherals") == "storage: a function without an ID"
    assert values.pop("virtualization") == "none seen"
    assert set(values.values()) == {None}


def test_an_empty_machine_raises_nothing(server) -> None:
    nothing = server.sys / "nothing"
    values = _values(SystemRoots(nothing, nothing, nothing, nothing, nothing))
    assert values.pop("virtualization") == "none seen"
    assert set(values.values()) == {None}


def test_the_processor_tells_that_it_is_virtual(server) -> None:
    (server.proc / "cpuinfo").write_text("model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm\n")
    assert _values(server)["virtualization"] == "virtual machine (Supermicro AS -2015HS-TNR)"


def test_the_firmware_tells_that_it_is_virtual(server) -> None:
    (server.sys / "class/dmi/id/sys_vendor").write_text("QEMU\n")
    assert _values(server)["virtualization"] == "virtual machine (QEMU AS -2015HS-TNR)"


def test_this_machine_is_described() -> None:
    values = _values(SystemRoots())
    assert values["memory"] is not None
    assert values["operating_system"] is not None


@pytest.mark.parametrize(
    ("meminfo", "expected"),
    [
        ("MemTotal:  100 kB\nMemAvailable:   16384 kB\n", 16384 * 1024),
        ("MemTotal:  100 kB\n", None),
        ("MemAvailable:   many kB\n", None),
        ("MemAvailable:   16384\n", None),
    ],
)
def test_it_is_read_from_meminfo(tmp_path, meminfo, expected) -> None:
    (tmp_path / "meminfo").write_text(meminfo)
    assert available_memory_bytes(SystemRoots(proc=tmp_path)) == expected


def test_a_machine_without_meminfo_tells_nothing(tmp_path) -> None:
    assert available_memory_bytes(SystemRoots(proc=tmp_path)) is None


QEMU = (DATA / "dmi/qemu-memory-device.bin").read_bytes()


def device(
    size: int, *, extended_mib: int = 0, kind: int = 0x1A, speed: int = 3200, configured: int = 2933
) -> bytes:
    """A structure of type 17 as of version 3.2, 84 bytes long."""
    formatted = bytearray(84)
    formatted[0:2] = bytes((17, len(formatted)))
    formatted[0x0C:0x0E] = size.to_bytes(2, "little")
    formatted[0x10] = 1
    formatted[0x12] = kind
    formatted[0x15:0x17] = speed.to_bytes(2, "little")
    formatted[0x17], formatted[0x18], formatted[0x1A] = 2, 3, 4
    formatted[0x1C:0x20] = extended_mib.to_bytes(4, "little")
    formatted[0x20:0x22] = configured.to_bytes(2, "little")
    return bytes(formatted) + b"DIMM A1\0Samsung\0S3R1AL\0M393A4K40DB3-CWE   \0\0"


def test_a_module_as_qemu_has_it() -> None:
    assert describe(QEMU) == "1 GiB QEMU"


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        (device(16384), "16 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE"),
        (device(16384, configured=0), "16 GiB DDR4 3200 MT/s Samsung M393A4K40DB3-CWE"),
        (device(16384, configured=0xFFFF, speed=0), "16 GiB DDR4 Samsung M393A4K40DB3-CWE"),
        # 0x7FFF: the size is in the extended field, in MiB
        (device(0x7FFF, extended_mib=65536, kind=0x22), "64 GiB DDR5 2933 MT/s Samsung M393A4K40DB3-CWE"),
        # bit 15: in KiB
        (device(0x8000 | 0x4000), "0.015625 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE"),
        (device(512, kind=0x02), "0.5 GiB 2933 MT/s Samsung M393A4K40DB3-CWE"),
        (device(0), None),
        (device(0xFFFF), None),
        (device(0x7FFF), None),
        (b"", None),
        (b"\x11\x15" + bytes(19), None),
    ],
)
def test_sizes_kinds_and_speeds(structure, text) -> None:
    assert describe(structure) == text


@given(st.binary(max_size=200))
def test_no_bytes_of_a_firmware_break_it(content) -> None:
    text = describe(content)
    assert text is None or text.isprintable()


@pytest.mark.proves("SOL-SYS-02")
def test_modules_that_are_alike_are_counted(laptop) -> None:
    folder = laptop.sys / "firmware/dmi/entries"
    for number, structure in enumerate((device(16384), device(0), device(16384), device(8192))):
        entry = folder / f"17-{number}"
        entry.mkdir(parents=True)
        (entry / "raw").write_bytes(structure)
    assert memory_modules_fact(laptop).value == (
        "2 x 16 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE, "
        "1 x 8 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE"
    )


def test_who_is_not_root_is_told_so(laptop, monkeypatch, golden) -> None:
    entry = laptop.sys / "firmware/dmi/entries/17-0"
    entry.mkdir(parents=True)
    (entry / "raw").write_bytes(device(16384))

    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    fact = memory_modules_fact(laptop)
    assert fact.value is None
    assert fact.source == golden


def _with_root(roots: SystemRoots, *lines: str) -> str | None:
    (roots.proc / "self/mountinfo").write_text("".join(f"{line}\n" for line in lines))
    return primary_storage_fact(roots).value


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("1 0 259:2 / / rw - ext4 /dev/nvme1n1p1 rw", "ext4 on WD_BLACK SN850X 1000GB (nvme1n1, 1,000 GB)"),
        ("1 0 8:16 / / rw - xfs /dev/sdb rw", "xfs on XS1600LE70084 (sdb, 1,600 GB)"),
        ("1 0 0:44 / / rw - btrfs /dev/sdb rw", "btrfs on XS1600LE70084 (sdb, 1,600 GB)"),
        ("1 0 7:0 / / rw - squashfs /dev/loop0 ro", "squashfs on loop0 (1.05 MB)"),
        ("1 0 0:24 / / rw - overlay overlay rw", "overlay on overlay"),
        ("1 0 0:50 / / rw - nfs4 server:/export rw", "nfs4 on server:/export"),
    ],
)
def test_the_drive_below_the_root(line, text, server) -> None:
    assert _with_root(server, line) == text


def test_what_was_mounted_last_over_the_root_counts(server) -> None:
    lines = ("1 0 0:1 / / rw - rootfs rootfs rw", "27 1 8:16 / / rw - xfs /dev/sdb rw")
    assert _with_root(server, *lines) == "xfs on XS1600LE70084 (sdb, 1,600 GB)"


def test_no_root_is_left_open(server) -> None:
    assert _with_root(server, "1 0 0:1 / /proc rw - proc proc rw") is None
