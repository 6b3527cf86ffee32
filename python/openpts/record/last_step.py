"""Reads where a record ends: all that a run needs of it which goes on."""

from pathlib import Path
from typing import NamedTuple

from openpts.errors import RecordError
from openpts.record.database import opened_record
from openpts.record.schema import SCHEMA_VERSION


class LastStep(NamedTuple):
    """What is known at the end of a record: ``steps`` are all so far; the rest is of the last of them.

    ``stored_at`` is ISO 8601, UTC; ``ended_ns`` on the engine's clock.
    """

    steps: int
    stored_at: str | None
    ended_ns: int
    carried: str


def last_step(folder: Path) -> LastStep:
    """What resuming a run needs of its record's end. Raises RecordError, also for a record without it."""
    with opened_record(folder) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            raise RecordError(
                f"can't resume {folder}: its record has version {version}, and this openpts continues "
                f"records of version {SCHEMA_VERSION} only; run the test again"
            )
        (count,) = connection.execute("SELECT count(*) FROM step").fetchone()
        found = connection.execute(
            "SELECT stored_at, started_ns + elapsed_ns, carried FROM step ORDER BY step_id DESC LIMIT 1"
        ).fetchone()
        return LastStep(count, *(found or (None, 0, "")))
