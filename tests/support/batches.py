"""Suites as their folders have them."""

from typing import Final

from openpts.record.batch import Batch, BatchEntry, Suite
from openpts.record.manifest import RequestedSettings
from openpts.vocabulary.run_request import RunRequest

ORDERED: Final = RequestedSettings("/dev/nvme9n1", "auto", None, "each", (), False, 0, False, None, None)


def suite_entry(test: str, folder: str, **fields: object) -> BatchEntry:
    """A test of a suite."""
    request = RunRequest(run_id=folder, test_words=(test,), target="/dev/nvme9n1")
    return BatchEntry(request=request, folder=folder, **fields)  # type: ignore[arg-type]


def suite_of(*entries: BatchEntry, target: str = "/dev/nvme9n1", **fields: object) -> Batch:
    """A suite on this target."""
    return Batch(
        batch_id="ID",
        started_at="2025-01-14T08:11:00Z",
        suite=Suite(target=target, revision="PTS-E 2.0.1", ordered=ORDERED),
        entries=entries,
        **fields,  # type: ignore[arg-type]
    )
