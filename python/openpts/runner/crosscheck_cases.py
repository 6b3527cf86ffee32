"""The stimuli that engines are compared with."""

from typing import Final

from openpts.runner.crosscheck import Case
from openpts.units import KIB
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Stimulus


def _case(
    name: str, pattern: AccessPattern, block_size_bytes: int, read_pct: int, qd: int, *, pinned: bool = False
) -> Case:
    everywhere = ActiveRange()
    return Case(name, Stimulus.of(pattern, block_size_bytes, read_pct, 1, qd, everywhere), pinned)


READS: Final = (
    _case("random-read-4k-qd1", AccessPattern.RANDOM, 4 * KIB, 100, 1),
    _case("random-read-4k-qd1-pinned", AccessPattern.RANDOM, 4 * KIB, 100, 1, pinned=True),
    _case("random-read-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 100, 32),
    _case("sequential-read-128k-qd32", AccessPattern.SEQUENTIAL, 128 * KIB, 100, 32),
)
WRITES: Final = (
    _case("random-65-35-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 65, 32),
    _case("random-write-4k-qd32", AccessPattern.RANDOM, 4 * KIB, 0, 32),
    _case("sequential-write-128k-qd32", AccessPattern.SEQUENTIAL, 128 * KIB, 0, 32),
)
CASES: Final = {case.name: case for case in (*READS, *WRITES)}
