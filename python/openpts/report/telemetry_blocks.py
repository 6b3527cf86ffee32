"""What was sampled beside the I/O: a summary of each value, what happened on the link, panels over time."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import fmean
from typing import Final

from openpts.pages import cells
from openpts.pages.kit import Cells, rows_table
from openpts.pages.model import Block, Column, Table, Verdict
from openpts.record.health import TelemetrySeries
from openpts.record.reader import Run
from openpts.report.telemetry_panels import panels
from openpts.report.telemetry_series import mean_over_time, quantity, value_at
from openpts.units import NS_PER_S, format_capacity
from openpts.vocabulary.sample import DRIVE_ENERGY, DRIVE_MEDIA_WRITES

_THROTTLED: Final = "throttled"
_FOREIGN: Final = "foreign_bytes"
_SINGLE_PROCESSOR: Final = re.compile(r"cpu_([0-9]+)_([a-z]+)_pct")
_STATES: Final = {
    "busy": "Busy (%)",
    "user": "User (%)",
    "sys": "Sys (%)",
    "iowait": "I/O wait (%)",
    "irq": "Irq (%)",
    "softirq": "Softirq (%)",
    "steal": "Steal (%)",
}
_MOST_PROCESSORS: Final = 16
# Values of the link: rate and lanes, and counters of errors.
_LINK: Final = ("link_gt_per_s", "link_width")
_ERRORS: Final = re.compile(r"aer_(port_)?(correctable|nonfatal|fatal)_errors")
_MOST_MARKS: Final = 8
# What a purge discarded just before may be in the first samples of a cycle.
_SETTLED_NS: Final = 3 * NS_PER_S
_WHAT: Final = "I/O of others on the device under test"


def telemetry_blocks(run: Run) -> tuple[Block, ...]:
    """All that the record holds of what was sampled."""
    series = run.telemetry_series
    if not series:
        return (Verdict("Telemetry: not reported (nothing was sampled beside the I/O)."),)
    single = {name: of_name for name, of_name in series.items() if _SINGLE_PROCESSOR.fullmatch(name)}
    left_out = {_THROTTLED, _FOREIGN, DRIVE_ENERGY, DRIVE_MEDIA_WRITES, *single}
    values = {name: of_name for name, of_name in series.items() if name not in left_out}
    changes = sorted(_changes(series))
    return (
        *((_summary(values),) if values else ()),
        *_throttling(series.get(_THROTTLED)),
        *_link(series, changes, run),
        *foreign_io(run, series.get(_FOREIGN)),
        *((_processors(single),) if single else ()),
        *panels(run, values, changes[:_MOST_MARKS]),
    )


def _throttling(throttled: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """How much of the time heat slowed the device down, where it reports that."""
    if throttled is None:
        return ()
    share_pct = 100 * fmean(throttled.values)
    if not share_pct:
        return (Verdict("Heat slowed the device down in none of the samples.", "pass"),)
    return (Verdict(f"Heat slowed the device down in {cells.fixed(share_pct, 1)} % of the samples.", "fail"),)


def _summary(values: Mapping[str, TelemetrySeries]) -> Table:
    return rows_table(
        "run-conditions-telemetry",
        "Telemetry of device and host",
        "Value:<2 | Values stored | Lowest | Mean | Highest",
        (_summary_row(name, series) for name, series in sorted(values.items())),
        note="A value is stored when it changes and holds until the next one; means are weighted by time.",
    )


def _summary_row(name: str, series: TelemetrySeries) -> Cells:
    what = quantity(name)
    shown = (min(series.values), mean_over_time(series), max(series.values))
    return (
        what.heading,
        cells.number(len(series.values), 0),
        *(cells.number(value / what.divisor, 1) for value in shown),
    )


def _processors(single: Mapping[str, TelemetrySeries]) -> Table:
    """The busiest ones, each by itself."""
    shares: dict[int, dict[str, float]] = {}
    for name, series in single.items():
        if match := _SINGLE_PROCESSOR.fullmatch(name):
            shares.setdefault(int(match[1]), {})[match[2]] = mean_over_time(series)
    busiest = sorted(shares, key=lambda cpu: (-shares[cpu].get("busy", 0), cpu))[:_MOST_PROCESSORS]
    left_out = len(shares) - len(busiest)
    return rows_table(
        "run-conditions-processors",
        "Mean shares of the time of each processor",
        ("Processor:<", *(Column(title) for title in _STATES.values())),
        ((str(cpu), *(cells.cpu_share(shares[cpu].get(state)) for state in _STATES)) for cpu in busiest),
        note=f"The busiest processors; {left_out:,} others are left out." if left_out else "",
    )


def _changes(series: Mapping[str, TelemetrySeries]) -> Iterator[tuple[int, str]]:
    """When the link became another one, and when errors were counted on it."""
    for name, of_name in series.items():
        counts = _ERRORS.fullmatch(name) is not None
        if not counts and name not in _LINK:
            continue
        what = quantity(name)
        moments = zip(of_name.t_ns, of_name.values, strict=True)
        for (_, before), (t_ns, after) in pairwise(moments):
            if counts and after > before:
                yield t_ns, f"{what.title}: {after - before:,.0f} more"
            elif not counts and after != before:
                yield t_ns, f"{what.heading}: {before:g} to {after:g}"


def _link(
    series: Mapping[str, TelemetrySeries], changes: list[tuple[int, str]], run: Run
) -> tuple[Block, ...]:
    if not any(name in series for name in _LINK):
        return ()
    if not changes:
        link = " x".join(f"{series[name].values[0]:g}" for name in _LINK if name in series)
        counted = any(map(_ERRORS.fullmatch, series))
        errors = "no error was counted on it" if counted else "errors on it: not reported"
        return (Verdict(f"The PCIe link was {link} (GT/s, lanes) all the time; {errors}.", "pass"),)
    start_ns = run.steps[0].sample.started_ns if run.steps else changes[0][0]
    table = rows_table(
        "run-conditions-link",
        "What happened on the PCIe link",
        "Elapsed (s) | Change:<4",
        ((cells.number((t_ns - start_ns) / NS_PER_S, 0), cells.words(text)) for t_ns, text in changes),
    )
    text = f"The PCIe link changed, or errors were counted on it: {len(changes):,} times."
    return (Verdict(text, "fail"), table)


def foreign_io(run: Run, counted: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """By how much the kernel's count of the device's bytes grew more than the engine's own, cycle by cycle.

    The two are read one after the other, so they may differ by what was in flight.
    """
    if counted is None or not run.steps:
        return ()
    grown = [
        growth
        for cycle in range(1, run.cycle_count + 1)
        if (growth := _growth(run, counted, cycle)) is not None
    ]
    if not grown:
        return (Verdict(f"{_WHAT}: n/a (the run is too short for the interval of the samples)."),)
    in_flight = max((_in_flight_bytes(run)), default=0)
    if min(grown) < -in_flight:
        return (Verdict(f"{_WHAT}: n/a (the kernel counted fewer bytes than the engine transferred)."),)
    foreign = sum(growth for growth in grown if growth > in_flight)
    if foreign:
        return (Verdict(f"{_WHAT}: {format_capacity(int(foreign))}, by the kernel's count.", "fail"),)
    return (Verdict(f"{_WHAT}: none, to within {format_capacity(in_flight)} of I/O in flight.", "pass"),)


def _growth(run: Run, counted: TelemetrySeries, cycle: int) -> float | None:
    """Within the steps of a cycle: the purge before them is not the engine's."""
    samples = [step.sample for step in run.steps if step.place.cycle == cycle]
    if not samples:
        return None
    begin_ns = samples[0].started_ns + _SETTLED_NS
    end_ns = samples[-1].started_ns + samples[-1].elapsed_ns
    before, after = value_at(counted, begin_ns), value_at(counted, end_ns)
    return None if begin_ns >= end_ns or before is None or after is None else after - before


def _in_flight_bytes(run: Run) -> list[int]:
    steps = (step.sample.step for step in run.steps)
    return [sum(s.toio * s.block_size_bytes for s in step.stimuli) for step in steps if not step.is_idle]
