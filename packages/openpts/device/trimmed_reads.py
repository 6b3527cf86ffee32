"""What trimmed LBAs of a target read as: what is promised, and what is found where marks were trimmed."""

import errno
import math
import os
import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.device.ata_identify import VPD_PAGE, read_ata_identity
from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import deallocate, discard
from openpts.device.nvme_admin import NvmeCommandError, NvmeNamespace, identify_namespace
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import aligned_buffer
from openpts.errors import RunFailedError, TargetError, failing_as
from openpts.system_files import read_bytes
from openpts.units import KIB, MIB
from openpts.vocabulary.trimmed_reads import Promise, TrimLimits, TrimmedReads

PLACES: Final = 16
_PIECE_BYTES: Final = MIB
_MOST_BYTES: Final = 64 * MIB  # they are in memory meanwhile
_UNIT_BYTES: Final = 4 * KIB
_MOST_BYTES_PLACE: Final = "queue/discard_max_bytes"

# SBC-4, logical block provisioning VPD page: byte 5, bits 4 to 2
_SCSI_PROVISIONING_PAGE: Final = "device/vpd_pgb2"
_LBPRZ_ZEROS: Final = 0b001
_LBPRZ_PATTERN: Final = 0b010


def trim_limits(device: BlockDevice | None) -> TrimLimits:
    """What sysfs shows; of NVMe drives the kernel derives it from DMRSL or takes what a range holds."""
    if device is None:
        return TrimLimits(source="a file: the file system releases whole blocks")
    return TrimLimits(
        device.integer(_MOST_BYTES_PLACE),
        device.integer("queue/discard_max_hw_bytes"),
        device.integer("queue/discard_granularity"),
        str(device.place("queue/discard_*")),
    )


def refuse_without_trim(device: BlockDevice | None) -> None:
    """Raise TargetError if the kernel sends no trims to a drive. A file system says so at a trim alone."""
    if device is None or device.integer(_MOST_BYTES_PLACE):
        return
    state = "is 0" if device.integer(_MOST_BYTES_PLACE) == 0 else "is missing"
    raise TargetError(
        f"{device.node} can't be trimmed: {device.place(_MOST_BYTES_PLACE)} {state}, so the kernel sends no "
        "discard; use a drive with TRIM, UNMAP or Deallocate"
    )


def promise_of(target: OpenTarget) -> TrimmedReads:
    """What the target promises, with nothing read yet; never raises."""
    device = target.device
    limits = trim_limits(device)
    if device is None:
        return TrimmedReads(Promise.UNKNOWN, "a file: what a drive below it promises is not known", limits)
    if device.kind is DeviceKind.NVME:
        promise, source = _nvme_promise(target.fd, device)
        return TrimmedReads(promise, source, limits, advisory=True)
    if device.kind is DeviceKind.ATA:
        return TrimmedReads(*_ata_promise(device), limits)
    if device.kind is DeviceKind.SCSI:
        return TrimmedReads(*_scsi_promise(device), limits, advisory=True)
    return TrimmedReads(Promise.UNKNOWN, f"{device.kind} reports no promise", limits)


def _nvme_promise(fd: int, device: BlockDevice) -> tuple[Promise, str]:
    try:
        namespace = NvmeNamespace.parse(identify_namespace(fd, device.whole.integer("nsid") or 1))
    except (OSError, ValueError, NvmeCommandError) as error:
        return Promise.UNKNOWN, f"NVMe Identify Namespace failed: {error}"
    promises = {"zeros": Promise.ZEROS, "ones": Promise.ONES}
    return promises.get(namespace.reads_as or "", Promise.NONE), f"NVMe DLFEAT {namespace.dlfeat:#x}"


def _ata_promise(device: BlockDevice) -> tuple[Promise, str]:
    identity = read_ata_identity(device)
    if identity is None:
        return Promise.UNKNOWN, f"{device.place(VPD_PAGE)} can't be read"
    deterministic, zeros = identity.deterministic_after_trim, identity.zeros_after_trim
    source = f"IDENTIFY DEVICE word 69: DRAT {deterministic:d}, RZAT {zeros:d}"
    if not deterministic:
        return Promise.NONE, source
    return Promise.ZEROS if zeros else Promise.DETERMINISTIC, source


def _scsi_promise(device: BlockDevice) -> tuple[Promise, str]:
    place = device.place(_SCSI_PROVISIONING_PAGE)
    page = read_bytes(device.folder / _SCSI_PROVISIONING_PAGE) or b""
    if len(page) <= 5:
        return Promise.UNKNOWN, f"{place} can't be read"
    lbprz = page[5] >> 2 & 0b111
    if lbprz & _LBPRZ_ZEROS:
        return Promise.ZEROS, f"{place}: LBPRZ {lbprz}"
    return Promise.DETERMINISTIC if lbprz == _LBPRZ_PATTERN else Promise.NONE, f"{place}: LBPRZ {lbprz}"


def trimmed_reads(target: OpenTarget, start_bytes: int, end_bytes: int, seed: int) -> TrimmedReads:
    """Write marks within a range, read them back, trim them, and read what is there now, twice.

    Raises RunFailedError if the target can't be written, trimmed or read, or does not hold what was written.
    """
    promised = promise_of(target)
    unit_bytes = math.lcm(_UNIT_BYTES, target.facts.sector_bytes, promised.limits.granularity_bytes or 1)
    piece_bytes = -(-_PIECE_BYTES // unit_bytes) * unit_bytes
    first = -(-start_bytes // piece_bytes)
    pieces = end_bytes // piece_bytes - first
    count = min(PLACES, pieces, _MOST_BYTES // piece_bytes)
    if count < 1:
        return replace(promised, reason="the range is too small, or the drive trims very large units only")
    offsets = [(first + number * pieces // count) * piece_bytes for number in range(count)]
    chance = random.Random(seed)  # noqa: S311 marks, no secret
    unknown = failing_as(RunFailedError, f"can't find out what trimmed LBAs of {target.facts.path} read as")
    with unknown, aligned_buffer(piece_bytes) as buffer:
        marks = {offset: chance.randbytes(piece_bytes) for offset in offsets}
        for offset, mark in marks.items():
            buffer[:] = mark
            _whole(os.pwritev(target.fd, [buffer], offset), piece_bytes)
        os.fsync(target.fd)
        if any(_read(target.fd, buffer, offset) != mark for offset, mark in marks.items()):
            raise OSError(errno.EIO, "sectors read back unlike they were written")
        for offset in offsets:
            if target.device is None:
                deallocate(target.fd, piece_bytes, offset)
            else:
                discard(target.fd, offset, piece_bytes)
        first_reads = [_read(target.fd, buffer, offset) for offset in offsets]
        second_reads = [_read(target.fd, buffer, offset) for offset in offsets]
    return _counted(promised, target.facts.sector_bytes, tuple(marks.values()), first_reads, second_reads)


def _counted(
    promised: TrimmedReads,
    sector_bytes: int,
    marks: Sequence[bytes],
    first: Sequence[bytes],
    second: Sequence[bytes],
) -> TrimmedReads:
    """Each sector by what both reads returned."""
    kinds = Counter[str]()
    for mark, one, two in zip(marks, first, second, strict=True):
        for at in range(0, len(mark), sector_bytes):
            part = slice(at, at + sector_bytes)
            kinds[_kind(mark[part], one[part], two[part])] += 1
    return replace(promised, sectors=kinds.total(), **{kind: kinds[kind] for kind in _KINDS})


_KINDS: Final = ("zeros", "ones", "old", "other", "unstable")
"""What a sector can read as: fields of TrimmedReads."""


def _kind(mark: bytes, one: bytes, two: bytes) -> str:
    if one != two:
        return "unstable"
    if one == mark:
        return "old"
    if not one.strip(b"\x00"):
        return "zeros"
    return "other" if one.strip(b"\xff") else "ones"


def _read(fd: int, buffer: memoryview, offset_bytes: int) -> bytes:
    _whole(os.preadv(fd, [buffer], offset_bytes), len(buffer))
    return bytes(buffer)


def _whole(transferred_bytes: int, length_bytes: int) -> None:
    if transferred_bytes != length_bytes:
        raise OSError(errno.EIO, f"{transferred_bytes} of {length_bytes} bytes transferred")
