"""The short form of preconditioning in a script: one pass for the state after long random writing."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.steady_state import judge
from openpts.errors import RunFailedError
from openpts.fields.conditions import Conditions
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.requests import Apply, ScriptPart, Slower, samples_in
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, OperationWeights, Step
from openpts.vocabulary.workload import simple_workload

_FALL: Final = 0.75
"""Collection has begun where the rate stays below so much of what it was."""
_STAYS: Final = 3
WINDOWS: Final = 10
"""Windows after a pass, of a hundredth of the range each, in which the rate has to be at rest."""
JUDGED: Final = 2 * WINDOWS
"""Windows that have to be at rest where the first ones were not."""
_MOST_DRIFT: Final = 0.03
_MOST_WARMING_K: Final = 1
_WARMS_FOR_S: Final = 300
"""Heat comes to rest in minutes, and a drive that is written to quickly is through its windows in seconds."""
_COOL_C: Final = 70
"""What drives bear without slowing down."""
_BISECTIONS: Final = 100
_MOST_AMPLIFICATION: Final = 1e4


class PassPart(Struct, frozen=True):
    """A part of the pass, in shares of the range: LBAs up to ``end``, then overwrites of those before it."""

    start: float
    end: float
    overwritten: float


def collection_began(rates: Sequence[float]) -> int | None:
    """The window in which collection was first at work, if the last of equally large ones show it; else None.

    Asked after each window of random writes. The rate has to stay below three quarters of what it was, over
    some windows: a flush or a hiccup of a cache ends by itself.
    """
    place = len(rates) - _STAYS
    if place < _STAYS:
        return None
    usual = median(rates[:place])
    return place if all(rate < _FALL * usual for rate in rates[place:]) else None


def is_fresh(rates: Sequence[float], fresh: Sequence[float]) -> bool:
    """Whether the first windows after a pass are about as fast as those before collection was at work."""
    return median(rates[:_STAYS]) > _FALL * median(fresh)


def amplification(flash: float) -> float:
    """Write amplification of uniform random writes, oldest block first, on ``flash`` user capacities."""
    low, high = 1.0, _MOST_AMPLIFICATION
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-flash / middle) < 1 else (low, middle)
    return high


def pieces(flash: float, count: int) -> tuple[PassPart, ...]:
    """The pass over a drive whose flash holds ``flash`` user capacities, more than 1, in equal parts."""
    factor = amplification(flash)
    ends = [-factor * math.expm1(-flash * number / count / factor) for number in range(count)] + [1.0]
    return tuple(
        PassPart(start, end, max(0.0, flash / count - (end - start))) for start, end in pairwise(ends)
    )


def at_rest(rates: Sequence[float]) -> bool:
    """Whether the windows after a pass go neither up nor down: the pass has left a steady state.

    Where the first of them do, ``JUDGED`` have to be at rest: the rate may only turn about there.
    """
    last = _judged(rates)
    if len(rates) != WINDOWS and len(last) < JUDGED:
        return False
    return judge(range(len(last)), last).range_ok and drift(rates) <= _MOST_DRIFT


def drift(rates: Sequence[float]) -> float:
    """How much the windows on which it is judged rise or fall along their line, as a share of their mean."""
    last = _judged(rates)
    report = judge(range(len(last)), last)
    return report.slope_excursion / report.average


def unrest(rates: Sequence[float]) -> str:
    """What keeps windows after a pass from being at rest, in words."""
    last = _judged(rates)
    if drift(rates) > _MOST_DRIFT:
        return f"it still moves by {100 * drift(rates):.0f} % over {len(last)} windows"
    return f"{len(last)} windows range over {judge(range(len(last)), last).range_pct:.0f} % of their mean"


def warms_up(temperatures_c: Sequence[float], length_s: float) -> bool:
    """Whether a drive got so much warmer in the last windows that heat may slow it down later.

    The rate is that of long writing only at the temperature of long writing.
    """
    if not temperatures_c:
        return False
    warming_k = temperatures_c[-1] - temperatures_c[0]
    yet_to_come_k = warming_k * max(1, _WARMS_FOR_S / length_s)
    return warming_k > _MOST_WARMING_K and temperatures_c[-1] + yet_to_come_k > _COOL_C


def _judged(rates: Sequence[float]) -> Sequence[float]:
    return rates[-JUDGED:] if len(rates) > WINDOWS else rates


IN_SEQUENCE, UNTIL_COLLECTION, PASS, AFTERWARDS, EMPTIED = 1, 2, 3, 4, 5
"""Numbers of the parts of Phase.CONDITIONING; EMPTIED comes before PASS."""

_SEQUENTIAL_BYTES: Final = 128 * KIB
_RANDOM_BYTES: Final = 4 * KIB
_TRIM_BYTES: Final = 16 * MIB
_TC, _QD = 4, 32
_WINDOW: Final = 0.0025
_MOST_WINDOWS: Final = 400
_USUAL_WINDOWS: Final = 30
"""What a plan assumes: 7.5 % of spare flash."""
_PIECES: Final = 100
_LATER_WINDOW: Final = 0.01
_MOST_LATER_WINDOWS: Final = 60
_MOST_UNEXPLAINED: Final = 1.6
"""Collection reads what it moves, and erases, beside the writes that amplification counts."""


class OnePass(Struct, frozen=True):
    """What the windows before a pass and after it showed, in active ranges.

    ``known_flash`` is what the flash holds by an earlier run; ``fresh`` are then random writes of the pass.
    """

    fresh: tuple[Sample, ...]
    afterwards: tuple[Sample, ...]
    known_flash: float | None = None

    @classmethod
    def of(cls, numbered: Iterable[tuple[int, Sample]], known_flash: float | None = None) -> Self:
        """Out of the samples of conditioning, each with the number of its part."""
        parts: dict[int, list[Sample]] = defaultdict(list)
        for number, sample in numbered:
            parts[number].append(sample)
        # the first random writes of a pass are few
        fresh = parts[UNTIL_COLLECTION] if known_flash is None else parts[PASS][_PIECES + 1 :: 2]
        return cls(tuple(fresh), tuple(parts[AFTERWARDS]), known_flash)

    @property
    def flash(self) -> float | None:
        """What the flash holds."""
        return self.known_flash or flash_found([one.iops for one in self.fresh])

    @property
    def rates(self) -> list[float]:
        """IOPS of the windows after the pass."""
        return [one.iops for one in self.afterwards]

    @property
    def is_at_rest(self) -> bool:
        """Whether neither rate nor temperature moves any more."""
        return at_rest(self.rates) and not self._warms_up

    @property
    def _warms_up(self) -> bool:
        last = self.afterwards[-JUDGED:]
        return warms_up(_temperatures_c(last), sum(one.elapsed_ns for one in last) / NS_PER_S)

    @property
    def why_not(self) -> str:
        """Why the short form doesn't hold; empty if it does."""
        windows = (*self.fresh, *self.afterwards)
        if any(interval.throttled for one in windows for interval in one.intervals):
            return "heat slowed the drive down, and may do so at other times than at full length"
        if self.flash is None:
            return "the rate never fell for good, as it does where collection of full flash begins"
        if not self.afterwards:
            return "nothing was written after the pass"
        return self._other_flash(self.flash) or self._other_state(self.flash)

    def _other_flash(self, flash: float) -> str:
        if self.known_flash is None:
            return ""
        fresh = [one.iops for one in self.fresh]
        found = "less" if collection_began(fresh) else "more" if is_fresh(self.rates, fresh) else ""
        return found and f"the flash holds {found} than {flash:g} active ranges, by when collection began"

    def _other_state(self, flash: float) -> str:
        rates = self.rates
        if not at_rest(rates):
            return (
                "the rate after the pass does not come to rest, as with a cache that is folded, a map of "
                f"blocks, compression or heat: {unrest(rates)}"
            )
        if self._warms_up:
            celsius = _temperatures_c(self.afterwards)[-1]
            return f"the drive gets warmer, {celsius:g} °C by now: heat may slow it down later"
        fell = median(one.iops for one in self.fresh) / fmean(rates[-WINDOWS:])
        explained = amplification(flash)
        if fell > _MOST_UNEXPLAINED * explained:
            return (
                f"the rate fell to 1/{fell:.1f} and collection explains 1/{explained:.1f}: a cache takes "
                "writes, or the map is one of blocks"
            )
        return ""

    @property
    def state_off(self) -> float | None:
        """By what share the state may be off; None where the test continues at full length.

        The rate may continue as it rises or falls at the end, and what the flash holds is known to half a
        window, or as exactly as it was printed.
        """
        if self.why_not or self.flash is None:
            return None
        half = _WINDOW / 2 if self.known_flash is None else _WINDOW
        most, least = amplification(self.flash - half), amplification(self.flash + half)
        return drift(self.rates) + (most / least - 1) / 2


def condition_in_one_pass(
    conditions: Conditions,
    user_capacity_bytes: int,
    known_flash: float | None = None,
    *,
    only_short: bool = False,
) -> ScriptPart[bool]:
    """Find how much the flash holds, then bring the active range into the steady state of random writes.

    Writes twice what the flash holds and trims the range once, or once with ``known_flash``, on a purged
    drive. Returns whether the drive behaved as the state of random writes has it (``OnePass``); raises
    RunFailedError where it didn't, and there is to be no test at full length.
    """
    slower = Slower.ALWAYS if only_short else Slower.AT_SHORTEST
    reason = (yield from _carried_out(conditions, user_capacity_bytes, known_flash, slower)).why_not
    if reason and only_short:
        raise RunFailedError(
            f"the short form does not hold for this drive: {reason}; to continue at full length, leave out "
            "--only-short"
        )
    return not reason


def _carried_out(
    conditions: Conditions, user_capacity_bytes: int, known_flash: float | None, slower: Slower
) -> ScriptPart[OnePass]:
    whole = _Range(conditions, user_capacity_bytes)
    samples: list[tuple[int, Sample]] = []
    flash = known_flash
    if flash is None:
        # All LBAs, in sequence: blocks that are full of valid pages, and the spare ones free
        yield Apply(Phase.CONDITIONING, IN_SEQUENCE, (whole.sequential(0, 1),))

        # Random writes until free blocks run out: that is what the flash holds beyond the range
        while OnePass.of(samples).flash is None and len(samples) < _MOST_WINDOWS:
            begun = slower if len(samples) >= _USUAL_WINDOWS else Slower.NEVER
            window = yield _window(UNTIL_COLLECTION, whole.random(1, _WINDOW), begun)
            samples.append((UNTIL_COLLECTION, samples_in(window)[-1]))

        # Empty flash, so that the pass makes no collection: what it moves would have another age
        yield Apply(Phase.CONDITIONING, EMPTIED, (whole.trimmed(),))
        if (flash := OnePass.of(samples).flash) is None:
            return OnePass.of(samples)

    steps = [
        step
        for piece in pieces(flash, _PIECES)
        for step in (whole.sequential(piece.start, piece.end), whole.random(piece.end, piece.overwritten))
    ]
    written = yield Apply(Phase.CONDITIONING, PASS, tuple(steps), with_intervals=True)
    samples += [(PASS, sample) for sample in samples_in(written)]

    found = OnePass.of(samples, known_flash)
    while len(found.afterwards) < _MOST_LATER_WINDOWS and not found.is_at_rest:
        window = yield _window(AFTERWARDS, whole.random(1, _LATER_WINDOW), slower)
        samples.append((AFTERWARDS, samples_in(window)[-1]))
        found = OnePass.of(samples, known_flash)
    return found


def _window(number: int, step: Step, slower: Slower) -> Apply:
    return Apply(Phase.CONDITIONING, number, (step,), with_intervals=True, slower=slower)


def _temperatures_c(windows: Sequence[Sample]) -> list[float]:
    """The highest of each window, of drives that tell theirs."""
    readings = [[one.temperature_c for one in window.intervals if one.temperature_c] for window in windows]
    return [max(window) for window in readings if window]


def flash_found(rates: Sequence[float]) -> float | None:
    """What the flash holds, in active ranges, by the IOPS of each window until collection began."""
    began = collection_began(rates)
    return None if began is None else 1 + (began + 0.5) * _WINDOW


class _Range:
    """The active range, and steps that write parts of it."""

    def __init__(self, conditions: Conditions, user_capacity_bytes: int) -> None:
        self._conditions = conditions
        self._active = conditions.active_range
        self._span_pct = self._active.end_pct - self._active.start_pct
        self._bytes = self._span_pct / 100 * user_capacity_bytes

    def sequential(self, start: float, end: float) -> Step:
        """The LBAs between two shares of the range, once."""
        return self._step(AccessPattern.SEQUENTIAL, _SEQUENTIAL_BYTES, start, end, end - start, tc=1)

    def random(self, end: float, amount: float) -> Step:
        """So much of the range, at random below a share of it."""
        return self._step(AccessPattern.RANDOM, _RANDOM_BYTES, 0, end, amount, tc=_TC)

    def trimmed(self) -> Step:
        """All LBAs, trimmed."""
        step = self._step(AccessPattern.SEQUENTIAL, _TRIM_BYTES, 0, 1, 1, tc=1)
        assert step.stimulus is not None  # noqa: S101 it has one stream
        return Step.of(replace(step.stimulus, operations=OperationWeights(trim=1)), step.stop)

    def _step(
        self, pattern: AccessPattern, size_bytes: int, start: float, end: float, amount: float, *, tc: int
    ) -> Step:
        first_pct = self._active.start_pct
        stimulus = simple_workload(pattern.short.lower(), pattern, size_bytes, 0).stimulus(
            tc=tc,
            qd=_QD,
            active_range=ActiveRange(first_pct + start * self._span_pct, first_pct + end * self._span_pct),
            data=self._conditions.data,
        )
        return Step.of(stimulus, ByteAmount(max(size_bytes, round(amount * self._bytes))))
