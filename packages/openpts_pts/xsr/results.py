"""Cross stimulus recovery: each access group summed up, and the time until bandwidth is back (PTS 12).

The recovery that the specification asks for ends at the highest bandwidth of the third group, which in noise
may come at any time. openpts reports it as asked, and beside it the first minute that reaches a share of the
first group's level, which a second lab can repeat.
"""

from collections.abc import Sequence
from operator import itemgetter
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute, minutes_of, sum_parts, whole_minutes
from openpts.procedures.kit.steps import THROUGHPUT, HasFigures, Metric
from openpts.vocabulary.sample import Measured, Sample

RECOVERED_SHARES: Final = (0.80, 0.90, 0.95, 1.00)
STABLE_SHARE: Final = 0.95
MEDIAN_MINUTES: Final = 5


class GroupSummary(Measured, frozen=True, kw_only=True):
    """One access group over its whole length, with its minutes and those of them that are ``whole``.

    ``start_ns`` and ``end_ns`` count from the start of the first group.
    """

    number: int
    start_ns: int
    end_ns: int
    minutes: tuple[Minute, ...]
    whole: tuple[Minute, ...]

    @property
    def duration_ns(self) -> int:
        """How long it was applied."""
        return self.end_ns - self.start_ns

    def peak(self, metric: Metric[HasFigures]) -> Minute | None:
        """The whole minute with the highest figure."""
        found = [(value, minute) for minute in self.whole if (value := metric.of(minute)) is not None]
        return max(found, key=itemgetter(0))[1] if found else None


class Recovery(Struct, frozen=True):
    """The first minute of group 3 that reached a bandwidth; ``after_ns`` from the end of group 2 to its end.

    None where no minute did.
    """

    share: float
    bandwidth_bytes_per_s: float
    after_ns: int | None


class MedianPeak(Struct, frozen=True):
    """The highest median of five consecutive minutes of group 3: a peak that one minute of noise can't make.

    ``after_ns`` is from the end of group 2 to the end of the fifth minute.
    """

    bandwidth_bytes_per_s: float
    after_ns: int


class CrossStimulusResults(Struct, frozen=True):
    """``peak_recovery_ns`` is the specification's recovery time: to the end of group 3's best minute."""

    groups: tuple[GroupSummary, ...]
    peak_recovery_ns: int | None
    recoveries: tuple[Recovery, ...]
    stable_recovery: Recovery | None
    median_peak: MedianPeak | None = None


def analyze_cross_stimulus(groups: Sequence[Sequence[Sample]], minute_ns: int) -> CrossStimulusResults:
    """Sum up the groups there are, each as its consecutive steps. Empty groups were not reached."""
    reached = [samples for samples in groups if samples]
    origin_ns = reached[0][0].started_ns if reached else 0
    summaries = tuple(
        _summarize(number, samples, minute_ns, origin_ns) for number, samples in enumerate(reached, start=1)
    )
    if len(summaries) < 3:
        return CrossStimulusResults(summaries, None, (), None)
    first, second, third = summaries[:3]
    minutes, best = third.whole, third.peak(THROUGHPUT)
    settled = _last_hour(first, minute_ns)
    return CrossStimulusResults(
        groups=summaries,
        peak_recovery_ns=None if best is None else _after_ns(best, second, third),
        recoveries=tuple(
            _first_at(minutes, second, third, share, share * settled) for share in RECOVERED_SHARES
        ),
        stable_recovery=_first_at(
            minutes, second, third, STABLE_SHARE, STABLE_SHARE * first.bandwidth_bytes_per_s
        ),
        median_peak=_median_peak(minutes, second, third),
    )


def _summarize(number: int, samples: Sequence[Sample], minute_ns: int, origin_ns: int) -> GroupSummary:
    minutes = minutes_of(samples, minute_ns)
    return GroupSummary(
        number=number,
        start_ns=samples[0].started_ns - origin_ns,
        end_ns=samples[-1].started_ns + samples[-1].elapsed_ns - origin_ns,
        minutes=minutes,
        whole=tuple(whole_minutes(minutes, minute_ns)),
        **sum_parts(samples),
    )


def _last_hour(group: GroupSummary, minute_ns: int) -> float:
    """Bandwidth of the last 60 minutes: what the drive had settled to before the change."""
    last = [minute for minute in group.minutes if minute.end_ns > group.duration_ns - 60 * minute_ns]
    return Measured(**sum_parts(last)).bandwidth_bytes_per_s


def _first_at(
    minutes: Sequence[Minute], second: GroupSummary, third: GroupSummary, share: float, least: float
) -> Recovery:
    reached = (minute for minute in minutes if minute.bandwidth_bytes_per_s >= least)
    minute = next(reached, None)
    return Recovery(share, least, None if minute is None else _after_ns(minute, second, third))


def _median_peak(minutes: Sequence[Minute], second: GroupSummary, third: GroupSummary) -> MedianPeak | None:
    """The first five minutes whose median is the highest; None where there are fewer."""
    fives = [minutes[last - MEDIAN_MINUTES : last] for last in range(MEDIAN_MINUTES, len(minutes) + 1)]
    medians = [median(minute.bandwidth_bytes_per_s for minute in five) for five in fives]
    if not medians:
        return None
    highest = max(medians)
    return MedianPeak(highest, _after_ns(fives[medians.index(highest)][-1], second, third))


def _after_ns(minute: Minute, second: GroupSummary, third: GroupSummary) -> int:
    """From the end of group 2 to the end of a minute of group 3, the gap between both included."""
    return third.start_ns + minute.end_ns - second.end_ns
