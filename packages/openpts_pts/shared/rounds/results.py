"""A test that runs rounds of test points, analyzed as a whole: from samples to verdicts and cells."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ResponseTimes, response_times
from openpts.analysis.rounds import (
    CompleteRound,
    RoundsMean,
    complete_rounds,
    judge_window,
    measurement_window,
    test_point,
)
from openpts.procedures.kit.header import of_cycle
from openpts.procedures.kit.steps import ART, IOPS, MRT, Metric, values_json
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint, SteadyStateReport
from openpts_pts.shared.one_pass import WINDOWS, OnePass
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.window_results import WindowResults

TAIL_PERCENTILE: Final = 99.999


class Tail(Struct, frozen=True):
    """The 99.999 % response time of a cell (PTS 7.3.6.4; reading AMB-16 of openpts).

    ``by_round_ns`` are the rounds' percentiles, none unless every round has the
    100,000 I/Os that five nines need. ``merged`` has all rounds' I/Os together, ``merged_ns`` is the
    percentile of them. ``fewest_ios`` is the smallest round's count of I/Os whose response time is recorded,
    which on a simulated drive with a scale are fewer than the nominal ones.
    """

    by_round_ns: tuple[int, ...]
    merged: ResponseTimes
    fewest_ios: int

    @property
    def merged_ns(self) -> int | None:
        """None with fewer than 100,000 I/Os in all rounds."""
        return self.merged.percentile_ns(TAIL_PERCENTILE)

    @property
    def mean_of_rounds_ns(self) -> float | None:
        """Mean of ``by_round_ns``."""
        return fmean(self.by_round_ns) if self.by_round_ns else None


class MatrixCell(RoundsMean, frozen=True, dict=True):
    """A test point over the window, as the results matrix has it."""

    @cached_property
    def tail(self) -> Tail:
        """99.999 % response time."""
        return _tail(self.samples)

    @property
    def deviations_pct(self) -> tuple[float, ...]:
        """Each round's distance from the mean, in per cent of the mean."""
        return tuple(100 * (value / self.iops - 1) if self.iops else 0.0 for value in self.iops_by_round)

    @property
    def range_pct(self) -> float:
        """Maximum minus minimum of the rounds, in per cent of the mean."""
        return max(self.deviations_pct) - min(self.deviations_pct)


MINIMUM: Final = Metric[MatrixCell](
    "min_ms", "Minimum (ms)", "ms", lambda cell: cell.min_latency_ns, NS_PER_MS, None, "no I/O timed"
)
TAIL: Final = Metric[MatrixCell](
    "p99_999_ms", "99.999 % (ms)", "ms", lambda cell: cell.tail.mean_of_rounds_ns, NS_PER_MS, None
)


def _tail(samples: Sequence[Sample]) -> Tail:
    rounds = [response_times([sample]) for sample in samples]
    by_round = [found for one in rounds if (found := one.percentile_ns(TAIL_PERCENTILE)) is not None]
    return Tail(
        by_round_ns=tuple(by_round) if len(by_round) == len(rounds) else (),
        merged=response_times(samples),
        fewest_ios=min(one.recorded_ios for one in rounds),
    )


class RoundTestResults(WindowResults, frozen=True, kw_only=True):
    """The results of a rounds test; ``verdicts`` go with ``conditions.tracking``.

    ``cells`` are averaged over the window, so they are empty if no round was completed.
    """

    conditions: RoundConditions
    rounds: tuple[CompleteRound, ...]
    cells: dict[RoundPoint, MatrixCell]


def analyze_round_test(
    conditions: RoundConditions,
    numbered: Iterable[tuple[int, Sample]],
    steady_round: int | None,
    block_sizes_bytes: tuple[int, ...] | None = None,
    one_pass: OnePass | None = None,
) -> RoundTestResults:
    """Judge and average a test, or one cycle of it, from its samples, each with its round number.

    ``steady_round`` only places the window; whether it is steady is judged again. ``block_sizes_bytes`` are
    those of the cycle where a test has one cycle for each size; the conditions then become the cycle's.
    ``one_pass`` is that before the rounds of the short form.
    """
    if block_sizes_bytes is not None:
        tracking = tuple(v for v in conditions.tracking if v.block_size_bytes in block_sizes_bytes)
        conditions = replace(conditions, block_sizes_bytes=block_sizes_bytes, tracking=tracking)
    points = test_points(conditions)
    rounds = complete_rounds(numbered, points)
    window = measurement_window(len(rounds), steady_round)
    chosen = window.select(rounds)
    state = None if one_pass is None else _state_off(one_pass, chosen)
    return RoundTestResults(
        conditions=conditions,
        rounds=rounds,
        window=window,
        verdicts=judge_window(rounds, window, conditions.tracking),
        cells={
            point: MatrixCell(
                tuple(samples[point] for samples in chosen), state and state * (point.read_pct < 100)
            )
            for point in points
            if chosen
        },
    )


def _state_off(one_pass: OnePass, chosen: Sequence[CompleteRound]) -> float | None:
    """By what share the drive's state, in all that writes, may differ from that in rounds of full length.

    Besides the state that the pass leaves it is that of the rounds: large writes and rests for reads, of
    seconds each, change the rate of the windows after the pass. Minutes of them change it as well, but less.
    """
    off = one_pass.state_off
    window = one_pass.afterwards[-1].step.stimulus if one_pass.afterwards else None
    if off is None or window is None or (point := test_point(window)) is None:
        return off
    in_rounds = [
        samples[point].iops
        for samples in chosen
        if point in samples
        and (stimulus := samples[point].step.stimulus)
        and (stimulus.tc, stimulus.qd) == (window.tc, window.qd)
    ]
    return math.hypot(off, fmean(in_rounds) / fmean(one_pass.rates[-WINDOWS:]) - 1) if in_rounds else off


def test_points(conditions: RoundConditions) -> tuple[RoundPoint, ...]:
    """All points of a round, in the order of the loops; sizes that the device can't do are left out."""
    pattern = conditions.tracking[0].access_pattern if conditions.tracking else AccessPattern.RANDOM
    return tuple(
        RoundPoint(pattern, block_size_bytes, read_pct)
        for read_pct in conditions.read_pcts
        for block_size_bytes in conditions.block_sizes_bytes
        if block_size_bytes not in conditions.skipped_block_sizes_bytes
    )


def analyze_cycle(run: Run, cycle: int, block_sizes_bytes: tuple[int, ...] | None = None) -> RoundTestResults:
    """Results of one cycle of a test of rounds; ``block_sizes_bytes`` are its sizes, if not all."""
    conditions = run.conditions(RoundConditions)
    finished = of_cycle(run.manifest.cycles, cycle)
    return analyze_round_test(
        conditions,
        ((step.place.number, step.sample) for step in run.phase(Phase.ROUND, cycle=cycle)),
        finished.outcome.steady_round if finished else None,
        block_sizes_bytes,
        None
        if conditions.within_pct is None
        else one_pass_of(run.phase(Phase.CONDITIONING, cycle=cycle), conditions.known_flash),
    )


def one_pass_of(steps: Iterable[StepRecord], known_flash: float | None) -> OnePass:
    """The pass of the short form in a record."""
    return OnePass.of(((step.place.number, step.sample) for step in steps), known_flash)


def round_figures(results: RoundTestResults) -> dict[str, Any]:
    """Rounds, steady state and cells, JSON-ready; latencies in ms."""
    return {
        "complete_rounds": len(results.rounds),
        "steady_state": _steady_state(results),
        "iops": [_cell(point, cell) for point, cell in results.cells.items()],
    }


def _steady_state(results: RoundTestResults) -> dict[str, Any]:
    return {
        "reached": results.steady,
        "round": results.window.rounds[-1] if results.steady else None,
        "window": list(results.window.rounds),
        "variables": [
            {**_point(point), **_verdict(verdict)}
            for point, verdict in zip(results.conditions.tracking, results.verdicts, strict=True)
        ],
    }


def _verdict(verdict: SteadyStateReport | None) -> dict[str, Any]:
    if verdict is None:
        return {"steady": False, "judged": False}
    return {
        "steady": verdict.steady,
        "judged": True,
        "average": verdict.average,
        "range_pct": verdict.range_pct,
        "slope_excursion_pct": verdict.slope_excursion_pct,
        "slope": verdict.slope,
        "intercept": verdict.intercept,
        "r": verdict.r,
        "inside_10pct_band": verdict.inside_band,
    }


def _cell(point: RoundPoint, cell: MatrixCell) -> dict[str, Any]:
    return {
        **_point(point),
        **values_json(cell, (IOPS, ART, MINIMUM, TAIL, MRT)),
        "range_pct": cell.range_pct,
    }


def _point(point: RoundPoint) -> dict[str, Any]:
    return {
        "access_pattern": point.access_pattern,
        "block_size_bytes": point.block_size_bytes,
        "read_pct": point.read_pct,
    }
