"""A whole test on each drive, again and again: what a figure of its results is each time.

The drives are tested at once. Each time is a run of its own with a seed of its own, from the purge on.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from openpts.analysis.uncertainty import Block
from openpts.cli.procedure_options import Choices, chosen
from openpts.cli.quick_on_simulated import quick_on_simulated
from openpts.device.targets.simulated_target import parse_simulated_target
from openpts.did_you_mean import did_you_mean
from openpts.errors import RunFailedError, UsageError
from openpts.parameters.overrides import Given
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_run
from openpts.runner.order import Order
from openpts.runner.run import run_test
from openpts.runs.measured_run import Figure, MeasuredRun, test_named
from openpts.temporary_folder import temporary_folder
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.people import People
from openpts_twin.decide.measured_rounds import Judged, OneRun, Orders, Reported, Said, side_by_side
from openpts_twin.decide.question import Question

_REHEARSED_ON: Final = "sim:enterprise-tlc?scale=290"


class WholeTests:
    """Runs of a test on each drive, at once and again and again; each is judged."""

    def __init__(self, question: Question, test: Procedure, orders: Orders, on_said: Said) -> None:
        self._question = question
        self._test = test
        self._orders = orders
        self._on_said = on_said
        self._made: list[Sequence[Order]] = []
        self._states: list[Sequence[Figure]] = []

    @property
    def not_steady(self) -> tuple[int, ...]:
        """Drives of which a run has a figure that is not of steady state."""
        return tuple(sorted({n for found in self._states for n, one in enumerate(found) if one.state}))

    @property
    def folders(self) -> tuple[tuple[Path, ...], ...]:
        """Where the records of each drive are."""
        return tuple(tuple(one.folder for one in of if one.folder) for of in zip(*self._made, strict=True))

    @contextmanager
    def judged(self) -> Iterator[Iterator[Judged]]:
        """What is judged, in its order. Raises the error of a run, and RunFailedError without a figure."""
        yield self._blocks()

    def _blocks(self) -> Iterator[Judged]:
        while True:
            self._made.append(self._orders(f"-{len(self._made) + 1}"))
            self._run_at_once(self._made[-1])
            found = [_figure(one.folder, self._question.figure) for one in self._made[-1] if one.folder]
            self._states.append(found)
            values = tuple(one.value for one in found if one.value)
            yield Block(len(self._made), 1, self._question.towards_yes(values)), values

    def _run_at_once(self, orders: Sequence[Order]) -> None:
        said: Reported = SimpleQueue()
        runs = [
            OneRun(number=number, test=self._test, order=order, said=said, on_said=self._on_said)
            for number, order in enumerate(orders)
        ]
        with side_by_side(runs):
            for _ in runs:
                _, ended = said.get()
                if isinstance(ended, BaseException):
                    raise ended


def _figure(folder: Path, name: str) -> Figure:
    found = MeasuredRun.of(read_run(folder)).find(name)
    if found is None or not found.value or found.value < 0:
        why = "it has none of that name" if found is None else found.missing or "it is not above 0"
        raise RunFailedError(f"{folder} has no {name} to decide by: {why}")
    return found


def unit_in_test(figure: str) -> str:
    """The unit of a figure, known from a short run of its test on a simulated drive.

    Raises UsageError where the test has none of that name, before a drive is touched.
    """
    test = procedure_of(test_named(figure))
    choices = chosen(test, None, Given({}, {}), drive_class=None, is_quick=True, seed=1)
    with temporary_folder("decide") as work:
        run_test(test, _rehearsal(choices, work / "run"), [])
        run = MeasuredRun.of(read_run(work / "run"))
        found = run.find(figure)
        if found is None:
            guess = did_you_mean(
                figure, tuple(run.names()), f"its figures are those of `openpts gate {test.name}`"
            )
            raise UsageError(f"{figure}: the {test.name} test has no such figure: {guess}")
        return found.unit


def _rehearsal(choices: Choices, folder: Path) -> Order:
    return Order(
        target=_REHEARSED_ON,
        drive_class=choices.drive_class,
        adjust=quick_on_simulated(choices, parse_simulated_target(_REHEARSED_ON)),
        admit=choices.admit,
        consent=Consent(),
        purge_choice=choices.purge(None),
        people=People(),
        command_line=(),
        folder=folder,
        seed=choices.seed,
    )
