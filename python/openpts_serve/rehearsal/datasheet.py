"""What a data sheet promises, beside what the model makes of it: compared, never adjusted.

A test is only held against what it measures.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from openpts.procedures.registry import procedure_of
from openpts.procedures.shared.rounds.conditions import RoundConditions
from openpts.procedures.shared.rounds.results import analyze_round_test
from openpts.record.reader import Run
from openpts.units import KIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint

_RANDOM_WRITE: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)
_RANDOM_READ: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 100)
_SEQUENTIAL_WRITE: Final = RoundPoint(AccessPattern.SEQUENTIAL, 128 * KIB, 0)
_SEQUENTIAL_READ: Final = RoundPoint(AccessPattern.SEQUENTIAL, 128 * KIB, 100)

_IOPS: Final = {"random_write_iops": _RANDOM_WRITE, "random_read_iops": _RANDOM_READ}
_THROUGHPUT: Final = {
    "sequential_write_bytes_per_s": _SEQUENTIAL_WRITE,
    "sequential_read_bytes_per_s": _SEQUENTIAL_READ,
}
_CONTINUOUS: Final = (Phase.WDPC, Phase.SATURATION)


class Promise(Struct, frozen=True):
    """A figure of the data sheet, and what the model expects."""

    name: str
    rated: float
    expected: float


def promises_of(rated: Mapping[str, float], run: Run) -> tuple[Promise, ...]:
    """Each promise that this run measures."""
    # a later place is where the test itself reports the figure
    expected = dict((*_of_continuous(run), *_of_wipc(run), *_of_cells(run)))
    return tuple(Promise(name, rated[name], figure) for name, figure in expected.items() if name in rated)


def _of_cells(run: Run) -> Iterator[tuple[str, float]]:
    """Of rounds at the demand of a data sheet."""
    conditions = run.manifest.conditions
    if isinstance(conditions, RoundConditions) and procedure_of(conditions.test).at_rated_demand:
        for cycle in range(1, run.cycle_count + 1):
            yield from _cells(run, conditions, cycle)


def _cells(run: Run, conditions: RoundConditions, cycle: int) -> Iterator[tuple[str, float]]:
    rounds = run.phase(Phase.ROUND, cycle=cycle)
    numbered = [(step.place.number, step.sample) for step in rounds]
    sizes = {s.step.stimulus.block_size_bytes for _, s in numbered if s.step.stimulus is not None}
    finished = run.manifest.cycles[cycle - 1 : cycle]
    steady_round = finished[0].outcome.steady_round if finished else None
    in_order = tuple(size for size in conditions.block_sizes_bytes if size in sizes)
    cells = analyze_round_test(conditions, numbered, steady_round, in_order).cells
    for name, point in _IOPS.items():
        if point in cells:
            yield name, cells[point].iops
    for name, point in _THROUGHPUT.items():
        if point in cells:
            yield name, cells[point].iops * point.block_size_bytes


def _of_wipc(run: Run) -> Iterator[tuple[str, float]]:
    for step in run.phase(Phase.WIPC):
        if _SEQUENTIAL_WRITE.matches(step.sample.step.stimulus):
            yield "sequential_write_bytes_per_s", step.sample.bandwidth_bytes_per_s


def _of_continuous(run: Run) -> Iterator[tuple[str, float]]:
    """The last minute of a long stimulus is repeated for all that would follow."""
    for phase in _CONTINUOUS:
        samples = [step.sample for step in run.phase(phase)]
        for name, point in _IOPS.items():
            if (last := _last(samples, point)) is not None:
                yield name, last.iops


def _last(samples: list[Sample], point: RoundPoint) -> Measured | None:
    matching = [sample for sample in samples if point.matches(sample.step.stimulus)]
    return matching[-1] if matching else None
