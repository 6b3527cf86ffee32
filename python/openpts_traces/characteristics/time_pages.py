"""Pages of a trace over time: sequences, arrivals, bursts, depths, latencies, the stream map."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from openpts.pages.cells import missing
from openpts.pages.kit import Cells, Plot, PlotName, rows_table
from openpts.pages.model import Block, Cell, Page, Series, Table, Verdict
from openpts.pages.ticks import amount_axis, log_axis
from openpts.units import format_block_size
from openpts_traces.characteristics.stream_map import MapStep, stream_map
from openpts_traces.characteristics.tables import (
    NO_COMPLETIONS,
    SPREAD_HEADS,
    figure,
    in_order,
    number,
    share,
    spread,
    time,
)

Figures = Mapping[str, Any]

_MAPPED: Final = 9
_WORST: Final = 10


def time_pages(figures: Figures) -> tuple[Page, ...]:
    """Stream map, sequences, arrivals, and what completions show."""
    whole = figures["whole"]
    return (
        map_page(figures),
        Page("sequences", "Sequential and Random", (_sequences(whole),)),
        _arrivals_page(whole),
        _completions_page(figures),
    )


def map_page(figures: Figures) -> Page:
    """The rate of each stream and the queue depth over time."""
    steps = figures["steps"]
    named = [stream["name"] for stream in figures["streams"][:_MAPPED]]
    found: dict[int, MapStep] = {}
    for line in steps["rows"]:
        before = found.get(line["step"])
        ios = Counter({stream: ios for stream, (ios, _) in line["streams"].items()})
        depth = line["mean_depth"]
        if before is not None:
            ios.update(before.ios)
            depth = None if depth is None or before.depth is None else before.depth + depth
        found[line["step"]] = MapStep(line["start_ns"], line["length_ns"], ios, depth)
    name = PlotName("stream-map", "Plot CHR-1", "Stream Map")
    text = f"Steps of {steps['length_ns'] / 1e9:g} s; their table is in the page and in --json."
    plot, shown = stream_map(name, tuple(found.values()), named, NO_COMPLETIONS)
    return Page(name.id, name.title, (plot, Verdict(text), shown))


def _sequences(whole: Figures) -> Table:
    rows: list[Cells] = [
        (
            f"{kind}s",
            number(op["ios"]),
            *(share(op[rule]["share_of_ios"]) for rule in ("strict", "windowed", "near")),
            share(op["near"]["share_in_streams_from_512k"]),
            share(op["random_by_distance"]["share_of_ios"]),
            number(op["windowed"]["runs"]),
            figure(op["windowed"]["run_ios"]["mean"]),
            number(op["windowed"]["run_ios"]["max"]),
        )
        for kind, op in whole["places"]["by_operation"].items()
    ]
    heads = (
        "Operation:<", "I/Os", "Strict %", "Windowed %", "Near %", "In streams %", "Far from last 32 %",
        "Runs", "I/Os per run", "Longest run",
    )  # fmt: skip
    return rows_table("sequences", "Sequential and random I/Os", heads, rows)


def _arrivals_page(whole: Figures) -> Page:
    arrivals = whole["arrivals"]
    lines = [("all", arrivals["all"]), *in_order(arrivals["by_operation"])]
    gaps = rows_table(
        "gaps",
        "Gaps between issues",
        ("Operation:<", *SPREAD_HEADS, "Equal %", "Below 1 us %", "10 us %", "100 us %"),
        [
            (
                name,
                *spread(shown["gap_ns"], "one I/O"),
                *(
                    share(shown[f"share_{word}"])
                    for word in ("equal", "below_1us", "below_10us", "below_100us")
                ),
            )
            for name, shown in lines
        ],
    )
    lags = arrivals["autocorrelation"]
    coefficients = [
        (f"lag {lag}", figure(lags[lag - 1])) for lag in (1, 2, 3, 5, 10, 20, 50, 100) if lag <= len(lags)
    ]
    correlation: Block = (
        rows_table("autocorrelation", "Autocorrelation of gaps", ("Lag:<", "Coefficient"), coefficients)
        if coefficients
        else Verdict("Autocorrelation of gaps: not defined, all gaps are equal or there are too few.")
    )
    rates = whole["rates"]
    peaks = rows_table(
        "peaks",
        "Busiest bin over mean",
        ("Bin:<", "Peak / mean"),
        [
            (time(1e9 * width), figure(peak, "the trace is shorter"))
            for width, peak in rates["peak_over_mean"]
        ],
    )
    return Page(
        "arrivals", "Arrivals and Bursts", (gaps, correlation, peaks, *_dispersion(rates), *_hurst(rates))
    )


def _dispersion(rates: Figures) -> tuple[Block, ...]:
    scales = rates["dispersion"]
    if not scales:
        return (Verdict("Index of dispersion: not estimable, the trace is too short."),)
    shown = rows_table(
        "dispersion-table",
        "Index of dispersion",
        "Width of bins (s) | Variance / mean",
        ((Cell(f"{width:.3g}", width), figure(value)) for width, value in scales),
    )
    plot = Plot(
        x=log_axis("Width of bins (s)", [width for width, _ in scales]),
        y=lambda values: amount_axis("Variance / mean", values),
        series=(Series("Index of dispersion", "column", (0,), 0),),
        alt="variance over mean of I/Os per bin, from {low} to {high}.",
        decimals=2,
    )
    return plot.over(PlotName("dispersion", "Plot CHR-2", "Index of Dispersion"), shown), shown


def _hurst(rates: Figures) -> tuple[Block, ...]:
    hurst = rates["hurst"]
    if "reason" in hurst:
        return (Verdict(f"Hurst parameter: {hurst['reason']}."),)
    names = {
        "aggregated_variance": "aggregated variance",
        "rescaled_range": "rescaled range",
        "wavelet": "wavelet",
    }
    rows: list[Cells] = [
        (name, *(figure(hurst[key][part]) for part in ("h", "low", "high")),
         *(time(1e9 * hurst[key][part]) for part in ("from_s", "to_s")))
        for key, name in names.items()
    ]  # fmt: skip
    heads = ("Estimator:<", "H", "95 % from", "to", "Fit from", "Fit to")
    note = f"{hurst['bins']:,} bins of {hurst['bin_s'] * 1e3:.3g} ms."
    return (rows_table("hurst", "Hurst parameter", heads, rows, note=note),)


def _completions_page(figures: Figures) -> Page:
    shown = figures["whole"]["completions"]
    thought = figures["whole"]["think_time"]
    title = "Queue Depth, Busy Time and Latency"
    if shown is None:
        text = f"Queue depth, busy time, latency and think time are {NO_COMPLETIONS}."
        return Page("completions", title, (Verdict(text),))
    depths = [("all", shown["queue_depth"]["all"]), *in_order(shown["queue_depth"]["by_operation"])]
    depth = rows_table(
        "depth",
        "Queue depth",
        ("Operation:<", "Mean", "Max", "Mean at arrival", "p50 at arrival", "p99 at arrival"),
        [(name, *_depth(one)) for name, one in depths],
    )
    span_ns = shown["span_ns"]
    busy = rows_table(
        "busy",
        "Busy and idle time",
        (":<", "Time", "%"),
        [(name, time(shown[f"{name}_ns"]), share(shown[f"{name}_ns"] / span_ns if span_ns else None))
         for name in ("busy", "idle")],
    )  # fmt: skip
    edges = [*(f"{edge['from_s']:,} s" for edge in shown["idle_gaps"]["by_edge"])]
    gaps = rows_table(
        "idle-gaps",
        "Idle gaps",
        ("From:<", "Gaps", "Idle time"),
        [(name, number(edge["gaps"]), time(edge["sum_ns"]))
         for name, edge in zip(edges, shown["idle_gaps"]["by_edge"], strict=True) if edge["gaps"]],
    )  # fmt: skip
    heads = ("Operation:<", "I/Os", *SPREAD_HEADS)
    latencies: list[Cells] = [
        (f"{kind}{label}", number(one["count"]), *spread(one))
        for kind, of in in_order(shown["latency"])
        for label, one in _latencies(of)
    ]
    latency = rows_table("latency", "Latency", heads, latencies)
    think = [
        ("after the last completion", "slack_ns"),
        ("with nothing in flight", "slack_with_nothing_in_flight_ns"),
    ]
    slack: Block = Verdict("Think time is unknown: the trace is not of class A.")
    if thought is not None:
        rows: list[Cells] = [(name, *spread(thought[key], "none")) for name, key in think]
        slack = rows_table("think-time", "Think time", (":<", *SPREAD_HEADS), rows)
    text = f"{shown['uncompleted_ios']:,} I/Os have no completion."
    return Page(
        "completions", title, (depth, busy, gaps, latency, slack, worst_steps(figures), Verdict(text))
    )


def _depth(one: Figures) -> tuple[Cell, ...]:
    arrival = one["at_arrival"]
    if arrival is None:
        return (figure(one["mean"]), number(one["max"]), *(missing("no I/O") for _ in range(3)))
    points = dict(map(tuple, arrival["percentiles"]))
    return (
        figure(one["mean"], "no time passed"), number(one["max"]), figure(arrival["mean"]),
        figure(points[50.0]), figure(points[99.0]),
    )  # fmt: skip


def _latencies(of: Figures) -> Sequence[tuple[str, Figures]]:
    return [
        ("", of["all"]),
        *(
            (f", up to {format_block_size(one['up_to'])}", one["latency_ns"])
            for one in of["by_length"]
            if one["up_to"] > 1
        ),
        *((f", depth up to {one['up_to']}", one["latency_ns"]) for one in of["by_depth"]),
    ]


def worst_steps(figures: Figures) -> Table:
    """The steps with the longest 99.9th percentile, with their streams."""
    known = [line for line in figures["steps"]["rows"] if line["latency"] is not None]
    known.sort(key=lambda line: (-line["latency"]["p99_9_ns"], line["step"]))
    rows: list[Cells] = [
        (
            number(line["step"]),
            time(line["start_ns"]),
            figure(line["ios"] * 1e9 / line["length_ns"]),
            figure(line["bytes"] * 1e3 / line["length_ns"]),
            figure(line["mean_depth"]),
            *(time(line["latency"][key]) for key in ("mean_ns", "p99_ns", "p99_9_ns", "max_ns")),
            ", ".join(sorted(line["streams"], key=lambda name: -line["streams"][name][0])[:3]),
        )
        for line in known[:_WORST]
    ]
    heads = ("Step", "From", "IOPS", "MB/s", "Depth", "Mean", "p99", "p99.9", "Max", "Streams:<")
    return rows_table("worst-steps", "Worst ten steps by p99.9", heads, rows)
