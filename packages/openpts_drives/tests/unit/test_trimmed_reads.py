"""What is promised of reads of trimmed LBAs, and what is found on targets that keep it or don't."""

import os
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from openpts.device import trimmed_reads as module
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError
from openpts.device.targets.open_target import OpenTarget
from openpts.device.trimmed_reads import promise_of, refuse_without_trim, trimmed_reads
from openpts.errors import RunFailedError, TargetError
from openpts.system_files import SystemRoots
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.trimmed_reads import Promise, PromiseKept, TrimmedReads
from tests.support.identify_words import set_word
from tests.support.nvme_answers import identify_namespace
from tests.support.nvme_machine import add_namespace

SIZE_BYTES = 20 * MIB
SECTOR_BYTES = 512


@pytest.fixture
def file(tmp_path) -> Iterator[OpenTarget]:
    path = tmp_path / "target"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.truncate(fd, SIZE_BYTES)
    yield OpenTarget(fd, TargetFacts(TargetKind.FILE, "target", str(path), SIZE_BYTES, SECTOR_BYTES), None)
    os.close(fd)


def asked(device: BlockDevice) -> TrimmedReads:
    facts = TargetFacts(TargetKind.BLOCK, device.name, str(device.node), SIZE_BYTES, SECTOR_BYTES)
    return promise_of(OpenTarget(-1, facts, device))


@pytest.mark.parametrize(
    ("word", "promise"),
    [
        (1 << 14 | 1 << 5, Promise.ZEROS),
        (1 << 14, Promise.DETERMINISTIC),
        (1 << 5, Promise.NONE),
        (0, Promise.NONE),
    ],
)
def test_what_an_ata_drive_promises(word, promise, server) -> None:
    drive = BlockDevice.of_name("sda", server)
    set_word(drive, 69, word)
    found = asked(drive)
    assert (found.promise, found.advisory) == (promise, False)


# SBC-4: LBPRZ is bits 4 to 2 of byte 5
@pytest.mark.parametrize(
    ("byte", "promise"),
    [
        (0b00100, Promise.ZEROS),
        (0b11100, Promise.ZEROS),
        (0b01000, Promise.DETERMINISTIC),
        (0b00011, Promise.NONE),
    ],
)
def test_what_a_scsi_drive_promises(byte, promise, server) -> None:
    drive = BlockDevice.of_name("sdb", server)
    assert asked(drive).promise is Promise.UNKNOWN
    (drive.folder / "device/vpd_pgb2").write_bytes(bytes((0, 0xB2, 0, 4, 0, byte, 0, 0)))
    assert asked(drive).promise is promise


@pytest.mark.parametrize(("dlfeat", "promise"), [(9, Promise.ZEROS), (2, Promise.ONES), (8, Promise.NONE)])
def test_what_an_nvme_drive_promises(dlfeat, promise, tmp_path, monkeypatch) -> None:
    roots = SystemRoots(*(tmp_path / name for name in ("sys", "proc", "dev", "etc", "share")))
    drive = add_namespace(roots, "nvme0n1")
    queue = drive.folder / "queue"
    queue.mkdir()
    for name, value in (("discard_max_bytes", 2**31), ("discard_granularity", 4096)):
        (queue / name).write_text(f"{value}\n")
    answer = bytearray(identify_namespace())
    answer[33] = dlfeat
    monkeypatch.setattr(module, "identify_namespace", lambda _fd, _nsid: bytes(answer))
    found = asked(drive)
    assert (found.promise, found.source, found.advisory) == (promise, f"NVMe DLFEAT {dlfeat:#x}", True)
    assert (found.limits.most_bytes, found.limits.granularity_bytes) == (2**31, 4096)

    def fail(_fd: int, _nsid: int) -> bytes:
        raise NvmeCommandError("status 0x2")

    monkeypatch.setattr(module, "identify_namespace", fail)
    assert asked(drive).promise is Promise.UNKNOWN


def test_what_the_kernel_makes_promises_nothing_known(server) -> None:
    assert asked(BlockDevice.of_name("loop0", server)).promise is Promise.UNKNOWN


def test_a_drive_without_trim_is_refused(server) -> None:
    drive = BlockDevice.of_name("sda", server)
    (drive.folder / "queue").mkdir(exist_ok=True)
    place = drive.folder / "queue/discard_max_bytes"
    place.unlink(missing_ok=True)
    for value, told in ((None, "is missing"), ("0\n", "is 0")):
        if value is not None:
            place.write_text(value)
        with pytest.raises(TargetError) as refused:
            refuse_without_trim(drive)
        where = drive.place("queue/discard_max_bytes")
        assert str(refused.value).startswith(f"{drive.node} can't be trimmed: {where} {told}")
    place.write_text("4096\n")
    refuse_without_trim(drive)
    # of a file only the file system knows
    refuse_without_trim(None)


def test_a_trimmed_file_reads_zeros(file) -> None:
    found = trimmed_reads(file, 0, SIZE_BYTES, 1)
    assert (found.promise, found.kept, found.seen) == (Promise.UNKNOWN, PromiseKept.UNKNOWN, "zeros")
    assert found.sectors == found.zeros == 16 * MIB // SECTOR_BYTES


def test_only_the_range_is_written(file) -> None:
    os.pwrite(file.fd, b"\xaa" * SIZE_BYTES, 0)
    trimmed_reads(file, 5 * MIB, 9 * MIB, 1)
    left = os.pread(file.fd, SIZE_BYTES, 0)
    assert left == b"\xaa" * 5 * MIB + bytes(4 * MIB) + b"\xaa" * 11 * MIB


def test_a_range_without_room_is_not_read(file) -> None:
    found = trimmed_reads(file, 0, 512 * KIB, 1)
    assert (found.sectors, found.kept) == (0, PromiseKept.UNKNOWN)
    assert found.seen.startswith("n/a: the range is too small")


def trimming(contents: bytes | None) -> object:
    """A trim that leaves these bytes, or all as it was."""

    def trim(fd: int, length_bytes: int, offset_bytes: int) -> None:
        if contents is not None:
            os.pwrite(fd, (contents * length_bytes)[:length_bytes], offset_bytes)

    return trim


@pytest.mark.parametrize(
    ("contents", "seen"), [(None, "old data"), (b"\xff", "ones"), (b"\x5a", "other data"), (b"\0", "zeros")]
)
def test_what_a_drive_leaves_is_named(contents, seen, file, monkeypatch) -> None:
    monkeypatch.setattr(module, "deallocate", trimming(contents))
    assert trimmed_reads(file, 0, SIZE_BYTES, 1).seen == seen


def test_data_that_change_from_read_to_read_are_named(file, monkeypatch) -> None:
    """The first sector of each place."""
    reads, read = [], module._read

    def changing(fd: int, buffer: memoryview, offset_bytes: int) -> bytes:
        reads.append(offset_bytes)
        found = read(fd, buffer, offset_bytes)
        after_trims = len(reads) > 16
        return bytes([len(reads)]) * SECTOR_BYTES + found[SECTOR_BYTES:] if after_trims else found

    monkeypatch.setattr(module, "_read", changing)
    found = trimmed_reads(file, 0, SIZE_BYTES, 1)
    assert (found.unstable, found.zeros) == (16, 16 * MIB // SECTOR_BYTES - 16)
    assert found.seen == "zeros 100 %, non-deterministic 0.0488 %"


def test_a_target_that_loses_what_was_written_ends_the_run(file, monkeypatch) -> None:
    monkeypatch.setattr(module, "_read", lambda _fd, buffer, _offset: bytes(len(buffer)))
    with pytest.raises(RunFailedError, match="can't find out what trimmed LBAs of"):
        trimmed_reads(file, 0, SIZE_BYTES, 1)


@pytest.mark.parametrize(
    ("promise", "advisory", "counts", "kept"),
    [
        (Promise.ZEROS, False, {"zeros": 8}, PromiseKept.AS_PROMISED),
        (Promise.ZEROS, False, {"zeros": 7, "old": 1}, PromiseKept.NOT_AS_PROMISED),
        (Promise.ZEROS, True, {"zeros": 7, "old": 1}, PromiseKept.AS_PROMISED),
        (Promise.ZEROS, True, {"zeros": 7, "other": 1}, PromiseKept.NOT_AS_PROMISED),
        (Promise.ONES, True, {"ones": 8}, PromiseKept.AS_PROMISED),
        (Promise.DETERMINISTIC, False, {"old": 4, "other": 4}, PromiseKept.AS_PROMISED),
        (Promise.DETERMINISTIC, False, {"zeros": 7, "unstable": 1}, PromiseKept.NOT_AS_PROMISED),
        (Promise.NONE, False, {"unstable": 8}, PromiseKept.NO_PROMISE),
        (Promise.UNKNOWN, False, {"zeros": 8}, PromiseKept.UNKNOWN),
    ],
)
def test_the_verdict(promise, advisory, counts, kept) -> None:
    found = replace(TrimmedReads(promise, "made up", advisory=advisory, sectors=8), **counts)
    assert found.kept is kept
