"""Deviations of the test of response times under load: a preparation that did not come to steady state."""

from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation
from openpts_pts.shared.tracking import TrackedPhase


def findings(run: Run) -> tuple[Deviation, ...]:
    """An entry if random writes were not steady before the loads."""
    tracked = TrackedPhase.of(run).results
    if tracked.steady or not tracked.begun:
        return ()
    return (
        Deviation(
            "PTS-GEN-01",
            "1.1",
            "random writes until steady",
            f"not steady in {len(tracked.minutes)} tracked minutes",
            "loads are measured on a drive that was not in steady state",
        ),
    )
