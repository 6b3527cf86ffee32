"""The pages on a population: all drives in the order of their slots, and one page for each value."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from openpts.pages import cells, ticks
from openpts.pages.kit import Plot, PlotName, page, rows_table
from openpts.pages.model import Axis, Block, Cell, Column, Mark, Page, PlotRule, Series, Table, Verdict
from openpts.vocabulary.slots import slot_order
from openpts_many.population.figures import TestFigures, ValueFigures
from openpts_many.population.words import effect_line, named_line, number, off_text, repeat_line

_MOST_HOSTS: Final = 8


def pages_of(finding: TestFigures) -> Iterator[Page]:
    """All drives in the order of their slots, and each value that differs; none where no run has a value."""
    if not finding.values:
        return
    drives = _drives_table(finding)
    yield Page(drives.id, drives.title, (drives,), mandatory=True)
    for value in finding.values:
        if value.differs:
            yield _value_page(finding, value, drives)


def _drives_table(finding: TestFigures) -> Table:
    """All drives with all values, by host, slot and start: what those beside each other have in common."""
    drives = {one.drive: one for value in finding.values for one in value.drives}
    in_order = sorted(drives.values(), key=lambda one: (one.host, slot_order(one.slot or ""), one.started_at))
    values = [value for value in finding.values if value.differs]
    of_value = [_value_cells(value) for value in values]
    places = {
        "Host": [one.host for one in in_order],
        "Slot": [one.slot or "-" for one in in_order],
        "Link": [one.link or "-" for one in in_order],
    }
    if not any(one.slot for one in in_order):
        places["Started"] = [one.started_at[5:19].replace("T", " ") for one in in_order]
    reported = [head for head, texts in places.items() if len(set(texts)) > 1]
    shared = [
        f"{head.lower()} {texts[0]}" for head, texts in places.items() if set(texts) <= {texts[0]} - {"", "-"}
    ]
    return rows_table(
        f"population-{finding.id}-drives",
        f"{finding.title}: all drives",
        (
            Column("Drive", align="left"),
            *(Column(head, align="left", width=1.3 if head == "Started" else 0.8) for head in reported),
            *(Column(value.title) for value in values),
        ),
        (
            (
                Cell(one.drive, place + 1.0),
                *(places[head][place] for head in reported),
                *(found.get(one.drive, cells.none()) for found in of_value),
            )
            for place, one in enumerate(in_order)
        ),
        note=("Red: what stands out, with its distance from the median. " if finding.is_judged else "")
        + (f"All drives: {', '.join(shared)}." if shared else ""),
    )


def _value_cells(value: ValueFigures) -> dict[str, Cell]:
    named = {one.drive for one in value.named}
    return {
        one.drive: Cell(number(one.value), one.value, off_text(value, one.off), "fail")
        if one.drive in named
        else Cell(number(one.value), one.value)
        for one in value.drives
    }


def value_page_id(finding: TestFigures, value: ValueFigures) -> str:
    """For links."""
    return f"population-{finding.id}-{[one.key for one in finding.values].index(value.key) + 1}"


def _value_page(finding: TestFigures, value: ValueFigures, drives: Table) -> Page:
    """The drives in order of a value, with the bounds of outliers, and as in the table of all drives."""
    page_id = value_page_id(finding, value)
    number_ = page_id.replace("population", "Plot X-POP").replace(finding.id, finding.id.upper())
    name = PlotName(page_id, number_, f"{finding.title}: {value.title}")
    ranked = rows_table(
        f"{page_id}-drives",
        f"{value.title}: drives in order of the value",
        (Column("Rank"), Column(value.title), Column("Off the median"), Column("Drive", align="left")),
        (
            (cells.count(rank), Cell(number(one.value), one.value), off_text(value, one.off), one.drive)
            for rank, one in enumerate(value.drives, start=1)
        ),
        printed=False,
    )
    ranks = {one.drive: float(rank) for rank, one in enumerate(value.drives, start=1)}
    places = {row.head.text: row.head.value or 0.0 for row in drives.rows}
    column = [one.label for one in drives.columns].index(value.title)
    by_place = replace(name, number=f"{name.number}-PLACE", title=f"{name.title}, by place")
    order = "slots" if any(one.slot for one in value.drives) else "starts"
    return page(
        name,
        _plot(value, "rank", "Drives in order of the value", 0, ranks).over(name, ranked),
        *_sentences(value, is_judged=finding.is_judged),
        _plot(value, "place", f"Drives in order of their {order}", column, places).over(by_place, drives),
        ranked,
    )


def _plot(value: ValueFigures, part: str, title: str, column: int, places: Mapping[str, float]) -> Plot:
    return Plot(
        x=ticks.whole_axis(title, 1, len(places)),
        y=_axis(value),
        series=(Series("Drives", "column", (column,), 2, style="points"),),
        alt="{count} drives, from {low} to {high}.",
        decimals=2,
        rules=(
            PlotRule("median", value.median, "average"),
            *(_hosts(value, places) if part == "place" else _bounds(value)),
        ),
        marks=tuple(Mark(one.drive, places[one.drive], one.value) for one in value.named),
        part=part,
    )


def _hosts(value: ValueFigures, places: Mapping[str, float]) -> tuple[PlotRule, ...]:
    """Where each host begins, if there are several with room for their names."""
    begins: dict[str, float] = {}
    for one in sorted(value.drives, key=lambda one: places[one.drive]):
        begins.setdefault(one.host, places[one.drive] - 0.5)
    if not 1 < len(begins) <= _MOST_HOSTS:
        return ()
    return tuple(PlotRule(host, place, "limit", axis="x") for host, place in begins.items())


def _bounds(value: ValueFigures) -> list[PlotRule]:
    """Of outliers, where no path moves them and they are not so far off that the drives would be one line."""
    if value.within:
        return []
    span = max(value.drives[-1].value - value.drives[0].value, 0.004 * abs(value.median))
    bounds = (value.named_below, value.named_above)
    near = [bound for bound in bounds if bound is not None and abs(bound - value.median) <= 3 * span]
    return [PlotRule("stands out beyond", bound, "limit") for bound in near]


def _axis(value: ValueFigures) -> Axis:
    shown = [value.drives[0].value, value.drives[-1].value, *(rule.value for rule in _bounds(value))]
    low, high = min(shown), max(shown)
    if low > 0 and high > 10 * low:
        return ticks.log_axis(value.title, (low, high))
    margin = 0.06 * (high - low)
    return ticks.linear_axis(value.title, low - margin, high + margin)


def _sentences(value: ValueFigures, *, is_judged: bool) -> list[Block]:
    blocks: list[Block] = [Verdict(f"{named_line(value, one)}.", "fail") for one in value.named]
    blocks += [Verdict(f"Worth a look: {named_line(value, one)}.") for one in value.suspected]
    blocks += [Verdict(f"{effect_line(value, effect)}.", "fail") for effect in value.effects]
    if value.within:
        blocks.append(Verdict(f"Drives are held against the median of their {value.within}."))
    if value.reason and is_judged:
        blocks.append(Verdict(f"No drive can stand out: {value.reason}."))
    elif is_judged and not value.within:
        bounds = [bound for bound in (value.named_below, value.named_above) if bound is not None]
        texts = [number(bound) for bound in bounds]
        blocks.append(Verdict(f"One more drive would stand out below {texts[0]} or above {texts[1]}."))
    if line := repeat_line(value):
        blocks.append(Verdict(f"{line}."))
    return blocks
