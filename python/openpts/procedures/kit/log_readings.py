"""Readings of the drive's own log around programs of a script, where its test leaves breaks for them."""

from collections.abc import Container

from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Answer, Apply, Purge, ReadHealth, Script


def with_log_readings(script: Script, phases: Container[Phase]) -> Script:
    """The script, which also asks for a reading before and after each program of these phases.

    One reading between two programs is enough for all that ask; around a purge and at the end of a run
    the log is read in any case.
    """
    answer: Answer = None
    last: Apply | None = None
    is_read = True
    while True:
        try:
            request = script.send(answer)
        except StopIteration:
            return
        if isinstance(request, Apply):
            asks = last if last is not None and last.phase in phases else request
            if not is_read and asks.phase in phases:
                yield ReadHealth(asks.phase, asks.number)
            last, is_read = request, False
        elif isinstance(request, Purge | ReadHealth):
            is_read = True
        answer = yield request
