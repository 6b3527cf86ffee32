"""Memory modules as the firmware lists them: one of QEMU, others put together from the specification."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.host.memory import describe, memory_modules_fact
from openpts.system_files import SystemRoots
from tests.support.transcript import Golden

QEMU = (Path(__file__).parents[2] / "data/dmi/qemu-memory-device.bin").read_bytes()


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
def test_sizes_kinds_and_speeds(structure: bytes, text: str | None) -> None:
    assert describe(structure) == text


@given(st.binary(max_size=200))
def test_no_bytes_of_a_firmware_break_it(content: bytes) -> None:
    text = describe(content)
    assert text is None or text.isprintable()


@pytest.mark.proves("SOL-SYS-02")
def test_modules_that_are_alike_are_counted(laptop: SystemRoots) -> None:
    folder = laptop.sys / "firmware/dmi/entries"
    for number, structure in enumerate((device(16384), device(0), device(16384), device(8192))):
        entry = folder / f"17-{number}"
        entry.mkdir(parents=True)
        (entry / "raw").write_bytes(structure)
    assert memory_modules_fact(laptop).value == (
        "2 x 16 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE, "
        "1 x 8 GiB DDR4 2933 MT/s Samsung M393A4K40DB3-CWE"
    )


def test_who_is_not_root_is_told_so(
    laptop: SystemRoots, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    entry = laptop.sys / "firmware/dmi/entries/17-0"
    entry.mkdir(parents=True)
    (entry / "raw").write_bytes(device(16384))

    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    fact = memory_modules_fact(laptop)
    assert fact.value is None
    assert fact.source == golden
