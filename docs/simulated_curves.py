"""Draws the characteristic curves of simulated drives for the manual, each from a run of the moment.

Writes docs/curves/NAME.svg.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import vl_convert

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.options import Demand, NativeOptions
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    DriveFills,
    Duration,
    FirstOf,
    Step,
    Stimulus,
    StopRule,
)
from openpts_pages.plots.theme import FONT_DIRECTORY, LIGHT, vega_config
from openpts_sim.presets import default_scale, load_preset
from openpts_sim.simulated_engine import SimulatedDrive, SimulatedEngine

FOLDER: Final = Path(__file__).with_name("curves")
SEED: Final = 1
HOUR_S: Final = 3600
RND, SEQ = AccessPattern.RANDOM, AccessPattern.SEQUENTIAL

Row = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """One plot; rows are (series, x, y)."""

    title: str
    x: str
    y: str
    rows: Sequence[Row]


def drive_and_engine(preset_name: str, *, interval_s: int = 60) -> tuple[SimulatedDrive, SimulatedEngine]:
    """A new drive in the preset's own capacity, and a host that can do all that is asked here."""
    preset = load_preset(preset_name)
    scale = default_scale(preset, preset.capacity_bytes)
    drive = SimulatedDrive(
        preset, path=preset_name, capacity_bytes=preset.capacity_bytes, scale=scale, seed=SEED
    )
    options = NativeOptions(interval_ns=interval_s * NS_PER_S, interval_histograms=False)
    return drive, drive.engine(Demand(32, 32, MIB), SEED, options)


def writes(pattern: AccessPattern, block_bytes: int, stop: StopRule, tc: int = 4, qd: int = 32) -> Step:
    """Nothing but writes, until the rule says so."""
    return Step.of(Stimulus.of(pattern, block_bytes, 0, tc, qd, ActiveRange()), stop)


def run(engine: SimulatedEngine, steps: Sequence[Step]) -> Iterator[Sample]:
    """The samples of a program, in order."""
    engine.submit(steps)
    for _ in steps:
        while (sample := engine.poll(10.0)) is None:
            pass
        yield sample


def full(sample: Sample) -> Iterator[Interval]:
    """The intervals of a step that are whole; the rest at its end is too short for a rate."""
    return (interval for interval in sample.intervals if interval.elapsed_ns == sample.interval_ns)


def write_saturation() -> Curve:
    """PTS 10: 4 KiB random writes from fresh on."""
    rows: list[Row] = []
    for preset in ("enterprise-tlc", "client-qlc", "sata-reduction"):
        drive, engine = drive_and_engine(preset)
        stop = FirstOf((DriveFills(4), Duration.seconds(6 * HOUR_S)))
        (sample,) = run(engine, [writes(RND, 4 * KIB, stop)])
        written_bytes = 0
        for interval in full(sample):
            written_bytes += interval.bytes
            rows.append((preset, written_bytes / drive.facts.user_capacity_bytes, interval.iops / 1000))
    return Curve("RND 4 KiB writes from fresh on, 6 h at most", "drive writes", "k IOPS", rows)


def idle_recovery() -> Curve:
    """PTS 11: bursts of 5 s with idle times between them, after steady state."""
    rows: list[Row] = []
    drive, engine = drive_and_engine("enterprise-tlc", interval_s=1)
    drive.jump_start()
    bursts_s = 0.0
    burst = writes(RND, 4 * KIB, Duration.seconds(5))
    baseline = writes(RND, 4 * KIB, Duration.seconds(1800))
    for idle_s in (0, 5, 10, 15, 25, 50):
        idle = [Step.of(None, Duration.seconds(idle_s))] if idle_s else []
        name = f"{idle_s} s idle" if idle_s else "no idle"
        for sample in run(engine, [baseline, *[*idle, burst] * 60]):
            if sample.step == burst:
                bursts_s += 5
                rows.append((name, bursts_s / 60, sample.iops / 1000))
    return Curve("RND 4 KiB bursts of 5 s after idle time", "time in bursts, min", "k IOPS", rows)


def cross_stimulus_recovery() -> Curve:
    """PTS 12: sequential, random, sequential."""
    rows: list[Row] = []
    _, engine = drive_and_engine("enterprise-tlc")
    program = [
        writes(SEQ, MIB, Duration.seconds(8 * HOUR_S), tc=1),
        writes(RND, 8 * KIB, Duration.seconds(6 * HOUR_S)),
        writes(SEQ, MIB, Duration.seconds(8 * HOUR_S), tc=1),
    ]
    before_h = 0.0
    for sample, name in zip(
        run(engine, program), ("SEQ 1024 KiB", "RND 8 KiB", "SEQ 1024 KiB again"), strict=True
    ):
        for interval in full(sample):
            before_h += interval.elapsed_ns / NS_PER_S / HOUR_S
            rows.append((name, before_h, interval.bandwidth_bytes_per_s / 1e6))
    return Curve("SEQ 1024 KiB, RND 8 KiB, SEQ 1024 KiB writes", "h", "MB/s", rows)


def demand_intensity() -> Curve:
    """PTS 14: mean latency over IOPS while the demand grows."""
    rows: list[Row] = []
    for read_pct in (0, 65, 100):
        drive, engine = drive_and_engine("enterprise-tlc")
        drive.jump_start()
        threads = (1, 2, 4, 8, 16, 32)
        demands = sorted(
            {(tc, qd) for tc in threads for qd in threads}, key=lambda demand: demand[0] * demand[1]
        )
        steps = [
            Step.of(Stimulus.of(RND, 4 * KIB, read_pct, tc, qd, ActiveRange()), Duration.seconds(60))
            for tc, qd in demands
        ]
        rows += [
            (f"{read_pct} % reads", sample.iops / 1000, (sample.mean_latency_ns or 0) / 1e6)
            for sample in run(engine, steps)
        ]
    return Curve("Demand from 1 to 1024 I/Os outstanding, RND 4 KiB", "k IOPS", "mean latency, ms", rows)


def slc_cache() -> Curve:
    """Sequential writes through an SLC cache and beyond."""
    rows: list[Row] = []
    drive, engine = drive_and_engine("client-qlc", interval_s=10)
    written_bytes = 0
    (sample,) = run(engine, [writes(SEQ, 128 * KIB, DriveFills(1), tc=1)])
    for interval in full(sample):
        written_bytes += interval.bytes
        rows.append(
            (
                "client-qlc",
                100 * written_bytes / drive.facts.user_capacity_bytes,
                interval.bandwidth_bytes_per_s / 1e6,
            )
        )
    return Curve("SEQ 128 KiB writes from fresh on", "% of the drive written", "MB/s", rows)


def nand_pages(drive: SimulatedDrive) -> tuple[int, int]:
    """Pages programmed so far: those of the host, and all."""
    log = drive.smart()
    return int(log["nand_pages_host"] or 0), int(log["nand_pages_total"] or 0)


def write_amplification() -> Curve:
    """Pages programmed for each page of the host, 4 KiB random writes from fresh on."""
    rows: list[Row] = []
    for preset in ("enterprise-tlc", "sata-reduction"):
        drive, engine = drive_and_engine(preset)
        before = nand_pages(drive)
        for tenth in range(1, 41):
            list(run(engine, [writes(RND, 4 * KIB, DriveFills(0.1))]))
            of_host, all_pages = (now - then for now, then in zip(nand_pages(drive), before, strict=True))
            rows.append((preset, tenth / 10, all_pages / of_host))
            before = nand_pages(drive)
    return Curve("RND 4 KiB writes from fresh on", "drive writes", "write amplification", rows)


def histories() -> Curve:
    """The same 4 KiB random writes on a drive with three histories."""
    rows: list[Row] = []
    before: dict[str, list[Step]] = {
        "fresh": [],
        "after 2 sequential drive writes": [writes(SEQ, 128 * KIB, DriveFills(2), tc=1)],
        "after 4 random drive writes": [writes(RND, 4 * KIB, DriveFills(4))],
    }
    for name, steps in before.items():
        _, engine = drive_and_engine("enterprise-tlc")
        *_, sample = run(engine, [*steps, writes(RND, 4 * KIB, Duration.seconds(HOUR_S))])
        rows += [(name, interval.index + 1, interval.iops / 1000) for interval in full(sample)]
    return Curve("The same RND 4 KiB writes on one drive, three histories", "min", "k IOPS", rows)


def percentiles() -> Curve:
    """PTS 9.3.6: response times of reads, alone and beside writes, by their share of the I/Os in nines."""
    rows: list[Row] = []
    for read_pct in (100, 95, 65):
        drive, engine = drive_and_engine("enterprise-tlc")
        drive.jump_start()
        stimulus = Stimulus.of(RND, 4 * KIB, read_pct, 1, 8, ActiveRange())
        (sample,) = run(engine, [Step.of(stimulus, Duration.seconds(600))])
        times = LatencyDistribution.merged([sample.read.histogram])
        mean_ms = sample.read.latency_sum_ns / sample.read.ios / 1e6
        for nines in range(1, 5):
            within_ns = times.percentile_ns(100 - 100 / 10**nines)
            rows.append((f"{read_pct} % reads, mean {mean_ms:.3f} ms", nines, (within_ns or 0) / 1e6))
    return Curve("Reads of RND 4 KiB, QD 8", "nines: 2 is 99 %, 3 is 99.9 %", "response time, ms", rows)


CURVES: Final[dict[str, Callable[[], Curve]]] = {
    "write-saturation": write_saturation,
    "idle-recovery": idle_recovery,
    "cross-stimulus-recovery": cross_stimulus_recovery,
    "demand-intensity": demand_intensity,
    "slc-cache": slc_cache,
    "write-amplification": write_amplification,
    "histories": histories,
    "percentiles": percentiles,
}


def specification(curve: Curve) -> dict[str, Any]:
    """The plot as Vega-Lite."""
    values = [
        {"series": name, "order": order, "x": x, "y": y} for order, (name, x, y) in enumerate(curve.rows)
    ]
    names = list(dict.fromkeys(name for name, _, _ in curve.rows))
    color = {"field": "series", "type": "nominal", "scale": {"domain": names}, "title": None}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": f"SIMULATED: {curve.title}",
        "width": 640,
        "height": 320,
        "data": {"values": values},
        "mark": {"type": "line", "point": len(values) < 60},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": curve.x},
            "y": {"field": "y", "type": "quantitative", "title": curve.y, "scale": {"zero": True}},
            "color": color,
            "order": {"field": "order"},
        },
    }


def main() -> None:
    """Draw those that are named, or all."""
    vl_convert.register_font_directory(str(FONT_DIRECTORY))
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CURVES:
        svg = vl_convert.vegalite_to_svg(specification(CURVES[name]()), config=vega_config(LIGHT))
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
