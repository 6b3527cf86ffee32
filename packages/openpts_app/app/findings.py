"""Deviations of an application benchmark: caches that could not be dropped, sets that make no figure."""

from collections.abc import Iterator

from openpts.procedures.kit.content import spread_deviations
from openpts.record.reader import Run
from openpts.vocabulary.command_run import RunKind
from openpts.vocabulary.verdict import Deviation
from openpts_app.app import AppConditions
from openpts_app.app.results import AppResults

_GUIDE = "Solidigm guide"


def findings(run: Run) -> tuple[Deviation, ...]:
    """What the runs of the program lack."""
    results = AppResults(run.conditions(AppConditions), run.manifest.command_runs)
    return tuple(
        found
        for found in (_not_cold(results), *_spread(results), _left_behind(results), _resumed(results))
        if found is not None
    )


def _not_cold(results: AppResults) -> Deviation | None:
    """Cold runs whose caches could not be dropped."""
    lukewarm = [run for run in results.of_kind(RunKind.COLD) if not run.cold]
    if not lukewarm:
        return None
    return Deviation(
        rule_id="SOL-GEN-06",
        clause=f"{_GUIDE} 2.4",
        required="an empty page cache before each cold run",
        used=f"{', '.join(run.name for run in lukewarm)}: page cache {lukewarm[0].page_cache}",
        effect="what was read before may come from memory: the runs are not cold",
    )


def _spread(results: AppResults) -> Iterator[Deviation]:
    """Sets of warm runs that are too far apart for a figure."""
    figure = results.conditions.figure
    times = (
        (f"{name}{' ' * bool(name)}time", one.times(RunKind.WARM)) for name, one in results.parts.items()
    )
    sets = (*times, (figure.name if figure else "", results.printed(RunKind.WARM)))
    return spread_deviations((name, repeats) for name, repeats in sets if repeats is not None)


def _left_behind(results: AppResults) -> Deviation | None:
    """Runs that did not end with their program."""
    busy = [run for run in results.runs if run.left_behind]
    if not busy:
        return None
    return Deviation(
        rule_id="SOL-GEN-05",
        clause=f"{_GUIDE} 2.4",
        required="runs that end with the command",
        used=", ".join(f"{run.name} left {run.left_behind} running" for run in busy),
        effect="their processes were ended; what they had still to do is in no time",
    )


def _resumed(results: AppResults) -> Deviation | None:
    """Runs on file systems that were prepared at different times."""
    attempts = len({run.attempt for run in results.runs})
    if attempts < 2:
        return None
    return Deviation(
        rule_id="SOL-GEN-05",
        clause=f"{_GUIDE} 2.4",
        required="all runs on one preparation of the file system",
        used=f"runs after {attempts} preparations, each with a conditioning run",
        effect="the drive's history, and where files are on it, may differ between the runs",
    )
