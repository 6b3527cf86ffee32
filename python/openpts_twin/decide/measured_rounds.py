"""Rounds on one drive, or on several at once, each a run of its own in a thread, all at the same round.

A run goes on with a round when all have ended the one before, so that none is measured further than it takes
to decide. One that reached steady state before the others waits for them with its drive idle: what comes
right behind that is not counted.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event as Signal
from threading import Semaphore, Thread
from typing import Final

from msgspec import Struct, field

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.minutes import pieces_of
from openpts.analysis.uncertainty import Block
from openpts.errors import InterruptedRunError
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.events import Event, RunStarted, SteadyStateJudged, StepFinished, StepsStarted
from openpts.runner.order import Order
from openpts.runner.run import run_test
from openpts.vocabulary.phase import Phase, phase_text
from openpts.vocabulary.sample import Measured, Sample

UNCOUNTED: Final = 2
"""Rounds behind steady state that only bring the drives to the same round."""

Said = Callable[[int, str], None]
"""Takes what happens on the drive of that number, in words."""


def figure_of(measured: Measured, figure: str) -> float | None:
    """A figure of a round or an interval in ns, IOPS or B/s; None where it has no I/O."""
    match figure:
        case "iops":
            return measured.iops or None
        case "throughput":
            return measured.bandwidth_bytes_per_s or None
        case "mean":
            return measured.mean_latency_ns
        case "max":
            return measured.max_latency_ns
    encoded = [one.histogram for one in measured.transfers if one.histogram]
    return LatencyDistribution.merged(encoded).percentile_ns(float(figure[1:]))


def block_of(
    samples: Sequence[Sample], figure: str, towards_yes: Callable[[tuple[float, ...]], float], place: int
) -> tuple[Block, tuple[float, ...]] | None:
    """A round of all drives for the judge, and the figure of each; None where one of them has no I/O.

    The intervals of rounds tell how far one tells of the next; each has I/Os enough for a rate or a mean.
    """
    values = tuple(found for one in samples if (found := figure_of(one, figure)))
    if len(values) < len(samples):
        return None
    parts: list[float] = []
    if figure in {"iops", "throughput", "mean"}:
        whole = ([one.measured for one in pieces_of([sample]) if not one.rest] for sample in samples)
        for intervals in zip(*whole, strict=False):
            of_each = tuple(found for one in intervals if (found := figure_of(one, figure)))
            if len(of_each) == len(samples):
                parts.append(towards_yes(of_each))
    first = samples[0]
    block = Block(
        place * first.elapsed_ns, first.elapsed_ns, towards_yes(values), tuple(parts), first.interval_ns
    )
    return block, values


class _Run(Struct, kw_only=True):
    """The run of one drive; ``go`` lets it begin the next round, ``stop`` ends it at its next event."""

    number: int
    test: Procedure
    order: Order
    said: SimpleQueue[tuple[int, Sample | BaseException | None]]
    on_said: Said
    stop: Signal
    go: Semaphore = field(default_factory=lambda: Semaphore(0))
    most: int = 0
    is_steady: bool = False
    is_counting: bool = False
    phase: Phase | None = None

    def go_through(self) -> None:
        """The whole run; its end is said, and the error that it ended with."""
        ended: BaseException | None = None
        try:
            run_test(self.test, self.order, [self._hear])
        except BaseException as error:  # noqa: BLE001 raised again in the thread that waits for it
            ended = error
        self.said.put((self.number, ended))

    def _hear(self, event: Event) -> None:
        self._end_if_told()
        match event:
            case RunStarted():
                self.most = event.manifest.conditions.max_rounds  # type: ignore[attr-defined]
            case StepsStarted(apply=apply) if apply.phase is not self.phase:
                self.phase = apply.phase
                self.on_said(self.number, phase_text(apply.phase, apply.number))
            case SteadyStateJudged():
                self.is_steady = all(one.steady for one in event.reports)
                self.is_counting = self.is_steady or event.round_number >= self.most
                if self.is_counting:
                    state = "steady state" if self.is_steady else "no steady state"
                    self.on_said(self.number, f"{state} in round {event.round_number}")
            case StepFinished(place, sample) if place.phase is Phase.ROUND and self.is_counting:
                self.said.put((self.number, sample))
                self.go.acquire()
                self._end_if_told()

    def _end_if_told(self) -> None:
        if self.stop.is_set():
            raise InterruptedRunError("ended by `openpts decide`, which needed no more of it")


class Runs:
    """Runs side by side; ``not_steady`` are the numbers of those that gave steady state up."""

    def __init__(self, orders: Sequence[tuple[Procedure, Order]], on_said: Said) -> None:
        self._said: SimpleQueue[tuple[int, Sample | BaseException | None]] = SimpleQueue()
        self._stop = Signal()
        self._runs = [
            _Run(number=number, test=test, order=order, said=self._said, on_said=on_said, stop=self._stop)
            for number, (test, order) in enumerate(orders)
        ]

    @property
    def not_steady(self) -> tuple[int, ...]:
        """Drives that were given up before they were steady."""
        return tuple(one.number for one in self._runs if one.is_counting and not one.is_steady)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the records are."""
        return tuple(one.order.folder for one in self._runs if one.order.folder is not None)

    @contextmanager
    def rounds(self) -> Iterator[Iterator[tuple[Sample, ...]]]:
        """The samples of each round of all drives, in their order; leaving the block ends all runs.

        Raises the error of a run that ended with one.
        """
        threads = [Thread(target=one.go_through, name=f"decide-{one.number}") for one in self._runs]
        for thread in threads:
            thread.start()
        try:
            yield self._together()
        finally:
            self._stop.set()
            for one in self._runs:
                one.go.release()
            for thread in threads:
                thread.join()

    def _together(self) -> Iterator[tuple[Sample, ...]]:
        count = 0
        while True:
            found: dict[int, Sample] = {}
            while len(found) < len(self._runs):
                number, said = self._said.get()
                if isinstance(said, BaseException):
                    raise said
                if said is None:
                    return
                found[number] = said
            count += 1
            if count > UNCOUNTED:
                yield tuple(found[number] for number in range(len(self._runs)))
            for one in self._runs:
                one.go.release()
