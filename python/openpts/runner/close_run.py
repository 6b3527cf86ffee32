"""However a run ends, its record says so and is closed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from openpts.errors import InterruptedRunError, OpenptsError
from openpts.record.manifest import RunState
from openpts.record.writer import RunWriter
from openpts.runner.events import Listener, RunEnded


@contextmanager
def closing_record(writer: RunWriter, emit: Listener) -> Iterator[Callable[[], None]]:
    """Close the record when the block is left; call what is yielded when the test came to its end."""
    end = RunEnded(RunState.FAILED, "openpts itself failed")

    def complete() -> None:
        nonlocal end
        end = RunEnded(RunState.COMPLETE, None)

    try:
        yield complete
    except (InterruptedRunError, KeyboardInterrupt) as error:
        end = RunEnded(RunState.INTERRUPTED, str(error) or "stopped by the operator")
        raise
    except OpenptsError as error:
        end = RunEnded(RunState.FAILED, str(error))
        raise
    finally:
        try:
            writer.update_manifest(
                state=end.state,
                state_reason=end.reason,
                ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        finally:
            try:
                writer.close()
            finally:
                emit(end)
