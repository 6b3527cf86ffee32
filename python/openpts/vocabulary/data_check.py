"""What a compressor leaves of the data that an engine makes: what a pattern is, beside what its name says."""

from dataclasses import dataclass

from openpts.vocabulary.data_pattern import DataPattern


@dataclass(frozen=True, slots=True)
class DataCheck:
    """A data pattern, and what is left of a sample of it, in per cent of its bytes.

    ``compressed_pct`` if each piece is compressed by itself; ``distinct_pct`` if each is kept once. ``how``
    names what made the sample and what compressed it. ``sampled_bytes`` is 0 where no bytes are made, as on a
    simulated drive: then the shares are what the model is told.
    """

    data: DataPattern
    compressed_pct: float
    distinct_pct: float
    sampled_bytes: int
    how: str
