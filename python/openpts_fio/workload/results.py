"""Rounds of a job: the figure that is tracked, and the window in which it is steady."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.rounds import MeasurementWindow, consecutive_rounds, measurement_window
from openpts.analysis.steady_state import disturbed_rounds, window_ending_at
from openpts.units import MB, NS_PER_MS, per_second
from openpts.vocabulary.phase import StepPlace
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_fio.fio_job.conditions import ALL_STREAMS
from openpts_fio.fio_job.streams import parts_named
from openpts_fio.workload import FIGURES, RoundFigure, WorkloadConditions

Round = tuple[Sample, ...]


def tracked_name(conditions: WorkloadConditions) -> str:
    """What steady state is judged by, in words: ``IOPS``, or ``P99 response time of reader``."""
    of = "" if conditions.stream == ALL_STREAMS else f" of {conditions.stream}"
    return f"{FIGURES[conditions.figure]}{of}"


def tracked_value(conditions: WorkloadConditions, samples: Round) -> float:
    """The figure of a round: IOPS, MB/s or ms; 0 where the stream did no I/O."""
    parts = parts_named(samples, conditions.stream)
    ios, elapsed_ns = (sum(getattr(part, name) for part in parts) for name in ("ios", "elapsed_ns"))
    match conditions.figure:
        case RoundFigure.IOPS:
            return per_second(ios, elapsed_ns)
        case RoundFigure.THROUGHPUT:
            moved_bytes = sum(part.bytes for part in parts)
            return per_second(moved_bytes, elapsed_ns) / MB
        case RoundFigure.MEAN_LATENCY:
            return _mean_ms(parts, ios)
        case RoundFigure.P99_LATENCY:
            encoded = [one.histogram for part in parts for one in part.transfers if one.histogram]
            p99_ns = LatencyDistribution.merged(encoded).percentile_ns(99)
            return _mean_ms(parts, ios) if p99_ns is None else p99_ns / NS_PER_MS  # a plan has means alone


def _mean_ms(parts: Sequence[Measured], ios: int) -> float:
    return (
        sum(one.latency_sum_ns for part in parts for one in part.transfers) / ios / NS_PER_MS if ios else 0.0
    )


class WorkloadResults(Struct, frozen=True):
    """Whole rounds, the tracked figure of each, and the window; ``verdict`` None if it can't be judged."""

    conditions: WorkloadConditions
    rounds: tuple[Round, ...]
    values: tuple[float, ...]
    window: MeasurementWindow
    verdict: SteadyStateReport | None

    @property
    def steady(self) -> bool:
        """Whether the figure is steady in the window."""
        return self.verdict is not None and self.verdict.steady

    @property
    def of_window(self) -> tuple[Round, ...]:
        """The rounds that results are of."""
        return tuple(self.rounds[number - 1] for number in self.window.rounds)


def analyze(
    conditions: WorkloadConditions,
    placed: Iterable[tuple[StepPlace, Sample]],
    steps_per_round: int,
    steady_round: int | None,
) -> WorkloadResults:
    """The results of all steps of rounds; ``steady_round`` places the window, which is judged again."""
    keyed = ((place.number, place.position, sample) for place, sample in placed)
    found = consecutive_rounds(keyed, range(steps_per_round))
    rounds = tuple(tuple(samples[at] for at in range(steps_per_round)) for samples in found)
    values = tuple(tracked_value(conditions, samples) for samples in rounds)
    window = measurement_window(len(rounds), steady_round)
    verdict = (
        window_ending_at(values, window.rounds[-1], disturbed_rounds(rounds)) if window.is_full else None
    )
    return WorkloadResults(conditions, rounds, values, window, verdict)
