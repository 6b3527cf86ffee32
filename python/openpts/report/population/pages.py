"""The pages on a population: all drives in the order of their slots, and one page for each value."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Plot, PlotName, page
from openpts.pages.model import (
    HEIGHT_PX,
    WIDTH_PX,
    Axis,
    Block,
    Cell,
    Column,
    Figure,
    Mark,
    Page,
    Row,
    Rule,
    Series,
    Table,
    Verdict,
)
from openpts.report.population.figures import DriveValue, TestFigures, ValueFigures
from openpts.report.population.words import effect_line, named_line, number, off_text, repeat_line
from openpts.vocabulary.slots import slot_order

_MOST_HOSTS: Final = 8
_SMALL_PX: Final = (360, 260)
_Placed = tuple[int, DriveValue]
"""A drive and its place in an order, from 1."""


def drives_page(finding: TestFigures) -> Page:
    """All drives with all values, by host, slot and start: what those beside each other have in common."""
    drives = {one.drive: one for value in finding.values for one in value.drives}
    in_order = sorted(drives.values(), key=lambda one: (one.host, _slot(one), one.started_at))
    values = [value for value in finding.values if value.differs]
    of_value = [_value_cells(value) for value in values]
    places = {
        "Host": [one.host for one in in_order],
        "Slot": [one.slot or "-" for one in in_order],
        "Link": [one.link or "-" for one in in_order],
    }
    if not any(one.slot for one in in_order):
        places["Started"] = [_start(one) for one in in_order]
    told = [head for head, texts in places.items() if len(set(texts)) > 1]
    rows = [
        Row(
            Cell(one.drive),
            (
                *(Cell(places[head][place]) for head in told),
                *(found.get(one.drive, cells.none()) for found in of_value),
            ),
        )
        for place, one in enumerate(in_order)
    ]
    shared = [
        f"{head.lower()} {texts[0]}" for head, texts in places.items() if set(texts) <= {texts[0]} - {"", "-"}
    ]
    shown = Table(
        f"population-{finding.id}-drives",
        f"{finding.title}: all drives",
        Column("Drive", align="left"),
        (
            *(Column(head, align="left", width=1.3 if head == "Started" else 0.8) for head in told),
            *(Column(value.title) for value in values),
        ),
        tuple(rows),
        note="Red: what stands out, with its distance from the median. "
        + (f"All drives: {', '.join(shared)}." if shared else ""),
    )
    return Page(shown.id, shown.title, (shown,), mandatory=True)


def _value_cells(value: ValueFigures) -> dict[str, Cell]:
    named = {one.drive for one in value.named}
    return {
        one.drive: Cell(number(one.value), one.value, off_text(value, one.off), "fail")
        if one.drive in named
        else Cell(number(one.value), one.value)
        for one in value.drives
    }


def _start(one: DriveValue) -> str:
    return one.started_at[5:19].replace("T", " ")


def value_page_id(finding: TestFigures, value: ValueFigures) -> str:
    """For links."""
    return f"population-{finding.id}-{[one.key for one in finding.values].index(value.key) + 1}"


def value_page(finding: TestFigures, value: ValueFigures) -> Page:
    """The drives in order of a value with the bounds of outliers, by slot, and by start."""
    page_id = value_page_id(finding, value)
    number_ = page_id.replace("population", "X-POP").upper()
    name = PlotName(page_id, f"Plot {number_}", f"{finding.title}: {value.title}")
    plots = [_by_place(value, name, "rank", "Drives in order of the value", [*enumerate(value.drives, 1)])]
    slots = _placed([one for one in value.drives if one.slot], _slot)
    if slots and slots[-1][0] > 2:
        title = f"Slots from {slots[0][1].slot} to {slots[-1][1].slot}"
        plots.append(_by_place(value, name, "slot", title, slots))
    starts = _placed(value.drives, lambda one: one.started_at)
    if starts[-1][0] > 2:
        plots.append(_by_place(value, name, "start", "Start of the first run, in order", starts))
    figures, tables = zip(*plots, strict=True)
    return page(name, figures[0], *_sentences(value), *figures[1:], *tables)


def _slot(one: DriveValue) -> tuple[tuple[int, str], ...]:
    return slot_order(one.slot or "")


def _placed(drives: Sequence[DriveValue], key: Callable[[DriveValue], Any]) -> list[_Placed]:
    in_order = sorted(set(map(key, drives)))
    return sorted(((in_order.index(key(one)) + 1, one) for one in drives), key=itemgetter(0))


def _by_place(
    value: ValueFigures, name: PlotName, part: str, title: str, places: Sequence[_Placed]
) -> tuple[Figure, Table]:
    """The drives of each host in a color; ranked ones with the bounds of outliers."""
    hosts = sorted({one.host for one in value.drives})
    if not 1 < len(hosts) <= _MOST_HOSTS:
        hosts = ["Drives"]
    shown = Table(
        f"{name.id}-{part}",
        f"{value.title}: {title[0].lower()}{title[1:]}",
        Column("Drive", align="left"),
        tuple(map(Column, hosts)),
        tuple(
            Row(
                Cell(_place_text(part, place, one), float(place)),
                tuple(_value_cell(one, host in {"Drives", one.host}) for host in hosts),
            )
            for place, one in places
        ),
        printed=False,
    )
    is_ranked = part == "rank"
    named = {one.drive for one in value.named}
    plot = Plot(
        x=ticks.whole_axis(title, 1, places[-1][0]),
        y=_axis(value),
        series=tuple(Series(host, "column", (n,), n + 2, style="points") for n, host in enumerate(hosts)),
        alt="{count} drives, from {low} to {high}.",
        decimals=2,
        rules=(Rule("median", value.median, "average"), *(_bounds(value) if is_ranked else ())),
        marks=tuple(Mark(one.drive, float(x), one.value) for x, one in places if one.drive in named),
        width_px=WIDTH_PX if is_ranked else _SMALL_PX[0],
        height_px=HEIGHT_PX if is_ranked else _SMALL_PX[1],
        part=part,
    )
    return plot.over(replace(name, number=f"{name.number}-{part}", title=shown.title), shown), shown


def _value_cell(one: DriveValue, is_of_host: bool) -> Cell:
    return Cell(number(one.value), one.value) if is_of_host else cells.none()


def _place_text(part: str, place: int, one: DriveValue) -> str:
    return f"{ {'rank': place, 'slot': one.slot, 'start': _start(one)}[part] } ({one.drive})"


def _bounds(value: ValueFigures) -> list[Rule]:
    """Of outliers, where no path moves them and they are not so far off that the drives would be one line."""
    return [Rule("stands out beyond", bound, "limit") for bound in _near_bounds(value)]


def _near_bounds(value: ValueFigures) -> list[float]:
    if value.within:
        return []
    span = max(value.drives[-1].value - value.drives[0].value, 0.004 * abs(value.median))
    bounds = (value.named_below, value.named_above)
    return [bound for bound in bounds if bound is not None and abs(bound - value.median) <= 3 * span]


def _axis(value: ValueFigures) -> Axis:
    shown = [value.drives[0].value, value.drives[-1].value, *_near_bounds(value)]
    low, high = min(shown), max(shown)
    if low > 0 and high > 10 * low:
        return ticks.log_axis(value.title, (low, high))
    margin = 0.06 * (high - low)
    return ticks.linear_axis(value.title, low - margin, high + margin)


def _sentences(value: ValueFigures) -> list[Block]:
    blocks: list[Block] = [Verdict(f"{named_line(value, one)}.", "fail") for one in value.named]
    blocks += [Verdict(f"Worth a look: {named_line(value, one)}.") for one in value.suspected]
    blocks += [Verdict(f"{effect_line(value, effect)}.", "fail") for effect in value.effects]
    if value.within:
        blocks.append(Verdict(f"Drives are held against the median of their {value.within}."))
    if value.reason:
        blocks.append(Verdict(f"No drive can stand out: {value.reason}."))
    elif not value.within:
        bounds = [bound for bound in (value.named_below, value.named_above) if bound is not None]
        texts = [number(bound) for bound in bounds]
        blocks.append(Verdict(f"One more drive would stand out below {texts[0]} or above {texts[1]}."))
    if line := repeat_line(value):
        blocks.append(Verdict(f"{line}."))
    return blocks
