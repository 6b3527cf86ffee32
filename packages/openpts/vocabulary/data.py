"""What is written: the data pattern (PTS 2.1.5, 3.5), and what a compressor leaves of it."""

from msgspec import Struct


class RandomData(Struct, frozen=True, tag="random"):
    """Random bytes, fresh for every write; what the specification requires."""


class RandomOnce(Struct, frozen=True, tag="random_once"):
    """Random bytes, made once for each buffer and written again and again."""


class ZeroData(Struct, frozen=True, tag="zero"):
    """Zero bytes."""


class PatternData(Struct, frozen=True, tag="pattern"):
    """``pattern`` again and again, from the first byte of each write on."""

    pattern: bytes


class ReducibleData(Struct, frozen=True, tag="reducible"):
    """Granules of ``entropy_pct`` of the entropy of random bytes; ``duplicate_pct`` of them are copies."""

    entropy_pct: float
    duplicate_pct: float = 0
    granule_bytes: int = 4096


class VerifiedData(Struct, frozen=True, tag="verified"):
    """Every sector has LBA, generation and checksum; reads are verified against this generation."""

    generation: int


DataPattern = RandomData | RandomOnce | ZeroData | PatternData | ReducibleData | VerifiedData


class DataCheck(Struct, frozen=True):
    """A data pattern, and what is left of a sample of it, in per cent of its bytes.

    ``compressed_pct`` if each piece is compressed by itself; ``distinct_pct`` if each is kept once. ``how``
    names what made the sample and what compressed it. ``sampled_bytes`` is 0 where no bytes are made, as on a
    simulated drive: then the shares are what the model is given.
    """

    data: DataPattern
    compressed_pct: float
    distinct_pct: float
    sampled_bytes: int
    how: str
