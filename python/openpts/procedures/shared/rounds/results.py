"""A test that runs rounds of test points, analyzed as a whole: from samples to verdicts and cells."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from openpts.analysis.rounds import (
    CompleteRound,
    MeasurementWindow,
    complete_rounds,
    judge_window,
    measurement_window,
)
from openpts.procedures.shared.rounds.conditions import RoundConditions
from openpts.procedures.shared.rounds.matrix import MatrixCell
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint, SteadyStateReport


@dataclass(frozen=True, slots=True)
class RoundTestResults:
    """The results of a rounds test; ``verdicts`` go with ``conditions.tracking``.

    ``cells`` are averaged over the window, so they are empty if no round was completed.
    """

    conditions: RoundConditions
    rounds: tuple[CompleteRound, ...]
    window: MeasurementWindow
    verdicts: tuple[SteadyStateReport | None, ...]
    cells: dict[RoundPoint, MatrixCell]

    @property
    def steady(self) -> bool:
        """Steady state: every tracking variable meets both rules in this one window (PTS 7.2)."""
        return bool(self.verdicts) and all(
            verdict is not None and verdict.steady for verdict in self.verdicts
        )


def analyze_round_test(
    conditions: RoundConditions,
    numbered: Iterable[tuple[int, Sample]],
    steady_round: int | None,
    block_sizes_bytes: tuple[int, ...] | None = None,
) -> RoundTestResults:
    """Judge and average a test, or one cycle of it, from its samples, each with its round number.

    ``steady_round`` only places the window; whether it is steady is judged again. ``block_sizes_bytes`` are
    those of the cycle where a test has one cycle for each size; the conditions then become the cycle's.
    """
    if block_sizes_bytes is not None:
        tracking = tuple(v for v in conditions.tracking if v.block_size_bytes in block_sizes_bytes)
        conditions = replace(conditions, block_sizes_bytes=block_sizes_bytes, tracking=tracking)
    points = test_points(conditions)
    rounds = complete_rounds(numbered, points)
    window = measurement_window(len(rounds), steady_round)
    chosen = window.select(rounds)
    return RoundTestResults(
        conditions=conditions,
        rounds=rounds,
        window=window,
        verdicts=judge_window(rounds, window, conditions.tracking),
        cells={point: MatrixCell(tuple(samples[point] for samples in chosen)) for point in points if chosen},
    )


def test_points(conditions: RoundConditions) -> tuple[RoundPoint, ...]:
    """All points of a round, in the order of the loops; sizes that the device can't do are left out."""
    pattern = conditions.tracking[0].access_pattern if conditions.tracking else AccessPattern.RANDOM
    return tuple(
        RoundPoint(pattern, block_size_bytes, read_pct)
        for read_pct in conditions.read_pcts
        for block_size_bytes in conditions.block_sizes_bytes
        if block_size_bytes not in conditions.skipped_block_sizes_bytes
    )
