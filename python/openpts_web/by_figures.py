"""Runs beside each other by what an archive keeps of them: key values and conditions, no steps or rounds."""

from collections.abc import Sequence
from typing import Final, Self

from msgspec import Struct

from openpts.analysis.run_comparison import advantage_pct, measured_median
from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.pages.cells import none, signed
from openpts.pages.kit import rows_table
from openpts.pages.model import Cell, Column, Page, Report, Verdict
from openpts.vocabulary.better import Better
from openpts.vocabulary.document import Document
from openpts_line.compare.figures import DifferingCondition, NamedValues
from openpts_web.documents import Figure, RunPage, printed

_FACTS: Final = {
    **{name: name.capitalize() for name in ("test", "model", "firmware", "host", "conformant", "steady")},
    "profile": "Class",
    "serial": "Serial number",
}
_DOUBT: Final = (
    "By figures alone: of one run or more there is no record here, as archives keep none. Deltas are those "
    "of medians; whether one is more than chance, and curves over each other, take the records: serve their "
    "folders too."
)

Sets = dict[str, list[RunPage]]
"""Runs by the name of their set, the base's first."""


class FiguresOfSet(Struct, frozen=True):
    """A figure of the runs of a set that have it; ``delta_pct`` is to the base, plus is better."""

    name: str
    values: tuple[float, ...]
    median: float | None
    delta_pct: float | None


class ComparedFigure(Struct, frozen=True):
    """A key value of a test, in its unit, of all sets."""

    test: str
    key: str
    name: str
    unit: str
    better: Better
    sets: tuple[FiguresOfSet, ...]

    @classmethod
    def of(cls, test: str, like: Figure, sets: Sets) -> Self:
        """The figure with its median and delta in each set."""
        better = Better(like.better or Better.UNJUDGED)
        found: list[FiguresOfSet] = []
        for name, pages in sets.items():
            values = tuple(one.value for page in pages if page.summary.test == test
                           for one in page.figures if one.key == like.key
                           and one.value is not None and not one.stands_in)  # fmt: skip
            median = measured_median(values, better) if values else None
            base = found[0].median if found else None
            delta_pct = None if median is None or base is None else advantage_pct(base, median, better)
            found.append(FiguresOfSet(name, values, median, delta_pct))
        return cls(test, like.key, like.label, like.unit, better, tuple(found))


class FiguresDocument(Document, frozen=True, kw_only=True, tag="openpts.web-figures/1"):
    """A comparison by figures alone; deltas are in per cent. ``marks`` say what runs are not."""

    base: str
    names: tuple[str, ...]
    marks: tuple[str, ...]
    differences: tuple[DifferingCondition, ...]
    figures: tuple[ComparedFigure, ...]


def compared_figures(pages: Sequence[RunPage], labels: Sequence[str], base: str) -> FiguresDocument:
    """Runs by their figures. A label names a set; without one it is the drive's, with its firmware.

    Raises UsageError for fewer than two runs, and for a base that is none of the names.
    """
    if len(pages) < 2:
        raise UsageError(f"cannot compare {len(pages) or 'no'} run: name two runs or more")
    sets: Sets = {}
    for page, label in zip(pages, labels, strict=False):
        one = page.summary
        drive = " ".join(word for word in (one.model, one.serial, one.firmware) if word)
        sets.setdefault(visible_line(label or drive or one.run), []).append(page)
    if base and base not in sets:
        raise UsageError(f"invalid base {base!r}: use one of {', '.join(sets)}")
    names = tuple(sorted(sets, key=lambda name: name != base) if base else sets)
    sets = {name: sets[name] for name in names}
    likes = {
        (page.summary.test, one.key): one for page in reversed(pages) for one in page.figures if one.is_key
    }
    return FiguresDocument(
        base=names[0],
        names=names,
        marks=tuple(dict.fromkeys(page.summary.mark for page in pages if page.summary.mark)),
        differences=_differences(sets),
        figures=tuple(ComparedFigure.of(test, like, sets) for (test, _), like in sorted(
            likes.items(), key=lambda item: item[0][0])),
    )  # fmt: skip


def _differences(sets: Sets) -> tuple[DifferingCondition, ...]:
    facts = {name: [_facts_of(page) for page in pages] for name, pages in sets.items()}
    conditions = dict.fromkeys(fact for each in facts.values() for one in each for fact in one)
    found: list[DifferingCondition] = []
    for condition in conditions:
        values = {
            name: tuple(dict.fromkeys(one.get(condition, "-") for one in each))
            for name, each in facts.items()
        }
        if len({value for each in values.values() for value in each}) > 1:
            found.append(
                DifferingCondition(None, condition, tuple(map(NamedValues, values, values.values())))
            )
    return tuple(found)


def _facts_of(page: RunPage) -> dict[str, str]:
    """What a run in an archive and one in a folder both say of their conditions."""
    own = {words: getattr(page.summary, name) or "-" for name, words in _FACTS.items()}
    return own | {f"Label {name}": value for name, value in page.summary.labels.items()}


def figures_report(found: FiguresDocument) -> Report:
    """The comparison as pages have it."""
    candidates = found.names[1:]
    differing = rows_table(
        "figures-differing",
        "What differs",
        (Column("Condition", align="left"), *(Column(name, align="left") for name in found.names)),
        ((one.condition, *(", ".join(each.values) for each in one.values)) for one in found.differences),
    )
    tables = [
        rows_table(
            f"figures-{test}",
            f"{test.upper()}: medians, and deltas from {found.base} (plus is better)",
            (Column("Key value", None, "left", 1.5), *map(Column, found.names),
             *(Column(f"{name}: delta (%)") for name in candidates)),
            ((f"{one.name} ({one.unit})" if one.unit else one.name, *map(_median, one.sets),
              *(_delta(each) for each in one.sets[1:]))
             for one in found.figures if one.test == test),
        )
        for test in dict.fromkeys(one.test for one in found.figures)
    ]  # fmt: skip
    blocks = (Verdict(_DOUBT, "fail"), *((differing,) if found.differences else ()), *tables)
    page = Page("figures", "What is compared", blocks)
    marks = "; ".join(found.marks)
    return Report(
        title="Runs by their figures", subtitle="", run_name="", red_line=marks, footer="", front=(page,)
    )


def _median(one: FiguresOfSet) -> Cell:
    if one.median is None:
        return none()
    low, high = printed(min(one.values)), printed(max(one.values))
    note = f"{low} to {high}, N = {len(one.values)}" if len(one.values) > 1 else ""
    return Cell(printed(one.median), one.median, note)


def _delta(one: FiguresOfSet) -> Cell:
    return none() if one.delta_pct is None else Cell(signed(one.delta_pct, 1), one.delta_pct)
