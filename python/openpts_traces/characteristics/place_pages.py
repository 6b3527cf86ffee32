"""Pages of a trace by place: footprint, hot and cold, reuse, updates, endurance, the map."""

from collections.abc import Mapping
from typing import Any, Final

from openpts.pages.cells import missing
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Cells, Plot, PlotName, heat_map, rows_table
from openpts.pages.model import Block, Cell, Column, Page, Row, Series, Table, Verdict
from openpts.pages.ticks import linear_axis, log_axis
from openpts.units import format_capacity, format_gap
from openpts_traces.characteristics.tables import SPREAD_HEADS, amount, figure, number, share, spread

Figures = Mapping[str, Any]

_KINDS: Final = ("all", "read", "write")
_MAP_CELLS: Final = (16, 12)
_GB: Final = 1e9


def place_pages(whole: Figures) -> tuple[Page, ...]:
    """Footprint and working set, hot and cold, reuse and updates, endurance, map."""
    blocks = whole["blocks"]
    return (
        Page(
            "footprint",
            "Footprint and Working Set",
            (_footprint(blocks), _working_set(blocks), _sampled(blocks)),
        ),
        _heat_page(blocks),
        _reuse_page(whole),
        Page("endurance", "Endurance", (_endurance(whole["endurance"]),)),
        _map_page(whole["map"]),
    )


def _sampled(blocks: Figures) -> Verdict:
    rate = blocks["sampling_rate"]
    how = (
        "All blocks are counted" if rate == 1 else f"One block of {1 / rate:,.0f} is followed, chosen by hash"
    )
    return Verdict(f"{how}: {blocks['sampled_blocks']:,} blocks of 4 KiB.")


def _footprint(blocks: Figures) -> Table:
    shown = blocks["footprint"]
    names = ("touched", "read", "written", "read_and_written", "read_before_write")
    rows = [
        (name.replace("_", " "), amount(shown[name]["bytes"], error=shown[name]["relative_error"]))
        for name in names
    ]
    rows.append(("trimmed", amount(shown["trimmed_bytes"], reason="unknown: too many extents")))
    return rows_table("footprint", "Footprint", ("Blocks:<", "Bytes"), rows)


def _working_set(blocks: Figures) -> Table:
    rows: list[Cells] = [
        (
            format_gap(window["window_s"] * 10**9),
            *(missing("the trace is shorter") if window["is_longer_than_trace"] else amount(window[key])
              for key in ("mean_bytes", "max_bytes")),
        )
        for window in blocks["working_set"]
    ]  # fmt: skip
    return rows_table("working-set", "Working set", ("Window:<", "Mean", "Max"), rows)


def _heat_page(blocks: Figures) -> Page:
    known = [(kind, blocks["heat"][kind]) for kind in _KINDS if blocks["heat"][kind] is not None]
    title = "Hot and Cold"
    if not known:
        return Page("hot-cold", title, (Verdict("No block is read or written."),))
    rows: list[Cells] = []
    for kind, heat in known:
        zipf = heat["zipf"]
        reason = zipf.get("reason", "")
        slope = (
            [missing(reason), missing(reason)]
            if reason
            else [figure(zipf["slope"]), figure(zipf["r2"], "flat")]
        )
        hottest = (share(one["share"], error=one["error"]) for one in heat["hottest"])
        rows.append((kind, number(heat["accesses"]), *hottest, number(heat["most_of_a_block"]), *slope))
    heads = (
        "Accesses:<", "Blocks accessed", "Hottest 1 % of blocks %", "5 %", "20 %", "Most of a block",
        "Zipf slope", "R2",
    )  # fmt: skip
    summary = rows_table("hot-cold", "Accesses to the hottest blocks", heads, rows)
    curve = rows_table(
        "hot-cold-table",
        "Accesses (%) by hottest blocks",
        ("Hottest blocks (%)", *(Column(kind) for kind, _ in known)),
        (
            (Cell(f"{pct:g}", pct), *(share(heat["curve"][n][1]) for _, heat in known))
            for n, (pct, _) in enumerate(known[0][1]["curve"])
        ),
    )
    plot = Plot(
        x=log_axis("Hottest blocks (%)", [pct for pct, _ in known[0][1]["curve"]]),
        y=linear_axis("Accesses (%)", 0, 100),
        series=tuple(Series(kind, "column", (n,), n) for n, (kind, _) in enumerate(known)),
        alt="share of accesses to the hottest blocks, from {low} to {high} %.",
        decimals=1,
    )
    return Page(
        "hot-cold", title, (summary, plot.over(PlotName("hot-cold", "Plot CHR-3", title), curve), curve)
    )


def _reuse_page(whole: Figures) -> Page:
    reuse, updates = whole["reuse"], whole["blocks"]["updates"]
    blocks: list[Block] = []
    if reuse is not None:
        curve = reuse["miss_ratio_curve"]
        shown = rows_table(
            "miss-ratio-table",
            "Miss ratio (%) of an LRU cache",
            "Cache (GB) | Miss ratio (%)",
            (
                (
                    Cell(format_capacity(one["cache_bytes"]), one["cache_bytes"] / _GB),
                    share(one["miss_ratio"], error=one["error"]),
                )
                for one in curve
            ),
        )
        plot = Plot(
            x=log_axis("Cache (GB)", [one["cache_bytes"] / _GB for one in curve]),
            y=linear_axis("Miss ratio (%)", 0, 100),
            series=(Series("Miss ratio", "column", (0,), 0),),
            alt="miss ratio from {low} to {high} %.",
            decimals=1,
        )
        rate = reuse["sampling_rate"]
        text = (
            "Exact: all blocks are followed." if rate == 1 else f"One block of {1 / rate:,.0f} is followed."
        )
        blocks = [plot.over(PlotName("miss-ratio", "Plot CHR-4", "Miss Ratio"), shown), Verdict(text), shown]
    intervals = [
        (name.replace("_", " "), number(one["count"] if one else 0), *spread(one, "none"))
        for name, one in updates["intervals_ns"].items()
    ]
    again = [
        ("Written blocks that are written again", share(updates["coverage"])),
        ("Writes per written block", figure(updates["writes_per_block"])),
    ]
    items = items_table("updates", "Updates", again)
    times = rows_table(
        "update-times", "Time to the next access of a block", ("Access:<", "Count", *SPREAD_HEADS), intervals
    )
    return Page("reuse", "Reuse and Updates", (*blocks, times, items))


def _endurance(shown: Figures) -> Table:
    capacity = "unknown: the trace has no capacity"
    rows = [
        ("Written", amount(shown["written_bytes"])),
        ("Trimmed", amount(shown["trimmed_bytes"])),
        ("Written per day", amount(shown["written_bytes_per_day"], reason="unknown: one moment only")),
        ("Capacity", amount(shown["capacity_bytes"], reason=capacity)),
        ("Drive writes per day", figure(shown["drive_writes_per_day"], capacity)),
        ("Content", missing(f"{'unknown'}: a trace has no contents")),
    ]
    return items_table("endurance", "Endurance", rows)


def _map_page(shown: Figures) -> Page:
    """All reads and writes on a grid that a page can show; the fine one is in --json."""
    columns, rows = (
        min(most, max(1, shown[axis])) for most, axis in zip(_MAP_CELLS, ("columns", "rows"), strict=True)
    )
    wide, high = -(-shown["columns"] // columns), -(-shown["rows"] // rows)
    counts = [[0] * columns for _ in range(rows)]
    for kind in ("read", "write"):
        for row, column, ios in shown[kind]:
            counts[row // high][column // wide] += ios
    labels = [format_gap(n * wide * shown["column_ns"]) for n in range(columns)]
    made = [
        Row(
            Cell(format_capacity(n * high * shown["row_bytes"])),
            tuple(Cell(_brief(ios) if ios else "", float(ios) if ios else None) for ios in counts[n]),
        )
        for n in reversed(range(rows))
    ]
    grid = rows_table(
        "map-table",
        "Reads and writes",
        ("From offset", *(Column(label) for label in labels)),
        made,
        printed=False,
    )
    nothing = tuple(Row(row.head, tuple(Cell("") for _ in row.cells)) for row in made)
    details = rows_table("map-details", "-", (grid.head, *grid.columns), nothing, printed=False)
    name = PlotName("map-plot", "Plot CHR-5", "Places over Time")
    alt = f"{sum(map(sum, counts)):,} reads and writes."
    figure_ = heat_map(name, grid, details.id, ("From time", "From offset"), alt, height_px=420)
    return Page("map", "Places over Time", (figure_, grid, details))


def _brief(ios: int) -> str:
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if ios >= limit:
            return f"{ios / limit:.3g}{unit}"
    return str(ios)
