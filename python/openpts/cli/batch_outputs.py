"""What other programs read of a batch while it goes on: files of each run, metrics of all in one place."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from openpts.batch.executor import BatchEvent, BatchListener, EntryOutput
from openpts.cli.background_listener import background_listener
from openpts.cli.live_outputs import EVENTS, METRICS, OCP_DIAG, STDOUT, given_outputs, opened_output
from openpts.errors import UsageError
from openpts.plugins import service
from openpts.record.batch import BatchEntry
from openpts.temporary_folder import temporary_folder

OF_EACH_RUN: Final = (EVENTS, OCP_DIAG, METRICS)
"""Options that a batch does not pass on as they are."""

_OutputWords = Callable[[BatchEntry], Sequence[str]]


@contextmanager
def batch_outputs(entries: Sequence[BatchEntry]) -> Iterator[tuple[BatchListener, _OutputWords]]:
    """A listener as long as the block lasts, and the options of the run of each entry.

    Raises UsageError for a place that can't be written, or that several runs can't share.
    """
    listeners: list[BatchListener] = []
    words: list[_OutputWords] = []
    with ExitStack() as held:
        for option, place in given_outputs().items():
            if place == STDOUT:
                raise UsageError(f"{option} - is for one drive: name a file, and each run has one of its own")
            if option == EVENTS:
                listeners.append(_events(place, entries, held))
            elif option == OCP_DIAG:
                words.append(_ocp_diag(place, entries))
            elif option == METRICS:
                listeners.append(_metrics(place, entries, held, words))
        heard = (background_listener(nullcontext(listener), name="an output") for listener in listeners)
        apart = [held.enter_context(each) for each in heard]

        def on_event(event: BatchEvent) -> None:
            for listener in apart:
                listener(event)

        yield on_event, lambda entry: [word for of_one in words for word in of_one(entry)]


def _of_run(place: str, entry: BatchEntry) -> str:
    """``events.jsonl`` as ``events-1-S1.jsonl``: a file for each run, in the same folder."""
    path = Path(place)
    return str(path.parent / f"{path.stem}-{entry.folder}{path.suffix}")


def _events(place: str, entries: Sequence[BatchEntry], held: ExitStack) -> BatchListener:
    """The lines that each run says to the batch anyway."""
    writes = [held.enter_context(opened_output(EVENTS, _of_run(place, entry))) for entry in entries]

    def on_event(event: BatchEvent) -> None:
        if isinstance(event, EntryOutput):
            writes[event.index](msgspec.json.encode(event.event) + b"\n")

    return on_event


def _ocp_diag(place: str, entries: Sequence[BatchEntry]) -> _OutputWords:
    for path in (Path(_of_run(place, entry)) for entry in entries):
        if path.exists() or not path.parent.is_dir():
            why = "it exists already" if path.exists() else "there is no such folder"
            raise UsageError(f"can't write {OCP_DIAG} {path}: {why}")
    return lambda entry: (OCP_DIAG, _of_run(place, entry))


def _metrics(
    place: str, entries: Sequence[BatchEntry], held: ExitStack, words: list[_OutputWords]
) -> BatchListener:
    from openpts.batch.batch_metrics import BatchMetrics  # noqa: PLC0415 few batches need the library

    folder = held.enter_context(temporary_folder("metrics"))
    metrics = BatchMetrics(folder, entries)
    renew = held.enter_context(service("published-metrics")(place, metrics))
    words.append(lambda entry: (METRICS, str(metrics.file_of(entry))))

    def on_event(event: BatchEvent) -> None:
        metrics.on_event(event)
        renew()

    return on_event
