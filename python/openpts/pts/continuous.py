"""A long stimulus cut into steps, so that the record never holds back more than half an hour."""

from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import Duration

MINUTES_PER_STEP = 30


def continuous(stimulus: Stimulus, duration_ns: int, minute_ns: int) -> tuple[Step, ...]:
    """Steps of ``MINUTES_PER_STEP`` minutes, and what is left: the engine runs them without a pause."""
    longest_ns = MINUTES_PER_STEP * minute_ns
    whole, rest_ns = divmod(duration_ns, longest_ns)
    steps = (Step(stimulus, Duration(longest_ns)),) * whole
    return (*steps, Step(stimulus, Duration(rest_ns))) if rest_ns else steps
