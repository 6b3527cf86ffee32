"""What a job writes, and whether what it reads is checked."""

import re
from typing import Final

from openpts.vocabulary.data import (
    DataPattern,
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)
from openpts_fio.jobs.directions import Direction
from openpts_fio.jobs.job import Job

_MOST_PATTERN_BYTES: Final = 512
_GENERATION: Final = 1
_HEXADECIMAL: Final = re.compile(r"0[xX]([0-9a-fA-F]+)")
_CHECKSUMS: Final = (
    *("crc7", "crc16", "crc32", "crc32c", "crc32c-intel", "crc64", "md5", "meta", "xxhash"),
    *("sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512"),
)


def is_verified(job: Job) -> bool:
    """Whether the job checks data. Raises JobError where it does so in another sense."""
    given = job.text("verify", "0")
    if given in {"0", "null"}:
        return False
    if given not in _CHECKSUMS:
        raise job.error("verify", f"is none of {', '.join(_CHECKSUMS)}")
    return True


def data_of_job(job: Job, directions: tuple[Direction, ...]) -> DataPattern:
    """What it writes; random data where it writes nothing. Raises JobError."""
    if is_verified(job):
        return VerifiedData(_GENERATION)
    if all(one.operation != "write" for one in directions):
        return RandomData()
    if job.flag("zero_buffers"):
        return ZeroData()
    if job.given("buffer_pattern") is not None:
        return _pattern(job)
    compressed_pct = job.number("buffer_compress_percentage", 0)
    duplicate_pct = job.number("dedupe_percentage", 0)
    for name, pct in (("buffer_compress_percentage", compressed_pct), ("dedupe_percentage", duplicate_pct)):
        if pct > 100:
            raise job.error(name, "is above 100")
    if compressed_pct or duplicate_pct:
        return _reducible(job, directions, compressed_pct, duplicate_pct)
    if job.flag("refill_buffers") or job.flag("scramble_buffers", default=True):
        return RandomData()
    return RandomOnce()


def _reducible(
    job: Job, directions: tuple[Direction, ...], compressed_pct: int, duplicate_pct: int
) -> ReducibleData:
    smallest_bytes = min(one.smallest_bytes for one in directions if one.operation == "write")
    chunk_bytes = min(job.number("buffer_compress_chunk", 0) or smallest_bytes, smallest_bytes)
    if duplicate_pct and chunk_bytes != smallest_bytes:
        raise job.error("dedupe_percentage", "of blocks, beside compressible parts of blocks")
    return ReducibleData(100 - compressed_pct, duplicate_pct, chunk_bytes)


def _pattern(job: Job) -> DataPattern:
    """``0xdeadbeef`` or ``"text"``. Raises JobError."""
    text = job.text("buffer_pattern", "")
    if text.startswith('"') and text.endswith('"') and len(text) > 2:
        pattern = text[1:-1].encode()
    elif (found := _HEXADECIMAL.fullmatch(text)) and len(found[1]) % 2 == 0:
        pattern = bytes.fromhex(found[1])
    else:
        raise job.error("buffer_pattern", 'is neither 0x with an even number of digits nor "text"')
    if len(pattern) > _MOST_PATTERN_BYTES:
        raise job.error("buffer_pattern", f"is longer than {_MOST_PATTERN_BYTES} bytes")
    return PatternData(pattern)
