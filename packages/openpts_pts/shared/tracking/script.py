"""A continuous stimulus, judged by single minutes: WSAT, and preconditioning of HIR, CBW and DIRTH.

The tracked minutes begin 30 minutes apart, with minute 1: minutes 1, 31, 61 and so on (PTS 10.3.2, 11.2 step
3.2, 13.2 step 3.2.2; openpts' reading for WSAT too). Between them the stimulus continues without a break, so
tracking round k is what lies between two tracked minutes, and the tracked minute at its end.
"""

from msgspec import Struct

from openpts.vocabulary.requests import Apply, ScriptPart, samples_in
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Duration, Step, Stimulus, Stream
from openpts_pts.shared.judged_rounds import JudgedRounds


class Tracking(Struct, frozen=True):
    """What is applied, and how it is tracked; ``name`` is that of the tracking variable in displays.

    ``streams`` are applied at once; most tests have one. Rounds are numbered behind ``before`` others of the
    same phase.
    """

    phase: Phase
    streams: tuple[Stream, ...]
    name: str
    minute_ns: int
    period_ns: int
    max_rounds: int
    before: int = 0

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
    judged = JudgedRounds(tracking.phase, (tracking.name,), tracking.before)
    last = tracking.before + tracking.max_rounds
    for number in range(1, tracking.max_rounds + 1):
        steps = tracking.round_steps(number)
        *_, minute = samples_in((yield Apply(tracking.phase, tracking.before + number, steps, last)))
        if (yield from judged.steady_with((minute,), minute.iops)):
            return number, number
    return None, tracking.max_rounds
