"""Benchmarks, and the rows that their users know, each with all that makes its figure.

Those that ship are TOML files of ``CATALOGUE``.
"""

from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.units import format_block_size
from openpts.vocabulary.stimulus import AccessPattern, BlockSize, DataPattern
from openpts.vocabulary.verdict import Better

CATALOGUE: Final = Path(__file__).parent / "catalogue"

NAMES: Final = tuple(sorted(path.stem for path in CATALOGUE.glob("*.toml")))
"""What the benchmarks are called, without a look into their files."""


def is_path(word: str) -> bool:
    """Whether a word means a file of the operator's own, and not one of ``NAMES``."""
    return "/" in word or word.endswith(".toml")


class Statistic(StrEnum):
    """What a benchmark makes of its passes: the one figure that it shows."""

    BEST = "best"
    MEAN = "mean"
    MEDIAN = "median"


class FigureUnit(StrEnum):
    """In what a benchmark shows a row; more is better but of response times."""

    MB_PER_S = "MB/s"
    IOPS = "IOPS"
    MICROSECONDS = "us"
    MILLISECONDS = "ms"

    @property
    def is_time(self) -> bool:
        """Whether it is a response time: less is better."""
        return self in {FigureUnit.MICROSECONDS, FigureUnit.MILLISECONDS}

    @property
    def better(self) -> Better:
        """Which way is better."""
        return Better.LOWER if self.is_time else Better.HIGHER


# SOL-BMK-04, 05, 07 to 10, LSI-GEN-03
class ProfileRow(Struct, frozen=True, kw_only=True):
    """One row, in one direction: ``name`` and ``read_pct`` tell it from the others.

    ``random_pct`` of the accesses are random. ``span_bytes`` is the test file, at the start of the active
    range; None is the whole of it. ``data`` None is the test's own pattern. ``warm_up_ns`` lasts a pass whose
    result is thrown away, 0 is none. A pass ends after ``pass_ns``, or before that with ``pass_bytes``.
    ``pause_ns`` lies between this row and the one before it.
    """

    name: str
    random_pct: int
    block_sizes: tuple[BlockSize, ...]
    read_pct: int
    tc: int
    qd: int
    span_bytes: int | None = None
    data: DataPattern | None = None
    passes: int = 1
    warm_up_ns: int = 0
    pass_ns: int
    pass_bytes: int | None = None
    pause_ns: int = 0
    statistic: Statistic = Statistic.MEDIAN
    units: tuple[FigureUnit, ...] = (FigureUnit.MB_PER_S,)

    @property
    def direction(self) -> str:
        """The mix as users of benchmarks say it: ``Read``, ``Write``, ``Mix 70/30``."""
        return {100: "Read", 0: "Write"}.get(self.read_pct, f"Mix {self.read_pct}/{100 - self.read_pct}")

    @property
    def title(self) -> str:
        """Name and direction: ``SEQ1M Q8T1 Read``."""
        return f"{self.name} {self.direction}"

    @property
    def access(self) -> str:
        """Order and size in the specification's words: ``SEQ 1 MiB``."""
        pattern = {0: AccessPattern.SEQUENTIAL, 100: AccessPattern.RANDOM}.get(
            self.random_pct, AccessPattern.MIXED
        )
        first = self.block_sizes[0].block_size_bytes
        sizes = len(self.block_sizes)
        return f"{pattern.short} {format_block_size(first) if sizes == 1 else f'{sizes} sizes'}"


class BenchmarkProfile(Struct, frozen=True, kw_only=True):
    """What a benchmark measures, row by row in its order.

    ``source`` is where the definition was read. ``doubt`` says what of it could not be confirmed, empty if
    all is; ``differences`` is what the tool does otherwise than openpts. ``score`` names the formula that
    makes one figure of the rows, where that is known.
    """

    name: str
    title: str
    source: str
    doubt: str = ""
    differences: str = ""
    score: str = ""
    rows: tuple[ProfileRow, ...]

    @property
    def confirmed(self) -> bool:
        """Whether the whole definition was read at its source."""
        return not self.doubt

    def __str__(self) -> str:
        return self.title
