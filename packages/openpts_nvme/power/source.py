"""A source of watts: what it is, and its samples in pieces."""

from collections.abc import Iterator
from typing import Protocol

from openpts.errors import OpenptsError


class MeterError(OpenptsError):
    """A meter can't be reached, or says what can't be understood; the text says what to do."""


class PowerSource(Protocol):
    """Watts from somewhere.

    ``what`` says what is metered, how often and how exactly. ``period_ns`` is the time of a sample; it is
    known when the first piece has come.
    """

    what: str
    period_ns: float

    def pieces(self) -> Iterator[list[float]]:
        """Samples as they come, until the caller ends it. Raises MeterError."""
