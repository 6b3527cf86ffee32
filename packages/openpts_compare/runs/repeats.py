"""Why runs of a set are no repeats of each other, so that their spread says nothing of chance."""

from collections.abc import Sequence

from openpts.analysis.sessions import DRIFT_LIMIT, drift_chance
from openpts_compare.runs.measured_run import RunAttributes


def drift_of(values: Sequence[float], runs: Sequence[RunAttributes]) -> str:
    """Why runs of a real drive drift, if the order of their values says so; empty where they do not."""
    made = [
        (run.made.started_s, value, run.folder)
        for value, run in zip(values, runs, strict=True)
        if run.made is not None
    ]
    made.sort(key=lambda one: one[0])
    chance = drift_chance([value for _, value, _ in made])
    if chance > DRIFT_LIMIT:
        return ""
    return (
        f"the {len(made)} runs from {made[0][2]} on drift, each near the one before it, as by chance in "
        f"{100 * chance:.2g} %: they are no repeats; bring drive and host into the same state before each"
    )


def repeated_run(*sides: Sequence[RunAttributes]) -> str:
    """Why runs that should be repeats are the same one; empty where they are not."""
    if any(_several([run.seeds for run in side]) for side in sides):
        return "simulated runs of one set have the same seed: they are one run, repeated"
    of_folders = {run.folder: run for side in sides for run in side}.values()
    if _several([run.source for run in of_folders]):
        return "the same results were imported twice: they are one run"
    if _several([run.test_id for run in of_folders]):
        return "two folders are copies of one run: leave one out"
    return ""


def _several(marks: Sequence[object]) -> bool:
    """Whether two runs have the same mark: a simulated drive with the same seeds shows no spread."""
    known = [mark for mark in marks if mark is not None]
    return len(set(known)) < len(known)
