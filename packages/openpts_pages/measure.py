"""A result that people compare, declared once: it is found by its key, never by its label.

The table of key values is made of them, and the order and extent of a report follow it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.vocabulary.uncertainty import CONFIDENCE, Uncertainty, rounded_like
from openpts.vocabulary.verdict import Better
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Row, Table

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)  # a measure of whatever has figures is one of samples too

NOT_MEASURED: Final = "not measured"
NO_STEADY_STATE: Final = "N/A"
_BETTER_BY_UNIT: Final = {
    **dict.fromkeys(("IOPS", "MB/s", "GB"), Better.HIGHER),
    **dict.fromkeys(("ms", "us", "min"), Better.LOWER),
}


class Measured(Struct, frozen=True):
    """A measure in a run. ``key`` is the same in each run of a test, so that runs can be compared.

    ``cell`` has the text without the unit, the unrounded value in ``unit`` (None: not measured) and the note
    that belongs to the value: why it is missing, a low count. ``point`` is the operating point. ``state`` is
    a note for a value not of steady state where the test requires it, empty otherwise; ``steady`` is the
    state as a summary has it. ``stands_in``: the maximum stands in for a percentile that the I/Os do not
    suffice for; it is shown, but compared with nothing. ``repeats`` are the values of the passes that it is
    of with their spread, JSON-ready; None of a single one. ``uncertainty`` is None where a test declares
    none; ``with_engine``: the engine's own latency is in the value. ``is_key``: executive summary, suite and
    comparison show it; ``on_cover``: so does the cover of its own run, as ``cover_label``. ``words`` say
    what it is to readers who know no specification, where the label does not; a stimulus is put into words.
    ``headline`` is the place among what a buyer asks of a drive, from 1 on; 0: buyers do not ask for it.
    """

    key: str
    label: str
    unit: str
    cell: Cell
    better: Better
    point: str = ""
    state: str = ""
    steady: str = NO_STEADY_STATE
    stands_in: bool = False
    repeats: Mapping[str, Any] | None = None
    uncertainty: Uncertainty | None = None
    with_engine: bool = False
    is_key: bool = True
    on_cover: bool = True
    cover_label: str = ""
    explanation: str = ""
    headline: int = 0

    @property
    def value(self) -> float | None:
        """The unrounded value in ``unit``; None if it was not measured."""
        return self.cell.value

    @property
    def comparable(self) -> float | None:
        """The value, to be held against others; None of a maximum that stands in for a percentile."""
        return None if self.stands_in else self.value

    @property
    def expanded_uncertainty(self) -> float | None:
        """At 95 %, in ``unit``; None where none is stated."""
        return None if self.uncertainty is None else self.uncertainty.expanded

    @property
    def text(self) -> str:
        """What a report prints without the unit."""
        return self.cell.text

    @property
    def note(self) -> str:
        """The operating point, a low count, or why there is no value."""
        return "; ".join(text for text in (self.point, self.cell.note) if text)

    @property
    def noted_cell(self) -> Cell:
        """The value in a table away from its test's pages, with uncertainty, operating point and state."""
        note = "; ".join(text for text in (self.reach, self.note, self.state) if text)
        return Cell(self.text, self.value, note, "missing" if self.value is None else "")

    @property
    def cover_cell(self) -> Cell:
        """The value on the cover of its own run, with its uncertainty."""
        return replace(self.cell, note="; ".join(text for text in (self.reach, self.cell.note) if text))

    @property
    def reach(self) -> str:
        """``± 1,200 at 95 %``, behind the value where its text is not rounded alike, and before the mark of
        the host; empty where no uncertainty is stated.
        """
        found = self.uncertainty
        if found is None or not found.expanded or self.value is None:
            return ""
        alike = rounded_like(self.value, found.expanded)
        value = "" if alike == self.text.lstrip("+") else f"{alike} "
        return "; ".join(filter(None, (f"{value}{found.text} at {100 * CONFIDENCE:.0f} %", found.mark)))


class Subject(Struct, frozen=True):
    """What measures are of, where a run has them several times: a workload, a load, an operating point.

    ``name`` takes its place in labels, ``key`` in keys (by default made of the name). ``doubt`` is the fault
    of the operating point ``point``. ``state`` and ``steady`` are those of ``Measured``.
    """

    name: str = ""
    key: str = ""
    point: str = ""
    doubt: str = ""
    state: str = ""
    steady: str = NO_STEADY_STATE


_WHOLE_RUN: Final = Subject()


@dataclass(frozen=True)  # slots and Measure[R](...) do not go together
class Measure(Generic[R_contra]):
    """How a figure is computed from a test's results ``R``, with its name, unit and other facts.

    ``value`` gives it in ``1 / per`` of the unit, printed with ``decimals``, or the cell that the test's
    tables show; None or a cell without a value where it was not measured, for the reason ``absent`` or the
    cell's note. ``{name}`` and ``{point}`` in labels and explanations are those of the subject. ``better`` is
    given where the unit does not say it. ``uncertainty`` is that which the samples show; what is known of the
    run is added where a report is made. ``of_steady_state`` is False for what is measured before steady state
    by design. The other fields are those of ``Measured``.
    """

    key: str
    label: str
    unit: str
    value: Callable[[R_contra], float | Cell | None]
    _: KW_ONLY
    better: Better | None = None
    per: float = 1
    decimals: int = 0
    absent: str = NOT_MEASURED
    stands_in: Callable[[R_contra], bool] | None = None
    repeats: Callable[[R_contra], Mapping[str, Any] | None] | None = None
    uncertainty: Callable[[R_contra], Uncertainty | None] | None = None
    with_engine: bool = False
    of_steady_state: bool = True
    is_key: bool = True
    on_cover: bool = True
    cover_label: str = ""
    explanation: str = ""
    headline: int = 0

    def of(self, results: R_contra | None, subject: Subject = _WHOLE_RUN) -> Measured:
        """The measure in a run; results are None where there are none of the subject."""
        found = None if results is None else self.value(results)
        if not isinstance(found, Cell):
            if found is not None and self.per != 1:  # a count stays a whole number
                found /= self.per
            found = cells.number_or(NOT_MEASURED if results is None else self.absent, found, self.decimals)
        measured = found.value is not None
        names = {"name": subject.name, "point": subject.point}
        return Measured(
            key=f"{subject.key or key_of(subject.name)}.{self.key}".lstrip("."),
            label=self.label.format_map(names),
            unit=self.unit,
            cell=found,
            better=self.better or _BETTER_BY_UNIT.get(self.unit, Better.UNJUDGED),
            point=", ".join(text for text in (subject.point, subject.doubt) if text) if measured else "",
            state=subject.state if measured and self.of_steady_state else "",
            steady=subject.steady if self.of_steady_state else NO_STEADY_STATE,
            stands_in=results is not None and self.stands_in is not None and self.stands_in(results),
            repeats=None if results is None or self.repeats is None else self.repeats(results),
            uncertainty=self.uncertainty(results)
            if results is not None and self.uncertainty is not None and measured
            else None,
            with_engine=self.with_engine,
            is_key=self.is_key,
            on_cover=self.on_cover,
            cover_label=(self.cover_label or self.label).format_map(names),
            explanation=self.explanation.format_map(names),
            headline=self.headline,
        )


def measured(
    measures: Iterable[Measure[R]], results: R | None, subject: Subject = _WHOLE_RUN
) -> tuple[Measured, ...]:
    """A row of measures of one subject."""
    return tuple(measure.of(results, subject) for measure in measures)


def key_of(name: str) -> str:
    """A key for the name of a stimulus: ``rnd_4_kib_rw0`` for ``RND 4 KiB RW0``."""
    return re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")


def measure_figures(found: Iterable[Measured]) -> Mapping[str, Any]:
    """All measures by key, JSON-ready."""
    names = ("label", "unit", "value", "better", "steady", "note", "state", "stands_in", "repeats")
    return {
        one.key: {name: getattr(one, name) for name in names}
        | {
            "state": one.state or None,
            "uncertainty": None if one.uncertainty is None else one.uncertainty.figures(),
            "uncertainty_note": ""
            if one.uncertainty is None
            else one.uncertainty.reason or one.uncertainty.mark,
        }
        for one in found
    }


class Style(StrEnum):
    """FULL begins with the answer, SPECIFICATION has the order of SNIA's sample, SHORT the form of TKperf."""

    FULL = "full"
    SPECIFICATION = "specification"
    SHORT = "short"


KEY_VALUES_ID: Final = "summary"


def cover_table(test: str, deviations: int, measures: Iterable[Measured]) -> Table:
    """What the cover of a run on its own shows."""
    return _table(
        _row(test, deviations, one, one.cover_label, one.cover_cell) for one in measures if one.on_cover
    )


def key_values_table(test: str, deviations: int, measures: Iterable[Measured]) -> Table:
    """The key values with state and operating point: for a table with several runs."""
    return _table(_row(test, deviations, one, one.label, one.noted_cell) for one in measures if one.is_key)


def _row(test: str, deviations: int, one: Measured, label: str, cell: Cell) -> Row:
    others = (Cell(one.unit), Cell(one.steady), Cell(str(deviations), float(deviations)))
    return Row(Cell(test), (Cell(label), cell, *others))


def _table(rows: Iterable[Row]) -> Table:
    return rows_table(
        KEY_VALUES_ID,
        "Key values",
        "Test:<0.6 | Key value:<1.4 | Result | Unit:<0.5 | Steady State:<1.2 | Deviations:^0.7",
        rows,
    )
