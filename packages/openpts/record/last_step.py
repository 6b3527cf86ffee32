"""Reads where a record ends: all that a run needs of it which continues."""

from pathlib import Path
from typing import NamedTuple

from openpts.record.database import opened_record


class LastStep(NamedTuple):
    """What is known at the end of a record: ``steps`` are all so far; the rest is of the last of them.

    ``stored_at`` is ISO 8601, UTC; ``ended_ns`` on the engine's clock.
    """

    steps: int
    stored_at: str | None
    ended_ns: int
    carried: str


def last_step(folder: Path) -> LastStep:
    """What resuming a run needs of its record's end. Raises RecordError."""
    with opened_record(folder) as connection:
        # not count(*), within which SQLite can't be ended
        (count,) = connection.execute("SELECT count(step_id) FROM step").fetchone()
        found = connection.execute(
            "SELECT stored_at, started_ns + elapsed_ns, carried FROM step ORDER BY step_id DESC LIMIT 1"
        ).fetchone()
        return LastStep(count, *(found or (None, 0, "")))
