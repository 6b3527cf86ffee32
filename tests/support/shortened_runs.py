"""Records of short runs on simulated drives: true in themselves, as an engine measured them."""

from pathlib import Path

from openpts.fields.conditions import at_time_scale
from openpts.record.reader import Run
from openpts.vocabulary.drive_class import DriveClass
from tests.support.whole_tests import run_whole

SMALL = "sim:enterprise-tlc?capacity=16GB"


def shortened_run(test: str, folder: Path, *, target: str = SMALL, scale: float = 0.004) -> Run:
    """A run of a test with all durations shortened; seconds of a processor's time at the most."""
    return run_whole(
        test, DriveClass.ENTERPRISE, folder, lambda conditions: at_time_scale(conditions, scale), target
    )
