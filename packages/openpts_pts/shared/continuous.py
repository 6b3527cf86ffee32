"""A long stimulus cut into steps, so that the record never holds back more than half an hour."""

import math
from collections.abc import Iterator
from typing import Final

from openpts.errors import UsageError
from openpts.units import format_duration
from openpts.vocabulary.stimulus import Duration, Step, Stimulus

MINUTES_PER_STEP = 30
_MOST_STEPS: Final = 1_000_000


def continuous(stimulus: Stimulus, duration_ns: int, minute_ns: int) -> tuple[Step, ...]:
    """Steps of ``MINUTES_PER_STEP`` minutes, and what is left: the engine runs them without a pause.

    Raises UsageError for more steps than a plan can hold.
    """
    longest_ns = MINUTES_PER_STEP * minute_ns
    whole, rest_ns = divmod(duration_ns, longest_ns)
    if whole > _MOST_STEPS:
        raise UsageError(
            f"cannot plan {format_duration(duration_ns)} of {stimulus}: {whole:,} steps of "
            f"{format_duration(longest_ns)}, the limit is {_MOST_STEPS:,}; make the time shorter"
        )
    steps = (Step.of(stimulus, Duration(longest_ns)),) * whole
    return (*steps, Step.of(stimulus, Duration(rest_ns))) if rest_ns else steps


def histogram_steps(histogram_ns: int, minute_ns: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Steps of a response time histogram, with the parameters that they follow from."""
    yield ("step_seconds", "histogram_seconds"), histogram_ns // (MINUTES_PER_STEP * minute_ns)


def transferred_for(written_bytes: float, read_pct: int) -> int | None:
    """Bytes transferred, reads included, until so many are written; None where nothing is written."""
    return None if read_pct >= 100 else math.ceil(written_bytes * 100 / (100 - read_pct))
