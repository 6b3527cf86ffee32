"""When a report was made, without a clock."""

from collections.abc import Iterable

from openpts.record.manifest import Manifest
from openpts.record.reader import Run


def default_date(run: Run) -> str:
    """The end of the run, or its start where it never ended: the same record gives the same bytes."""
    return date_of([run.manifest])


def date_of(manifests: Iterable[Manifest]) -> str:
    """The same of several runs: that of the last."""
    return max(manifest.ended_at or manifest.started_at for manifest in manifests)
