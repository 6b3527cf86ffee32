"""What tests need as a subject: a clone of FioSynth, traces."""

from typing import Any, Final

from openpts_pts.conformance.catalogue import PTS
from tests import DATA

_DATA: Final = DATA
CLONE: Final = _DATA / "fiosynth"
SMALL_TRACE: Final = _DATA / "fio" / "small.iolog"


def with_subject(conditions: Any) -> Any:
    """The conditions with what their test is about; tests of the specification need nothing."""
    if conditions.test in PTS:
        return conditions
    from tests.support.job_subjects import with_job  # noqa: PLC0415 it imports plug-ins

    return with_job(conditions)
