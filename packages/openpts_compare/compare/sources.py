"""Which runs an operator named to be compared, under which labels, and which of them are cold."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from openpts.errors import UsageError
from openpts.report.sources import read_for_report, refuse_repeated, run_folders_of
from openpts_compare.compare.contenders import NamedRun


def read_entries(
    paths: Sequence[Path], labels: Mapping[Path, str] | None = None, cold: Sequence[Path] = ()
) -> list[NamedRun]:
    """Read run folders, and suites for all runs in them.

    A label or ``cold`` of a suite holds for all its runs. Raises UsageError for a folder named twice, and for
    a label or ``cold`` of a folder that is not compared; RecordError for a folder that can't be read.
    """
    folders = [(path, folder) for path in paths for folder in run_folders_of([path])]
    refuse_repeated([folder for _, folder in folders])
    named = {place.resolve() for pair in folders for place in pair}
    for what, chosen in (("--label", labels or {}), ("--cold", cold)):
        for path in chosen:
            if path.resolve() not in named:
                raise UsageError(f"invalid {what} of {path}: not one of the compared runs")
    by_place = {path.resolve(): label for path, label in (labels or {}).items()}
    cold_places = {path.resolve() for path in cold}
    entries = []
    for path, folder in folders:
        places = (folder.resolve(), path.resolve())
        label = next((by_place[place] for place in places if place in by_place), "")
        entries.append(NamedRun(read_for_report(folder), label, cold=not cold_places.isdisjoint(places)))
    return entries
