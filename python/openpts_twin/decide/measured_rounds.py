"""Rounds on one drive, or on several at once, each a run of its own in a thread, all at the same round.

A round is several steps, each of which is judged. A run goes on with a step when all have ended the one
before, so that none is measured further than it takes to decide. One that reached steady state before the
others waits for them with its drive idle: what comes right behind that is not counted.
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
from openpts_twin.decide.question import Question
from openpts_twin.decide.sequential import LOOKS_PER_ROUND

UNCOUNTED: Final = 2
"""Rounds behind steady state that only bring the drives to the same round."""

Said = Callable[[int, str], None]
"""Takes what happens on the drive of that number, in words."""
Orders = Callable[[str], Sequence[Order]]
"""Gives the order for each drive; the ends of their folders' names are given."""
Judged = tuple[Block, tuple[float, ...]]
"""What is judged, and the figure of each drive in it."""


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


def block_of(samples: Sequence[Sample], question: Question, place: int) -> Judged | None:
    """A step of all drives for the judge; None where one of them has no I/O.

    The intervals of steps tell how far one tells of the next; each has I/Os enough for a rate or a mean.
    """
    figure = question.figure
    values = tuple(found for one in samples if (found := figure_of(one, figure)))
    if len(values) < len(samples):
        return None
    parts: list[float] = []
    if figure in {"iops", "throughput", "mean"}:
        whole = ([one.measured for one in pieces_of([sample]) if not one.rest] for sample in samples)
        for intervals in zip(*whole, strict=False):
            of_each = tuple(found for one in intervals if (found := figure_of(one, figure)))
            if len(of_each) == len(samples):
                parts.append(question.towards_yes(of_each))
    length_ns, interval_ns = samples[0].elapsed_ns, samples[0].interval_ns
    block = Block(place * length_ns, length_ns, question.towards_yes(values), tuple(parts), interval_ns)
    return block, values


Reported = SimpleQueue[tuple[int, Sample | BaseException | None]]
"""What runs report, each with its number: a step, its end, or the error that it ended with."""


class OneRun(Struct, kw_only=True):
    """The run of one drive."""

    number: int
    test: Procedure
    order: Order
    said: Reported
    on_said: Said
    stop: Signal = field(default_factory=Signal)
    phase: Phase | None = None

    def end(self) -> None:
        """The run is needed no more: it ends at its next event."""
        self.stop.set()

    def go_through(self) -> None:
        """The whole run; its end is said, and the error that it ended with."""
        ended: BaseException | None = None
        try:
            run_test(self.test, self.order, [self.hear])
        except BaseException as error:  # noqa: BLE001 raised again in the thread that waits for it
            ended = error
        self.said.put((self.number, ended))

    def hear(self, event: Event) -> None:
        """What happens in the run. Raises InterruptedRunError where the run is needed no more."""
        self.end_where_needed_no_more()
        if isinstance(event, StepsStarted) and event.apply.phase is not self.phase:
            self.phase = event.apply.phase
            self.on_said(self.number, phase_text(event.apply.phase, event.apply.number))

    def end_where_needed_no_more(self) -> None:
        """Raises InterruptedRunError there."""
        if self.stop.is_set():
            raise InterruptedRunError("ended by `openpts decide`, which needed no more of it")


@contextmanager
def side_by_side(runs: Sequence[OneRun]) -> Iterator[None]:
    """Runs at once, each in a thread of its own; leaving the block ends them."""
    threads = [Thread(target=one.go_through, name=f"decide-{one.number}") for one in runs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for one in runs:
            one.end()
        for thread in threads:
            thread.join()


class _PacedRun(OneRun, kw_only=True):
    """A run of rounds; ``go`` lets it begin the next step once the drive is steady, or was given up."""

    go: Semaphore = field(default_factory=lambda: Semaphore(0))
    most: int = 0
    is_steady: bool = False
    is_counting: bool = False

    def end(self) -> None:
        """The run is needed no more: it ends at its next event, or where it waits."""
        super().end()
        self.go.release()

    def hear(self, event: Event) -> None:
        """What happens in the run. Raises InterruptedRunError where the run is needed no more."""
        super().hear(event)
        match event:
            case RunStarted():
                self.most = event.manifest.conditions.max_rounds  # type: ignore[attr-defined]
            case SteadyStateJudged():
                self.is_steady = all(one.steady for one in event.reports)
                self.is_counting = self.is_steady or event.round_number >= self.most
                if self.is_counting:
                    state = "steady state" if self.is_steady else "no steady state"
                    self.on_said(self.number, f"{state} in round {event.round_number}")
            case StepFinished(place, sample) if place.phase is Phase.ROUND and self.is_counting:
                self.said.put((self.number, sample))
                self.go.acquire()
                self.end_where_needed_no_more()


class Runs:
    """One run of rounds on each drive, at once; each quarter of a round is judged."""

    def __init__(self, question: Question, test: Procedure, orders: Orders, on_said: Said) -> None:
        self._question = question
        self._said: Reported = SimpleQueue()
        self._runs = [
            _PacedRun(number=number, test=test, order=order, said=self._said, on_said=on_said)
            for number, order in enumerate(orders(""))
        ]

    @property
    def not_steady(self) -> tuple[int, ...]:
        """Drives that were given up before they were steady."""
        return tuple(one.number for one in self._runs if one.is_counting and not one.is_steady)

    @property
    def folders(self) -> tuple[tuple[Path, ...], ...]:
        """Where the records of each drive are."""
        return tuple((one.order.folder,) for one in self._runs if one.order.folder is not None)

    @contextmanager
    def judged(self) -> Iterator[Iterator[Judged]]:
        """What is judged, in its order; leaving the block ends all runs.

        Raises the error of a run that ended with one.
        """
        with side_by_side(self._runs):
            yield self._blocks()

    def _blocks(self) -> Iterator[Judged]:
        count = 0
        for samples in self._together():
            if found := block_of(samples, self._question, count):
                count += 1
                yield found

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
            if count > UNCOUNTED * LOOKS_PER_ROUND:
                yield tuple(found[number] for number in range(len(self._runs)))
            for one in self._runs:
                one.go.release()
