"""What scripts of several tests do: sequential writes, rounds judged as they come in, tracked minutes."""

from collections.abc import Sequence

from msgspec import Struct, field

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.fields.conditions import Conditions
from openpts.vocabulary.requests import Apply, Script, ScriptPart, SteadyStateChecked, samples_in
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, Duration, Step, Stimulus, Stream
from openpts.vocabulary.workload import simple_workload


def written_in_sequence(
    conditions: Conditions,
    block_size_bytes: int,
    amount_bytes: float,
    *,
    tc: int,
    qd: int,
    phase: Phase = Phase.CONDITIONING,
) -> Script:
    """So many bytes over the active range, without a restriction to LBA segments; nothing where that is 0.

    WIPC of a test (PTS 2.1.18 a, 3.3), or its conditioning.
    """
    if not amount_bytes:
        return
    writes = simple_workload("seq", AccessPattern.SEQUENTIAL, block_size_bytes, 0)
    stimulus = writes.stimulus(tc=tc, qd=qd, active_range=conditions.active_range, data=conditions.data)
    yield Apply(phase, 1, (Step.of(stimulus, ByteAmount(round(amount_bytes))),))


class JudgedRounds(Struct):
    """The figures of all rounds so far; the last five are judged whenever one has ended (PTS 2.1.24).

    ``names`` are those of the variables, without any it is never steady.
    """

    phase: Phase
    names: tuple[str, ...]
    history: list[tuple[float, ...]] = field(default_factory=list)
    disturbed: set[int] = field(default_factory=set)

    def steady_with(self, samples: Sequence[Sample], *figures: float) -> ScriptPart[bool]:
        """Add a round; whether the window that ends with it is steady in each variable."""
        self.history.append(figures)
        number = len(self.history)
        if any(sample.standstills for sample in samples):
            self.disturbed.add(number)
        if number < WINDOW_ROUNDS or not self.names:
            return False
        reports = tuple(
            window_ending_at(series, number, self.disturbed) for series in zip(*self.history, strict=True)
        )
        yield SteadyStateChecked(self.phase, number, self.names, reports)
        return all(report.steady for report in reports)


class Tracking(Struct, frozen=True):
    """A continuous stimulus, judged by single minutes: WSAT, and preconditioning of HIR, CBW and DIRTH.

    The tracked minutes begin 30 minutes apart, with minute 1: minutes 1, 31, 61 and so on (PTS 10.3.2, 11.2
    step 3.2, 13.2 step 3.2.2; openpts' reading for WSAT too). Between them the stimulus continues without a
    break, so tracking round k is what lies between two tracked minutes, and the tracked minute at its end.
    ``name`` is that of the tracking variable in displays. ``streams`` are applied at once; most tests have
    one.
    """

    phase: Phase
    streams: tuple[Stream, ...]
    name: str
    minute_ns: int
    period_ns: int
    max_rounds: int

    @property
    def stimulus(self) -> Stimulus:
        """Stimulus of the first stream, the only one where the specification tracks."""
        return self.streams[0].stimulus

    def round_steps(self, number: int) -> tuple[Step, ...]:
        """Steps of tracking round ``number``: the last one is the tracked minute."""
        minute = Step(self.streams, Duration(self.minute_ns))
        if number == 1 or self.period_ns <= self.minute_ns:
            return (minute,)
        return (Step(self.streams, Duration(self.period_ns - self.minute_ns)), minute)


def until_steady(tracking: Tracking) -> ScriptPart[tuple[int | None, int]]:
    """Apply the stimulus until its IOPS are steady, or for the last tracking round.

    Returns the steady round, or None, and the last round.
    """
    judged = JudgedRounds(tracking.phase, (tracking.name,))
    for number in range(1, tracking.max_rounds + 1):
        steps = tracking.round_steps(number)
        *_, minute = samples_in((yield Apply(tracking.phase, number, steps, tracking.max_rounds)))
        if (yield from judged.steady_with((minute,), minute.iops)):
            return number, number
    return None, tracking.max_rounds
