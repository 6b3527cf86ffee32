"""What a trace is like, as a report: one model for terminal, pipe and page."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from openpts.pages.cells import missing
from openpts.pages.facts_table import items_table
from openpts.pages.kit import rows_table
from openpts.pages.model import Block, Cell, Page, Report, Verdict
from openpts.units import format_capacity, format_gap
from openpts_traces.characteristics.applied_workload import AppliedWorkload, CountedStream, applied_workload
from openpts_traces.characteristics.definitions import DEFINITIONS
from openpts_traces.characteristics.place_pages import place_pages
from openpts_traces.characteristics.questions import questions
from openpts_traces.characteristics.tables import (
    NO_COMPLETIONS,
    amount,
    figure,
    in_order,
    mean_size,
    number,
    percentile,
    share,
    size,
)
from openpts_traces.characteristics.time_pages import map_page, time_pages, worst_steps

Figures = Mapping[str, Any]

_FOOTER: Final = "Characteristics of a trace by openpts; after the RWSW PTS in the reading of openpts"
_MOST_ROWS: Final = 20


def streams_of(figures: Figures) -> list[CountedStream]:
    """All streams of a trace with their counts."""
    keys = ("name", "kind", "pattern", "size_bytes", "ios", "bytes")
    return [CountedStream(*(stream[key] for key in keys)) for stream in figures["streams"]]


def applied_in_json(figures: Figures) -> dict[str, Any]:
    """The streams that a test applies; shares are exact fractions."""
    applied = applied_workload(streams_of(figures))
    streams = [
        {"name": one.stream.name, "share": str(one.share), "applied_share": str(one.applied_share)}
        for one in applied.streams
    ]
    mixes = {"read_mix": applied.read_mix, "applied_read_mix": applied.applied_read_mix}
    named = {name: None if mix is None else [str(share) for share in mix] for name, mix in mixes.items()}
    return {"streams": streams, "cover": str(applied.cover), **named}


def characteristics_report(figures: Figures, name: str) -> Report:
    """All figures as pages; the same figures give an equal report."""
    pages = _pages_of_steps(figures) if figures["whole"] is None else _pages_of_ios(figures)
    return Report(
        title="Characteristics of a Trace",
        subtitle=name,
        run_name=name,
        footer=_FOOTER,
        front=pages,
        stem="characteristics",
    )


def _pages_of_ios(figures: Figures) -> tuple[Page, ...]:
    whole = figures["whole"]
    return (
        _overview(figures, _items_of_ios(figures)),
        _mix_page(whole),
        _streams_page(figures),
        *time_pages(figures),
        *place_pages(whole),
        *_processes_page(whole),
        *_parts_page(figures),
        _definitions_page(),
    )


def _pages_of_steps(figures: Figures) -> tuple[Page, ...]:
    """What a step table can tell: streams and steps, nothing of single I/Os."""
    worst = worst_steps(figures)
    unknown = Verdict(f"Queue depth and latency are {NO_COMPLETIONS}.")
    return (
        _overview(figures, _items_of_steps(figures)),
        _streams_page(figures),
        map_page(figures),
        Page("completions", "Queue Depth and Latency", (worst if worst.rows else unknown,)),
    )


def _items_of_steps(figures: Figures) -> list[tuple[str, str]]:
    steps, streams = figures["steps"], figures["streams"]
    busy = {line["step"] for line in steps["rows"] if line["ios"]}
    ios, moved = (sum(stream[key] for stream in streams) for key in ("ios", "bytes"))
    return [
        ("Kind", figures["trace"]["meaning"]),
        ("Steps", f"{len(busy):,} of {steps['length_ns'] / 1e9:g} s with I/O"),
        ("I/Os, bytes", f"{ios:,}, {format_capacity(moved)}"),
        ("Lost events", f"{figures['trace']['header']['records']['lost']:,}"),
    ]


def _items_of_ios(figures: Figures) -> list[tuple[str, str]]:
    whole, header = figures["whole"], figures["trace"]["header"]
    records = header["records"]
    damaged, skipped = sum(records["damaged"].values()), sum(records["skipped"].values())
    return [
        ("Class", f"{header['class']}: {figures['trace']['meaning']}"),
        ("Duration", format_gap(whole["span_ns"])),
        ("I/Os, bytes", f"{whole['mix']['ios']:,}, {format_capacity(whole['mix']['bytes'])}"),
        (
            "Records",
            f"{records['read']:,} read = {records['accepted']:,} accepted + {skipped:,} skipped "
            f"+ {damaged:,} damaged; {records['lost']:,} lost by the source",
        ),
    ]


def _overview(figures: Figures, items: list[tuple[str, str]]) -> Page:
    header = figures["trace"]["header"]
    devices = [device["name"] for device in header["devices"]]
    source = [
        ("Files", ", ".join(figures["trace"]["files"])),
        ("Format, level", f"{header['format']}, {str(header['level']).lower()}"),
        ("Devices", f"{len(devices)}: {', '.join(devices[:8])}{', ...' if len(devices) > 8 else ''}"),
    ]
    answers = [(answer.question, answer.text) for answer in questions(figures)]
    blocks: list[Block] = [
        items_table("overview", "The trace", [*source, *items]),
        rows_table("questions", "Five questions", ("Question:<", "Answer:<"), answers),
        *(Verdict(warning, "fail") for warning in figures["trace"]["warnings"]),
    ]
    if header["records"]["lost"]:
        blocks.append(Verdict("The source has lost events: all figures are lower bounds.", "fail"))
    return Page("trace", "The Trace", tuple(blocks))


def _mix_page(whole: Figures) -> Page:
    operations = whole["mix"]["by_operation"]
    mix = rows_table(
        "mix",
        "Operations",
        ("Operation:<", "I/Os", "I/Os %", "Bytes", "Bytes %", "FUA", "Sync", "Preflush", "Failed"),
        [
            (
                kind,
                number(counts["ios"]),
                share(counts["share_of_ios"]),
                amount(counts["bytes"]),
                share(counts["share_of_bytes"]),
                *(number(counts["flags"][flag]) for flag in ("fua", "sync", "preflush")),
                number(counts["failed"]),
            )
            for kind, counts in in_order(operations)
        ],
    )
    moved = {kind: counts for kind, counts in in_order(operations) if kind not in {"flush", "other"}}
    sizes = rows_table(
        "sizes",
        "Sizes",
        ("Operation:<", "Mean", "p5", "p50", "p95", "p99", "Max", "Distinct", *_ALIGNED, "Partial 4 KiB"),
        [(kind, *_sizes(counts)) for kind, counts in moved.items()],
    )
    top = [
        (kind, size(length), number(ios), share(ios / counts["ios"]))
        for kind, counts in moved.items()
        for length, ios in counts["lengths"]["top"]
    ]
    tops = rows_table(
        "top-sizes", "Most frequent sizes", ("Operation:<", "Size", "I/Os", "% of operation"), top
    )
    return Page("mix", "Operations and Sizes", (mix, sizes, tops))


_ALIGNED: Final = tuple(f"Aligned {kib} KiB %" for kib in (4, 8, 16, 64))


def _sizes(counts: Figures) -> tuple[Cell, ...]:
    lengths = counts["lengths"]
    known = lengths["distribution"]
    aligned = (share(lengths["aligned_shares"][str(kib << 10)]) for kib in (4, 8, 16, 64))
    return (
        mean_size(known["mean"]),
        *(size(int(percentile(known, pct))) for pct in (5, 50, 95, 99)),
        size(known["max"]),
        number(lengths["distinct"]),
        *aligned,
        number(lengths["partial_4k_ios"]),
    )


def _streams_page(figures: Figures) -> Page:
    streams = streams_of(figures)
    applied = applied_workload(streams)
    total, total_bytes = sum(s.ios for s in streams), sum(s.bytes for s in streams)
    chosen = {one.stream: one for one in applied.streams}
    rows = [
        (
            stream.name,
            number(stream.ios),
            share(stream.ios / total),
            amount(stream.bytes),
            share(stream.bytes / total_bytes if total_bytes else None),
            share(float(chosen[stream].applied_share)) if stream in chosen else "left out",
        )
        for stream in streams
    ]
    heads = ("Stream:<", "I/Os", "I/Os %", "Bytes", "Bytes %", "Applied %")
    note = f"All {len(streams):,} streams are in --json." if len(streams) > _MOST_ROWS else ""
    cumulative = rows_table("cumulative", "Cumulative workload", heads, rows[:_MOST_ROWS], note=note)
    return Page("streams", "Streams", (cumulative, Verdict(_applied_words(applied))))


def _applied_words(applied: AppliedWorkload) -> str:
    def mix(shares: tuple[Fraction, Fraction] | None) -> str:
        return (
            "unknown" if shares is None else f"{float(100 * shares[0]):.1f} / {float(100 * shares[1]):.1f} %"
        )

    return (
        f"The applied test workload has {len(applied.streams)} streams and covers "
        f"{float(100 * applied.cover):.1f} % of I/Os. Reads among reads and writes, by I/Os / by bytes: "
        f"{mix(applied.read_mix)} of the trace, {mix(applied.applied_read_mix)} as applied."
    )


def _processes_page(whole: Figures) -> tuple[Page, ...]:
    shown = whole["processes"]
    if shown is None:
        return (Page("processes", "Processes", (Verdict("Processes are unknown: the trace has none."),)),)
    total, total_bytes = whole["mix"]["ios"], whole["mix"]["bytes"]
    rows = [
        (
            f"{process['command']} {process['pid'] or ''}".strip(),
            number(process["ios"]),
            share(process["ios"] / total),
            amount(process["bytes"]),
            share(process["bytes"] / total_bytes if total_bytes else None),
            number(process["by_operation"].get("read", 0)),
            number(process["by_operation"].get("write", 0)),
        )
        for process in shown["processes"][:_MOST_ROWS]
    ]
    heads = ("Process:<", "I/Os", "I/Os %", "Bytes", "Bytes %", "Reads", "Writes")
    active = shown["active_per_second"]
    text = (
        f"Processes that issue I/Os in a second: {active['mean']:.3g} on average, at most {active['max']:,}."
    )
    return (
        Page("processes", "Processes", (rows_table("processes", "Processes", heads, rows), Verdict(text))),
    )


def _parts_page(figures: Figures) -> tuple[Page, ...]:
    if not figures["parts"]:
        return ()
    rows = [(part["part"], *_part(part["figures"])) for part in figures["parts"]]
    heads = (
        "Part:<", "I/Os", "Bytes", "Reads %", "Sequential %", "Footprint", "Gap mean s", "Gap CV", "Depth",
        "Busy %",
    )  # fmt: skip
    note = "All figures of each part are in --json."
    return (Page("parts", "Parts", (rows_table("parts", "Parts", heads, rows, note=note),)),)


def _part(figures: Figures) -> tuple[Cell, ...]:
    mix, completions = figures["mix"], figures["completions"]
    ios = mix["ios"]
    sequential = sum(op["strict"]["ios"] for op in figures["places"]["by_operation"].values())
    gaps = figures["arrivals"]["all"]["gap_ns"]
    depth = [missing("unknown"), missing("unknown")]
    if completions is not None:
        span_ns = completions["span_ns"]
        busy = completions["busy_ns"] / span_ns if span_ns else None
        depth = [figure(completions["queue_depth"]["all"]["mean"]), share(busy)]
    return (
        number(ios),
        amount(mix["bytes"]),
        share(mix["by_operation"].get("read", {"ios": 0})["ios"] / ios),
        share(sequential / ios),
        amount(figures["blocks"]["footprint"]["touched"]["bytes"]),
        figure(gaps and gaps["mean"] / 1e9),
        figure(gaps and gaps["cv"]),
        *depth,
    )


def _definitions_page() -> Page:
    rows = [(name.replace("_", " "), text) for name, text in DEFINITIONS.items()]
    return Page(
        "definitions",
        "Definitions",
        (rows_table("definitions", "Definitions", ("Figure:<", "Meaning:<"), rows),),
    )
