"""Whether the host, and not the drive, limited a step or a second of it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.units import NS_PER_US
from openpts.vocabulary.sample import Measured, Sample, StreamSample

LEAST_LATE_NS: Final = 100 * NS_PER_US
"""Timers of an idle host wake a thread within some 50 us: what is no later says nothing."""

LATE_PART_OF_MEAN: Final = 10
"""An I/O is late by more than a tenth of the mean latency, of which its wait is a part."""

MOST_LATE_SHARE: Final = 0.01
"""With more late I/Os than that, the 99th percentile of the latency is the host's."""

FULL_PCT: Final = 95.0
"""Busy time of the processors, or of a step's threads, from which on there was none left."""


class Lateness(Struct, frozen=True):
    """How late the planned I/Os of a step or a stream were submitted.

    ``late`` of the ``ios`` were late by more than ``bound_ns``. Waiting for room among the outstanding I/Os
    is the drive's time, and no part of it.
    """

    ios: int
    late: int
    bound_ns: int
    slips: LatencyDistribution

    @property
    def late_share(self) -> float:
        """Of the planned I/Os that were submitted."""
        return self.late / self.ios

    @property
    def limits(self) -> bool:
        """Whether so many were late that the figures are not the drive's alone."""
        return self.late_share > MOST_LATE_SHARE


def lateness(part: Sample | StreamSample) -> Lateness | None:
    """None where nothing was planned, or where the engine has no host that could be late."""
    if not part.slips:
        return None
    slips = LatencyDistribution.merged([part.slips])
    bound_ns = max(LEAST_LATE_NS, round(part.mean_latency_ns or 0) // LATE_PART_OF_MEAN)
    late = sum(count for least_ns, _, count in slips.buckets() if least_ns > bound_ns)
    return Lateness(slips.count, late, bound_ns, slips)


def late_streams(sample: Sample) -> tuple[tuple[int, Lateness], ...]:
    """The streams whose figures late I/Os limit, by their positions in the step."""
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,)
    found = ((number, lateness(part)) for number, part in enumerate(parts))
    return tuple((number, late) for number, late in found if late is not None and late.limits)


def busy_pct(measured: Measured) -> float | None:
    """Time of all processors of the host that was spent in programs and the kernel; None where not read."""
    return None if measured.cpu is None else measured.cpu.user_pct + measured.cpu.sys_pct


def threads_busy_pct(sample: Sample) -> float | None:
    """Processor time of openpts per thread of the step; None where not read, and in an idle gap."""
    threads = sum(stimulus.tc for stimulus in sample.step.stimuli)
    if sample.cpu is None or not threads or not sample.elapsed_ns:
        return None
    return 100 * sample.cpu.process_ns / (sample.elapsed_ns * threads)


def limited_by_host(sample: Sample) -> bool:
    """Whether figures of the step are to be marked."""
    return bool(late_streams(sample)) or processors_full(sample)


def processors_full(sample: Sample) -> bool:
    """Whether the host's processors, or each thread of the step, had no time left."""
    shares = (busy_pct(sample), threads_busy_pct(sample))
    return any(share is not None and share >= FULL_PCT for share in shares)


ENGINE_THREADS: Final = "engine threads"
"""What is sampled of them, by its name in records, which a simulated drive has not."""


class HostLimit(StrEnum):
    """What of the host had nothing left."""

    PROCESSOR = "processor"
    LINK = "link"
    HEAT = "heat"
    MEMORY = "memory"


class MarkRule(Struct, frozen=True):
    """A second is marked when the mean of a sampled value over it, in per cent, is at least ``least_pct``.

    ``counted_late``: the value is of times that count when they have ended: what is above 100 % belongs to
    the time before. ``not_polling``: it says nothing of threads that ask for completions all the time.
    """

    limit: HostLimit
    least_pct: float
    text: str
    counted_late: bool = False
    not_polling: bool = False


RULES: Final[Mapping[str, MarkRule]] = {
    "engine_wait_pct": MarkRule(
        HostLimit.PROCESSOR, 10.0, "a thread of the engine waited for a processor", counted_late=True
    ),
    "engine_awake_pct": MarkRule(
        HostLimit.PROCESSOR,
        FULL_PCT,
        "a thread of the engine had no time left",
        counted_late=True,
        not_polling=True,
    ),
    "cpu_engine_busy_pct": MarkRule(
        HostLimit.PROCESSOR, FULL_PCT, "the engine's processors were busy", not_polling=True
    ),
    "cpu_all_busy_pct": MarkRule(HostLimit.PROCESSOR, FULL_PCT, "all processors were busy", not_polling=True),
    "cpu_engine_steal_pct": MarkRule(
        HostLimit.PROCESSOR, 5.0, "the hypervisor gave the engine's processors to others"
    ),
    "cpu_all_steal_pct": MarkRule(HostLimit.PROCESSOR, 5.0, "the hypervisor gave the processors to others"),
    "cpu_quota_pct": MarkRule(HostLimit.PROCESSOR, 5.0, "a control group had used up its processor time"),
    "path_use_pct": MarkRule(HostLimit.LINK, 90.0, "a link to the drive carried all that it can"),
    "cpu_throttled_pct": MarkRule(
        HostLimit.HEAT, 5.0, "heat held back the engine's processors", counted_late=True
    ),
    "memory_use_pct": MarkRule(HostLimit.MEMORY, 80.0, "the memory moved all that it can"),
}
"""By the name of the sampled value; those of links have a number in it (``path_0_use_pct``)."""

_NUMBER: Final = re.compile(r"_[0-9]+_")
# What does not change is stored again after 60 periods; a little more, for a sampler that was late.
_PERIODS_HELD: Final = 75

Marks = frozenset[str]
"""The sampled values that mark a span of time, by name."""


class Sampled(Protocol):
    """Values by time; each is the mean since the point before it, or of one period behind a gap."""

    @property
    def t_ns(self) -> Sequence[int]:
        """Moments, ascending."""

    @property
    def values(self) -> Sequence[float]:
        """As many values."""


_Stretch = tuple[int, int, float]


def rule_of(name: str) -> MarkRule | None:
    """The rule for a sampled value; None if it shows nothing of the host's limits."""
    return RULES.get(_NUMBER.sub("_", name))


def limits_of(marks: Marks) -> tuple[HostLimit, ...]:
    """What was at its limit, each once, in the order of ``HostLimit``."""
    found = {rule.limit for name in marks if (rule := rule_of(name)) is not None}
    return tuple(limit for limit in HostLimit if limit in found)


def evidence_texts(names: Iterable[str]) -> list[str]:
    """What sampled values show, each once."""
    return list(dict.fromkeys(rule.text for name in names if (rule := rule_of(name)) is not None))


def marks_of(
    series: Mapping[str, Sampled], spans: Sequence[tuple[int, int]], period_ns: int, *, polling: bool
) -> list[Marks | None]:
    """For each of these spans of time, from and to, which sampled values show that the host was the limit.

    None where nothing was sampled. ``period_ns`` is that of the samples, ``polling`` whether the engine's
    threads ask for completions instead of waiting for them.
    """
    found: list[set[str] | None] = [None] * len(spans)
    for name, sampled in series.items():
        rule = rule_of(name)
        if rule is None or (polling and rule.not_polling):
            continue
        stretches = list(_stretches(sampled, period_ns))
        if rule.counted_late:
            stretches = _moved_back(stretches)
        for number, mean in enumerate(_means(stretches, spans)):
            if mean is None:
                continue
            marks = found[number]
            if marks is None:
                marks = found[number] = set()
            if mean >= rule.least_pct:
                marks.add(name)
    return [None if marks is None else frozenset(marks) for marks in found]


def _stretches(sampled: Sampled, period_ns: int) -> Iterator[_Stretch]:
    """Begin, end and value of the time that each point is of."""
    before_ns: int | None = None
    for t_ns, value in zip(sampled.t_ns, sampled.values, strict=True):
        if before_ns is None or t_ns - before_ns > _PERIODS_HELD * period_ns:
            before_ns = t_ns - period_ns
        yield before_ns, t_ns, value
        before_ns = t_ns


def _moved_back(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """With what is above 100 % moved to the time just before, as far as that has room for it."""
    moved: list[_Stretch] = []
    excess = 0.0
    for begin_ns, end_ns, value in reversed(stretches):
        length_ns = end_ns - begin_ns
        whole = value * length_ns + excess
        if whole >= 100 * length_ns:
            moved.append((begin_ns, end_ns, 100.0))
            excess = whole - 100 * length_ns
            continue
        full_ns = int(excess / 100)
        moved.append((end_ns - full_ns, end_ns, 100.0))
        moved.append((begin_ns, end_ns - full_ns, (whole - excess) / (length_ns - full_ns)))
        excess = 0.0
    return moved[::-1]


def _means(stretches: Sequence[_Stretch], spans: Sequence[tuple[int, int]]) -> Iterator[float | None]:
    """Weighted by time, over the part of each span that is covered; None without any."""
    ends = [end_ns for _, end_ns, _ in stretches]
    for from_ns, to_ns in spans:
        covered_ns, weighted = 0, 0.0
        place = bisect_right(ends, from_ns)
        while place < len(stretches) and stretches[place][0] < to_ns:
            begin_ns, end_ns, value = stretches[place]
            span_ns = min(end_ns, to_ns) - max(begin_ns, from_ns)
            covered_ns += span_ns
            weighted += span_ns * value
            place += 1
        yield weighted / covered_ns if covered_ns else None
