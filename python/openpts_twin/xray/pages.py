"""Pages of an x-ray: the courses of rates, the latencies of pairs, the rates by alignment."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, page, table
from openpts.pages.model import Axis, Cell, Page, Series, Verdict
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import GB, KIB, MB
from openpts_twin.rates import Window
from openpts_twin.xray import RESTS_S
from openpts_twin.xray.results import ALIGNMENT, CACHE, PART, RANDOM, READS, REFILL, RESTS, XrayRun, rates_of
from openpts_twin.xray.unit import SIZES, ratios_of

SUMMARY: Final = PlotName("xray-findings", "Table X-XRAY-1", "What Is Inside")
_PRINTED: Final = 100
_WRITTEN: Final = "Written (GB)"


def evidence_pages(found: XrayRun) -> tuple[Page, ...]:
    """A page for each course and sweep."""
    return (
        _course("xray-cache", CACHE, "Sequential Fill of the Purged Drive", found.fill),
        _pairs_page(found),
        _course("xray-random", RANDOM, "Random Writes until Collection", found.random),
        _rests_page(found),
        _alignments_page(found),
        _course("xray-refill", REFILL, "Sequential Fill after Random Writes", found.again),
        _course("xray-part", PART, "Writes to a Small Part", found.hot),
    )


def _course(page_id: str, number: str, title: str, windows: Sequence[Window]) -> Page:
    name = PlotName(page_id, number, f"{title}: MB/s v GB Written")
    if not windows:
        return nothing_page(page_id, name.title, "not measured")
    head: Col[Window] = Col(_WRITTEN, lambda one: cells.number((one.start_bytes + one.bytes) / GB, 2))
    rate: Col[Window] = Col("MB/s", lambda one: cells.number(one.bytes_per_s / MB, 1))
    shown = table(
        f"{page_id}-values", "Mean of each window, at its end", head, [rate], windows, printed=_PRINTED
    )
    x = ticks.span_axis(_WRITTEN, 0, (windows[-1].start_bytes + windows[-1].bytes) / GB)
    return page(name, _line(x, "MB/s", "windows").over(name, shown), shown)


def _line(x: Axis, unit: str, what: str) -> Plot:
    return Plot(
        x=x,
        y=lambda values: ticks.linear_axis(unit, 0, max(values)),
        series=(Series(unit, "column", (0,), 2, style="line", emphasis=True),),
        alt=f"{{rows}} {what}, from {{low}} to {{high}} {unit}.",
        decimals=2,
    )


def _pairs_page(found: XrayRun) -> Page:
    name = PlotName("xray-pairs", READS, "Pairs of Reads: Mean Latency v Distance")
    if not found.pairs_ns:
        return nothing_page(name.id, name.title, "not measured")
    pairs = sorted((pages, mean_ns) for pages, mean_ns in dict(found.pairs_ns).items() if pages)
    head: Col[tuple[int, float]] = Col("Distance (pages of 4 KiB)", lambda one: cells.count(one[0]))
    mean: Col[tuple[int, float]] = Col("Mean (ms)", lambda one: cells.latency(one[1]))
    shown = table(f"{name.id}-values", "Pairs issued together", head, [mean], pairs, printed=_PRINTED)
    plot = _line(ticks.log_axis(head.label, [pages for pages, _ in pairs]), "ms", "distances")
    layout = found.geometry
    told = (
        "Pairs never differ: " + layout.why
        if layout.chunk_pages is None
        else f"Pages in a row on one unit: {layout.chunk_pages}. Units: {layout.units or layout.why}. "
        f"Pages that a unit programs at once, as far as it shows: {layout.program_pages or 'not told'}."
    )
    rule = Verdict(
        "Two reads at once take longer if they come to the same unit. Written in sequence, chunks of pages "
        "go round the units of a group, groups are filled by rows, and go round the drive. Where a command "
        "takes longer than a read, one command reads both pages, written so far apart beyond whole rows."
    )
    return page(name, plot.over(name, shown), Verdict(told), rule, shown)


def _rests_page(found: XrayRun) -> Page:
    name = PlotName("xray-rests", RESTS, "Random Writes after Rests")
    if len(found.bursts) != len(RESTS_S):
        return nothing_page(name.id, name.title, "not measured")
    head: Col[tuple[float, Window]] = Col("Rest (s)", lambda row: cells.number(row[0], 1))
    rate: Col[tuple[float, Window]] = Col("MB/s", lambda row: cells.number(row[1].bytes_per_s / MB, 1))
    rows = zip(RESTS_S, found.bursts, strict=True)
    return page(name, table(f"{name.id}-values", name.title, head, [rate], list(rows)))


def _alignments_page(found: XrayRun) -> Page:
    name = PlotName("xray-alignments", ALIGNMENT, "Random Writes: Time at Half of the Alignment v Size")
    states = {"Pass": found.aligned, "Purged": found.aligned_purged}
    columns = [
        _ratios(f"{state} {number}", ratios_of(rates_of(each)))
        for state, passes in states.items()
        for number, each in enumerate(passes, start=1)
    ]
    if not columns:
        return nothing_page(name.id, name.title, "not measured")
    head: Col[int] = Col("Size (KiB)", lambda size: Cell(f"{size / KIB:g}", size / KIB))
    shown = table(f"{name.id}-values", "Times as long as at their own alignment", head, columns, SIZES)
    plot = Plot(
        x=ticks.block_size_axis([size / KIB for size in SIZES]),
        y=lambda values: ticks.linear_axis("Times as long", 0, max(values)),
        series=tuple(Series(one.label, "column", (n,), 2 + n) for n, one in enumerate(columns)),
        alt="{rows} sizes, from {low} to {high} times as long.",
        decimals=2,
    )
    return page(name, plot.over(name, shown), shown)


def _ratios(label: str, ratios: dict[int, float]) -> Col[int]:
    return Col(label, lambda size: cells.number_or("not measured", ratios.get(size), 2))
