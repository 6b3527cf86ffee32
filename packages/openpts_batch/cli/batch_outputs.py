"""What other programs read of a batch in progress: files of each run, metrics of all in one place."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from openpts.cli.background_listener import background_listener
from openpts.cli.live_outputs import EVENTS, STDOUT, given_outputs, opened_output
from openpts.errors import UsageError
from openpts.plugins import Kind, calling, load, offers
from openpts.record.batch import BatchEntry
from openpts_batch.executor import BatchEvent, BatchListener, EntryOutput

OF_EACH_RUN: Final = (EVENTS, *(f"--{name}" for name in offers(Kind.BATCH_OUTPUT)))
"""Options that a batch does not pass on as they are."""

OutputWords = Callable[[BatchEntry], Sequence[str]]
_BatchOutput = AbstractContextManager[tuple[BatchListener, OutputWords]]


@contextmanager
def batch_outputs(entries: Sequence[BatchEntry]) -> Iterator[tuple[BatchListener, OutputWords]]:
    """A listener as long as the block lasts, and the options of the run of each entry.

    Raises UsageError for a place that can't be written, or that several runs can't share.
    """
    listeners: list[BatchListener] = []
    words: list[OutputWords] = []
    with ExitStack() as held:
        for option, place in given_outputs().items():
            if place == STDOUT:
                raise UsageError(f"{option} - is for one drive: name a file, and each run has one of its own")
            if option == EVENTS:
                listeners.append(_events(place, entries, held))
            elif offer := offers(Kind.BATCH_OUTPUT).get(option.strip("-")):
                with calling(offer):
                    opened: _BatchOutput = load(offer)(option, place, entries)
                listener, of_entry = held.enter_context(opened)
                listeners.append(listener)
                words.append(of_entry)
        isolated = (background_listener(nullcontext(listener), name="an output") for listener in listeners)
        apart = [held.enter_context(each) for each in isolated]

        def on_event(event: BatchEvent) -> None:
            for listener in apart:
                listener(event)

        yield on_event, lambda entry: [word for of_one in words for word in of_one(entry)]


def of_run(place: str, entry: BatchEntry) -> str:
    """``events.jsonl`` as ``events-1-S1.jsonl``: a file for each run, in the same folder."""
    path = Path(place)
    return str(path.parent / f"{path.stem}-{entry.folder}{path.suffix}")


def _events(place: str, entries: Sequence[BatchEntry], held: ExitStack) -> BatchListener:
    """The lines that each run says to the batch anyway."""
    writes = [held.enter_context(opened_output(EVENTS, of_run(place, entry))) for entry in entries]

    def on_event(event: BatchEvent) -> None:
        if isinstance(event, EntryOutput):
            writes[event.index](msgspec.json.encode(event.event) + b"\n")

    return on_event
