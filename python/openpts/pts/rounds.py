"""What IOPS, throughput and latency share: WIPC, and rounds until steady state or the last one (PTS 4).

Implements: PTS-FLOW-01 to 03, PTS-SS-07, PTS-PRE-01.
"""

from collections import deque
from collections.abc import Generator, Sequence

from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.vocabulary.conditions import RoundConditions
from openpts.vocabulary.part import Part
from openpts.vocabulary.requests import Answer, Apply, Outcome, Request, Script, SteadyStateChecked
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, BlockSize, OperationWeights, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts.vocabulary.verdict import TestPoint, TrackingVariable


# PTS-PRE-02, 03
def preconditioning(conditions: RoundConditions, block_size_bytes: int, user_capacity_bytes: int) -> Script:
    """WIPC: so many user capacities in sequential writes over the active range; none for 0 (PTS 3.3)."""
    if not conditions.precondition_passes:
        return
    stimulus = Stimulus(
        random_pct=0,
        block_sizes=(BlockSize(block_size_bytes),),
        operations=OperationWeights(write=100),
        tc=conditions.precondition_tc or conditions.tc,
        qd=conditions.precondition_qd or conditions.qd,
        active_range=conditions.active_range,
        data=conditions.data,
    )
    amount = ByteAmount(round(conditions.precondition_passes * user_capacity_bytes))
    yield Apply(Part.WIPC, 1, (Step(stimulus, amount),))


# PTS-IOPS-09, 10, 14, PTS-TP-09, 12, PTS-THR-03
def element(conditions: RoundConditions, point: TestPoint, duration_ns: int | None = None) -> Step:
    """One element of a round: the test point for a minute, or for as long as is said."""
    random = point.access_pattern is AccessPattern.RANDOM
    stimulus = Stimulus(
        random_pct=100 if random else 0,
        block_sizes=(BlockSize(point.block_size_bytes),),
        operations=OperationWeights(read=point.read_pct, write=100 - point.read_pct),
        tc=conditions.tc,
        qd=conditions.qd,
        active_range=conditions.active_range,
        data=conditions.data,
    )
    if random and conditions.segments is not None:
        stimulus = replace(stimulus, placement=conditions.segments)
    return Step(stimulus, Duration(conditions.minute_ns if duration_ns is None else duration_ns))


def until_steady(
    conditions: RoundConditions, steps: tuple[Step, ...], tracking: Sequence[TrackingVariable]
) -> Generator[Request, Answer, tuple[Outcome, tuple[tuple[Sample, ...], ...]]]:
    """Rounds until all tracking variables are steady in the same window, or for the last round.

    Returns the outcome and the samples of the window's rounds.
    """
    history: list[tuple[float, ...]] = []
    window: deque[tuple[Sample, ...]] = deque(maxlen=WINDOW_ROUNDS)
    steady_round: int | None = None
    for number in range(1, conditions.max_rounds + 1):
        samples = yield Apply(Part.ROUND, number, steps, conditions.max_rounds)
        assert samples  # noqa: S101 what a runner answers to an Apply
        history.append(_tracked(tracking, samples))
        window.append(samples)
        if number < WINDOW_ROUNDS or not tracking:  # what isn't tracked is never found steady
            continue
        reports = tuple(window_ending_at(series, number) for series in zip(*history, strict=True))
        yield SteadyStateChecked(Part.ROUND, number, tuple(str(variable) for variable in tracking), reports)
        if all(report.steady for report in reports):
            steady_round = number
            break
    return Outcome(steady_round, len(history)), tuple(window)


def _tracked(tracking: Sequence[TrackingVariable], samples: tuple[Sample, ...]) -> tuple[float, ...]:
    return tuple(
        variable.of(sample)
        for variable in tracking
        for sample in samples
        if variable.matches(sample.step.stimulus)
    )
