"""Pages of replay-native: passes, steps and streams beside those of the capture, how true it was."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.analysis.distribution import LIMIT_STANDARD_ERRORS, compare_shares
from openpts.analysis.figures import Figures, counted
from openpts.analysis.latency import LatencyDistribution
from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, page, rows_table, table
from openpts.pages.model import Cell, Page, Series, Verdict
from openpts.procedures.kit.header import active_range_text
from openpts.units import MB, NS_PER_US, format_duration
from openpts.vocabulary.condition_text import data_text
from openpts.vocabulary.sample import Measured, Sample
from openpts_fio.fio_job.conditions import parts_of
from openpts_traces.captured.pages import DemandPoint, captured_map, captured_points, demand_plane, map_page
from openpts_traces.characteristics.capture import CaptureStep
from openpts_traces.characteristics.stream_map import MapStep
from openpts_traces.rws.results import Replay, RwsRun
from openpts_traces.rws.streams import PASS_FIGURES, pass_figures

_PASSES: Final = PlotName("rws-passes", "Plot X-RWS-5", "Replay-Native: Passes")
_STEPS: Final = PlotName("rws-steps", "Plot X-RWS-6", "Replay-Native: Drive v Capture over Steps")
_MAP: Final = PlotName("rws-drive-map", "Plot X-RWS-8", "Stream Map: Drive under Test")
_PLANE: Final = PlotName("rws-plane", "Plot X-RWS-9", "Demand Intensity: Drive and Capture")
_PRINTED_CELLS: Final = 400
_SLIP_PERCENTILES: Final = (50, 99, 99.9)


def replay_pages(found: RwsRun, replay: Replay) -> tuple[Page, ...]:
    """What became of the capture's steps."""
    return (
        fidelity_page(found, replay),
        passes_page(replay),
        steps_page(found, replay),
        map_page(
            _MAP,
            drive_map(replay.typical),
            found.capture,
            "the drive under test",
            captured_map(found.capture),
        ),
        demand_plane(_PLANE, captured_points(found.capture), _drive_points(replay.typical)),
    )


def replay_sentence(replay: Replay) -> Verdict:
    """Whether passes were steady, and by what figure they were not."""
    if not replay.reports:
        return Verdict(
            f"Replay-Native: Steady State can't be judged: n/a ({len(replay.passes)} of 5 passes).", "fail"
        )
    if replay.steady:
        return Verdict(
            f"Replay-Native: Steady State reached in pass {replay.window.rounds[-1]} for average response "
            f"time and throughput, in passes {replay.window.label}.",
            "pass",
        )
    unsteady = [name for name, one in zip(PASS_FIGURES, replay.reports, strict=True) if not one.steady]
    return Verdict(
        f"Replay-Native: Steady State not reached for {' and '.join(unsteady)} within "
        f"{len(replay.passes)} passes; the last five ({replay.window.label}) are shown.",
        "fail",
    )


def passes_page(replay: Replay) -> Page:
    """Average response time and throughput of each pass."""
    rows = [(number, pass_figures(one)) for number, one in enumerate(replay.passes, start=1)]
    if not rows:
        return page(_PASSES, replay_sentence(replay))
    head: Col[tuple[int, tuple[float, float]]] = Col("Pass", lambda row: Cell(str(row[0]), row[0]))
    shown = table(
        "rws-passes-values",
        "Values plotted: whole passes",
        head,
        [
            Col("Average response time (ms)", lambda row: cells.number(row[1][0], 4)),
            Col("Throughput (MB/s)", lambda row: cells.number(row[1][1], 2)),
        ],
        rows,
    )
    plot = Plot(
        x=replace(ticks.rounds_axis(len(rows)), title="Pass"),
        y=lambda values: ticks.linear_axis("Average response time (ms)", 0, max(values)),
        series=(Series("Average response time", "column", (0,), 0, emphasis=True),),
        alt="{rows} passes, from {low} to {high} ms.",
        decimals=None,
    )
    return page(_PASSES, plot.over(_PASSES, shown), replay_sentence(replay), shown)


def steps_page(found: RwsRun, replay: Replay) -> Page:
    """IOPS of each step of the typical pass beside those of the capture."""
    rows = list(zip(found.capture.steps, replay.typical, strict=False))
    if not rows:
        return page(_STEPS, replay_sentence(replay))
    shown = rows_table(
        "rws-steps-values",
        "Values plotted: the pass with the median response time beside the capture",
        "Step:0.5 | Capture (IOPS) | Drive (IOPS) | Capture (MB/s) | Drive (MB/s) | Capture ART (ms) | "
        "Drive ART (ms) | Capture 99 % (ms) | Drive 99 % (ms) | Capture MRT (ms) | Drive MRT (ms) | "
        "Capture CPU (%) | Host CPU (%) | Outstanding",
        ((Cell(str(n), n), *_step_cells(*row)) for n, row in enumerate(rows)),
        printed=13 * len(rows) <= _PRINTED_CELLS,
    )
    plot = Plot(
        x=ticks.whole_axis("Step", 0, max(1, len(rows) - 1)),
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(
            Series("Capture (target server)", "column", (0,), 0, style="line"),
            Series("Drive under test", "column", (1,), 1, style="line", emphasis=True),
        ),
        alt="{rows} steps of capture and drive, from {low} to {high} IOPS.",
    )
    return page(_STEPS, plot.over(_STEPS, shown), Verdict(_steps_text(found, rows)), shown)


def _step_cells(step: CaptureStep, sample: Sample) -> tuple[Cell, ...]:
    figures = Figures.of(counted(sample), sample.elapsed_ns)
    p99_ns = figures.percentile_ns(99)
    unknown = cells.missing("no completions in the capture")
    return (
        cells.number(step.iops, 1),
        cells.number(figures.iops, 1),
        cells.number(step.bytes_per_s / MB, 2),
        cells.number(figures.bandwidth_bytes_per_s / MB, 2),
        unknown if step.art_ns is None else cells.latency(step.art_ns),
        cells.latency(figures.mean_latency_ns),
        unknown if step.p99_ns is None else cells.latency(step.p99_ns),
        cells.missing("too few I/Os") if p99_ns is None else cells.latency(p99_ns),
        unknown if step.mrt_ns is None else cells.latency(step.mrt_ns),
        cells.latency(figures.max_latency_ns),
        cells.cpu_share(None if step.cpu_busy is None else 100 * step.cpu_busy),
        cells.cpu_share(None if sample.cpu is None else sample.cpu.user_pct + sample.cpu.sys_pct),
        cells.count(sample.step.toio),
    )


def _steps_text(found: RwsRun, rows: Sequence[tuple[CaptureStep, Sample]]) -> str:
    conditions, busy = found.conditions, [(step, sample) for step, sample in rows if step.ios]
    short = sum(sample.iops < step.iops for step, sample in busy)
    theirs = sum(step.ios for step, _ in busy) / (sum(step.length_ns for step, _ in busy) or 1)
    ours = sum(sample.ios for _, sample in busy) / (sum(sample.elapsed_ns for _, sample in busy) or 1)
    ratio = f"{ours / theirs:.3g}" if theirs else "n/a"
    paced = (
        "at the capture's rates" if conditions.pacing == "rate" else "in a closed loop at the capture's depth"
    )
    return (
        f"Replayed as steps of mixes, not as events, {paced}. Steps with I/O: IOPS of the drive over those "
        f"of the target server {ratio}; the drive fell short of the capture in {short} of {len(busy)}."
    )


def drive_map(samples: Sequence[Sample]) -> list[MapStep]:
    """I/Os of each stream in each step of a pass."""
    steps, start_ns = [], 0
    for sample in samples:
        ios = {name: _ios(part) for name, part in parts_of(sample)}
        steps.append(MapStep(start_ns, sample.elapsed_ns, ios, _depth(sample)))
        start_ns += sample.elapsed_ns
    return steps


def _ios(part: Measured) -> int:
    return sum(operation.ios for operation in part.operations.values())


def _depth(sample: Sample) -> float:
    """Outstanding I/Os, mean over time: those whose response times cover it (Little)."""
    times_ns = sum(operation.latency_sum_ns for operation in sample.operations.values())
    return times_ns / sample.elapsed_ns if sample.elapsed_ns else 0.0


def _drive_points(samples: Sequence[Sample]) -> list[DemandPoint]:
    return [
        DemandPoint(f"step {number}", _depth(sample), sample.iops, sample.mean_latency_ns)
        for number, sample in enumerate(samples)
        if sample.ios
    ]


def fidelity_page(found: RwsRun, replay: Replay) -> Page:
    """The block that every report of a replay has: what of the capture was issued, and how true."""
    capture, conditions, samples = found.capture, found.conditions, replay.typical
    applied = sum(stream.ios for step in capture.steps for stream in step.streams)
    issued, failed = sum(map(_ios, samples)), sum(e.count for one in samples for e in one.errors)
    cut_ns = sum(
        max(0, round(step.length_ns * conditions.time_scale) - conditions.step_ns(step))
        for step in capture.steps
    )
    streams = dict.fromkeys((s.name, s.size_bytes) for step in capture.steps for s in step.streams)
    rounded = [name for name, size_bytes in streams if size_bytes % conditions.sector_bytes]
    paced = conditions.pacing == "rate"
    fills = f"{conditions.precondition_passes:g} x user capacity in sequence"
    items = [
        ("Replayed as", "steps of mixes, not events: moments and addresses are not those of the capture"),
        ("I/Os in the capture", f"{capture.ios:,}, {capture.bytes:,} B"),
        ("Of streams that its steps apply", f"{applied:,}"),
        ("Left out: of smaller streams", f"{capture.ios - capture.unapplied_ios - applied:,}"),
        ("Left out: no stimulus has their kind", f"{capture.unapplied_ios:,}"),
        ("Lost at capture, at least", f"{capture.lost:,}"),
        ("Issued in a pass, of the median", f"{issued:,}, {sum(one.bytes for one in samples):,} B"),
        ("Failed", f"{failed:,}"),
        ("Order", "that of the steps; streams of a step are mixed evenly"),
        ("Shares of the streams", _shares_text(replay.passes)),
        ("Not issued in their step", f"{sum(one.unissued for one in samples):,}" if paced else _NOT_DUE),
        ("Slip", _slip_text(samples) if paced else _NOT_DUE),
        ("Depth-limited time", "each step" if not paced else _limited_text(samples)),
        ("Sizes rounded to sectors", ", ".join(rounded) or "none"),
        ("I/Os at the mean of their sizes", f"{capture.binned_ios:,}"),
        (
            "Mapping",
            f"random over {active_range_text(conditions)} of the LBAs; sequences go on from step to step",
        ),
        ("Written before", fills if conditions.precondition_passes else "nothing"),
        ("Data written", f"{data_text(conditions.data)}; those of the capture are unknown"),
        ("Length of steps", f"x {conditions.time_scale:g}, 1 s at least"),
        ("Idle time cut of a pass", format_duration(cut_ns)),
    ]
    return Page(
        "rws-fidelity",
        "Fidelity of Replay-Native",
        (replay_sentence(replay), items_table("rws-fidelity-items", "Capture and replay", items)),
        mandatory=True,
    )


_NOT_DUE: Final = "n/a: at the capture's depth no moment is due"


def _shares_text(passes: Iterable[Sequence[Sample]]) -> str:
    """The farthest that a stream was from its share in a step of any pass."""
    errors: list[float] = []
    for sample in (sample for samples in passes for sample in samples):
        streams, counts = sample.step.streams, [_ios(part) for _, part in parts_of(sample)]
        weights = [stream.share or stream.stimulus.planned_ios_per_s or 0 for stream in streams]
        if len(counts) == len(weights) > 1 and all(weights) and any(counts):
            errors += map(abs, compare_shares(counts, weights).errors)
    if not errors:
        return "n/a: no step has several streams"
    off = sum(error > LIMIT_STANDARD_ERRORS for error in errors)
    return (
        f"{len(errors) - off:,} of {len(errors):,} shares within {LIMIT_STANDARD_ERRORS:g} standard errors, "
        f"the farthest {max(errors):.2f}"
    )


def _slip_text(samples: Sequence[Sample]) -> str:
    slips = LatencyDistribution.merged(sample.slips for sample in samples if sample.slips)
    if not slips.count:
        return "n/a: not measured by the engine"
    points = [(pct, slips.percentile_ns(pct)) for pct in _SLIP_PERCENTILES]
    known = [f"P{pct:g} {value_ns / NS_PER_US:.1f} us" for pct, value_ns in points if value_ns is not None]
    return ", ".join([*known, f"max {slips.buckets()[-1][1] / NS_PER_US:.1f} us"])


def _limited_text(samples: Sequence[Sample]) -> str:
    """Steps in which planned I/Os found no room."""
    busy = [sample for sample in samples if not sample.step.is_idle]
    limited_ns = sum(sample.elapsed_ns for sample in busy if sample.unissued)
    whole_ns = sum(sample.elapsed_ns for sample in busy)
    return (
        f"{100 * limited_ns / whole_ns:.2f} % in steps that left I/Os unissued" if whole_ns else "n/a: no I/O"
    )
