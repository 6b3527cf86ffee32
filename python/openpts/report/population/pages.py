"""The pages on one value of a population: its drives in order, and beside slot, host and start."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, plot_page, table
from openpts.pages.model import Axis, Block, Cell, Figure, Mark, Page, Rule, Series, Table, Verdict
from openpts.report.population.drives import Drive, natural
from openpts.report.population.findings import PopulationFinding, ValueFinding, distance
from openpts.report.population.words import effect_line, named_line, number, off_text, repeat_line

_PRINTED: Final = 400
_MOST_GROUPS: Final = 8
_Ranked = tuple[int, Drive, float]


def value_page(finding: PopulationFinding, value: ValueFinding) -> Page:
    """Distribution, bounds and outliers of a value, and its plots beside the path."""
    own = finding.population
    number_ = [one.name.key for one in finding.values].index(value.name.key) + 1
    name = PlotName(
        f"population-{own.id}-{number_}",
        f"Plot X-POP-{own.id.upper()}-{number_}",
        f"{own.title}: {value.name.title}",
    )
    shown = _ranked_table(name, value)
    below = (*_sentences(value), *_beside_path(value, name))
    return plot_page(name, None, lambda _: _ranked_plot(value), shown, *below)


def _ranked_table(name: PlotName, value: ValueFinding) -> Table:
    ranked = [(rank, drive, one) for rank, (drive, one) in enumerate(value.drives, start=1)]
    named = {one.drive.name for one in value.named}
    columns: list[Col[_Ranked]] = [
        Col(value.name.title, lambda one: Cell(number(one[2]), one[2])),
        Col(
            "Drive", lambda one: Cell(one[1].name, tone="fail" if one[1].name in named else ""), align="left"
        ),
        Col(
            "Off the median",
            lambda one: Cell(off_text(value.name, distance(value.name, value.median, one[2]))),
        ),
        Col("Runs", lambda one: Cell(str(len(one[1].values(value.name.key)))), width=0.5),
        Col("Slot", lambda one: Cell(one[1].first.slot or "-"), align="left"),
        Col("Host", lambda one: Cell(one[1].first.groups["host"] or "-"), align="left"),
        Col(
            "Started",
            lambda one: Cell(one[1].first.started_at[:19].replace("T", " ")),
            align="left",
            width=1.4,
        ),
    ]
    return table(
        f"{name.id}-drives",
        "Drives in order of the value",
        Col("Rank", lambda one: Cell(str(one[0]), float(one[0])), width=0.5),
        columns,
        ranked,
        printed=_PRINTED,
    )


def _ranked_plot(value: ValueFinding) -> Plot:
    marks = tuple(
        Mark(drive.name, float(rank), one)
        for rank, (drive, one) in enumerate(value.drives, start=1)
        if drive.name in {named.drive.name for named in value.named}
    )
    return Plot(
        x=ticks.whole_axis("Drives in order of the value", 1, len(value.drives)),
        y=_axis(value),
        series=(Series("Drives", "column", (0,), 2, style="points"),),
        alt=f"{len(value.drives)} drives from {number(value.drives[0][1])} to {number(value.drives[-1][1])}.",
        rules=_rules(value),
        marks=marks,
    )


def _rules(value: ValueFinding) -> tuple[Rule, ...]:
    """The median, and the bounds of outliers where no path moves them."""
    bounds = (value.low, value.high) if not value.within else (None, None)
    low, high = _range(value)
    shown = [bound for bound in bounds if bound is not None and low <= bound <= high]
    return (
        Rule("median", value.median, "average"),
        *(Rule("named beyond", bound, "limit") for bound in shown),
    )


def _range(value: ValueFinding) -> tuple[float, float]:
    """All values, and bounds that are not so far off that the drives would be one line."""
    values = [one for _, one in value.drives]
    span = max(max(values) - min(values), 4 * abs(value.median) * 0.001)
    near = [b for b in (value.low, value.high) if b is not None and abs(b - value.median) <= 3 * span]
    return min(*values, *near), max(*values, *near)


def _axis(value: ValueFinding) -> Axis:
    low, high = _range(value)
    if low > 0 and high > 10 * low:
        return ticks.log_axis(value.name.title, (low, high))
    margin = 0.06 * (high - low)
    return ticks.linear_axis(value.name.title, low - margin, high + margin)


def _sentences(value: ValueFinding) -> list[Block]:
    blocks: list[Block] = [Verdict(f"{named_line(value, one)}.", "fail") for one in value.named]
    blocks += [Verdict(f"{effect_line(effect)}.", "fail") for effect in value.effects]
    if value.within:
        blocks.append(Verdict(f"Drives are held against the median of their {value.within}."))
    if value.reason:
        blocks.append(Verdict(f"No drive can be named: {value.reason}."))
    elif value.low is not None and value.high is not None and not value.within:
        blocks.append(
            Verdict(
                f"One more drive would be named below {_bound(value, value.low)} or above "
                f"{_bound(value, value.high)}."
            )
        )
    if line := repeat_line(value):
        blocks.append(Verdict(f"{line}."))
    return blocks


def _bound(value: ValueFinding, bound: float) -> str:
    return f"{number(bound)} ({off_text(value.name, distance(value.name, value.median, bound))})"


def _beside_path(value: ValueFinding, name: PlotName) -> list[Block]:
    """The value by slot and by start, the drives of each host in a color."""
    slots = sorted({drive.first.slot for drive, _ in value.drives if drive.first.slot}, key=natural)
    starts = sorted({drive.first.started_at for drive, _ in value.drives})
    blocks: list[Block] = []
    if len(slots) > 2:
        places = [
            (drive, slots.index(drive.first.slot), one) for drive, one in value.drives if drive.first.slot
        ]
        blocks += _by_place(value, name, "slot", "Slot, in order", places)
    if len(starts) > 2:
        places = [(drive, starts.index(drive.first.started_at), one) for drive, one in value.drives]
        blocks += _by_place(value, name, "start", "Start of the first run, in order", places)
    return blocks


def _by_place(
    value: ValueFinding, name: PlotName, part: str, title: str, places: Sequence[tuple[Drive, int, float]]
) -> tuple[Figure, Table]:
    grouped = value.within or "host"
    groups = sorted({drive.first.groups.get(grouped, "") for drive, _, _ in places})
    if len(groups) > _MOST_GROUPS:
        groups, grouped = [""], ""

    def column(group: str) -> Col[tuple[Drive, int, float]]:
        return Col(
            group or value.name.title,
            lambda one: (
                Cell(number(one[2]), one[2])
                if not grouped or one[0].first.groups.get(grouped, "") == group
                else cells.none()
            ),
        )

    of_place = sorted(places, key=lambda one: one[1])
    shown = table(
        f"{name.id}-{part}",
        f"{value.name.title} by {part}",
        Col(title, lambda one: Cell(_place_text(part, one), float(one[1] + 1)), align="left"),
        [column(group) for group in groups],
        of_place,
        group=grouped,
        printed=False,
    )
    plot = Plot(
        x=ticks.whole_axis(title, 1, max(place for _, place, _ in places) + 1),
        y=_axis(value),
        series=tuple(
            Series(group or "Drives", "column", (n,), 2 + n, style="points") for n, group in enumerate(groups)
        ),
        alt=f"{len(places)} drives, from {{low}} to {{high}}.",
        decimals=2,
        rules=(Rule("median", value.median, "average"),),
        width_px=360,
        height_px=260,
        part=part,
    )
    plot_name = PlotName(name.id, f"{name.number}-{part}", f"{value.name.label} by {part}")
    return plot.over(plot_name, shown), shown


def _place_text(part: str, one: tuple[Drive, int, float]) -> str:
    drive = one[0]
    return f"{drive.first.slot} ({drive.name})" if part == "slot" else f"{one[1] + 1} ({drive.name})"


def spread_table(finding: PopulationFinding) -> Table:
    """All values with median, spread, and the drives at either end."""

    def end(value: ValueFinding, place: int) -> Cell:
        drive, one = value.drives[place]
        return Cell(number(one), one, drive.name)

    columns: list[Col[ValueFinding]] = [
        Col("Drives", lambda one: Cell(str(len(one.drives)), float(len(one.drives))), width=0.5),
        Col("Median", lambda one: Cell(number(one.median), one.median), width=0.8),
        Col("Spread", lambda one: Cell(f"{one.spread:.2g} {one.unit_of_distance}", one.spread), width=0.7),
        Col("Smallest", lambda one: end(one, 0), width=0.9),
        Col("Largest", lambda one: end(one, -1), width=0.9),
        Col("Named", _named_cell, align="left", width=1.4),
    ]
    return table(
        f"population-{finding.population.id}-values",
        f"{finding.population.title}: all values",
        Col("Value", lambda one: Cell(one.name.title), align="left", width=1.7),
        columns,
        finding.values,
        note="Spread: 1.4826 times the median distance from the median, which is the standard deviation of "
        "normal values. Below smallest and largest: the drive.",
    )


def _named_cell(value: ValueFinding) -> Cell:
    if value.named:
        names = ", ".join(one.drive.name for one in value.named)
        return Cell(names, note=f"within its {value.within}" if value.within else "", tone="fail")
    return cells.missing(value.reason) if value.reason else Cell("none")
