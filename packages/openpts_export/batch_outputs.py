"""What other programs read of a batch while it is in progress: a file of each run, or metrics of all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from openpts.errors import UsageError
from openpts.record.batch import BatchEntry
from openpts.temporary_folder import temporary_folder
from openpts_batch.cli.batch_display import OutputWords, of_run
from openpts_batch.executor import BatchEvent, BatchListener
from openpts_export.outputs import published_metrics


@contextmanager
def batch_ocp_diag(
    option: str, place: str, entries: Sequence[BatchEntry]
) -> Iterator[tuple[BatchListener, OutputWords]]:
    """A file of that form for each run of a batch. Raises UsageError for one that can't be."""
    for path in (Path(of_run(place, entry)) for entry in entries):
        if path.exists() or not path.parent.is_dir():
            why = "it exists already" if path.exists() else "there is no such folder"
            raise UsageError(f"can't write {option} {path}: {why}")
    yield lambda _event: None, lambda entry: (option, of_run(place, entry))


@contextmanager
def batch_metrics(
    option: str, place: str, entries: Sequence[BatchEntry]
) -> Iterator[tuple[BatchListener, OutputWords]]:
    """Metrics of all runs of a batch in one place."""
    from openpts_export.batch_metrics import BatchMetrics  # noqa: PLC0415 few batches need the library

    with temporary_folder("metrics") as folder:
        of_batch = BatchMetrics(folder, entries)
        with published_metrics(place, of_batch) as renew:

            def on_event(event: BatchEvent) -> None:
                of_batch.on_event(event)
                renew()

            yield on_event, lambda entry: (option, str(of_batch.file_of(entry)))
