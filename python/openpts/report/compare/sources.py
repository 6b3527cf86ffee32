"""Which runs an operator named to be compared, under which labels, and which of them are cold."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from openpts.errors import UsageError
from openpts.report.compare.contenders import Entry
from openpts.report.sources import ReportSource, read_for_report


def read_entries(
    paths: Sequence[Path], labels: Mapping[Path, str] | None = None, cold: Sequence[Path] = ()
) -> list[Entry]:
    """Read run folders, and suites for all runs in them.

    A label or ``cold`` of a suite holds for all its runs. Raises UsageError for a folder named twice, and for
    a label or ``cold`` of a folder that is not compared; RecordError for a folder that can't be read.
    """
    labels = labels or {}
    folders = [(path, folder) for path in paths for folder in ReportSource.of([path]).run_folders]
    known = {_whole(folder) for _, folder in folders}
    if len(known) < len(folders):
        raise UsageError("cannot compare: a run is named twice and would count as two; name each run once")
    named = known | {_whole(path) for path, _ in folders}
    for what, chosen in (("--label", labels), ("--cold", cold)):
        for path in chosen:
            if _whole(path) not in named:
                raise UsageError(f"invalid {what} of {path}: not one of the compared runs")
    by_folder = {_whole(path): label for path, label in labels.items()}
    cold_folders = {_whole(path) for path in cold}
    entries = []
    for path, folder in folders:
        places = (_whole(folder), _whole(path))
        label = next((by_folder[place] for place in places if place in by_folder), "")
        entries.append(
            Entry(read_for_report(folder), label, cold=any(place in cold_folders for place in places))
        )
    return entries


def _whole(path: Path) -> Path:
    return path.resolve()
