"""What becomes of a suite's tests, one after the other."""

from openpts.errors import LostRecordError, RecordError
from openpts.record.manifest import RunState
from openpts_batch.in_turn import _state


def test_a_test_of_a_suite_that_lost_its_record_has_failed(tmp_path) -> None:
    """It was not refused, though there is no record of it."""
    assert _state(LostRecordError("gone"), tmp_path) is RunState.FAILED
    assert _state(RecordError("can't be made"), tmp_path) is RunState.REFUSED
