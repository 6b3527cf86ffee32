"""The report of a rotational disk: rates over its zones, and what access costs."""

from typing import Any, Final

from openpts.pages.facts_table import items_table
from openpts.pages.measure import Measure, Measured, Subject, measured
from openpts.pages.model import Page, Verdict
from openpts.pages.texts import fact_text
from openpts.procedures.extended.hdd.conditions import RotationalConditions
from openpts.procedures.extended.hdd.pages import RotationalRun, access_page, throughput_page, whole_rate
from openpts.procedures.extended.hdd.results import ZoneRate, inner_to_outer, mean_bytes_per_s, rates_of
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, of_cycle, stimulus_rows, write_cache
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology
from openpts.procedures.shared.preparation_page import largest_gap
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_MS, format_block_size, format_duration
from openpts.vocabulary.facts import has_platters, media_of
from openpts.vocabulary.phase import Phase

_TITLE = "Rotational Disk by Zones"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    disk = _measured(run)
    return ReportContent(
        verdicts=_verdicts(disk),
        measures=_measures(disk),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(disk),
            lambda: (_preparation_page(run), throughput_page(disk), access_page(disk)),
        ),
        figures=_figures(disk),
    )


def _measured(run: Run) -> RotationalRun:
    conditions = run.conditions(RotationalConditions)
    return RotationalRun(
        run=run,
        conditions=conditions,
        zones=rates_of(step.sample for step in run.phase(Phase.SWEEP)),
        whole=rates_of(step.sample for step in run.phase(Phase.PROFILE)),
    )


def _verdicts(measured: RotationalRun) -> tuple[Verdict, ...]:
    """How much was measured, and whether the device is what the test is for."""
    planned = measured.conditions.zones
    begun = len({rate.first_pct for rate in measured.zones})
    counted = Verdict(
        f"{begun} of {planned} zones measured, each by {2 + 2 * len(measured.conditions.qds)} stimuli.",
        "info" if begun == planned else "fail",
    )
    dut = measured.run.manifest.dut
    if has_platters(dut):
        return (counted,)
    media = media_of(dut)
    return (
        counted,
        Verdict(
            f"Media: {media or 'not reported'}. This test is made for rotational "
            "disks: other media have no zones, and their figures depend on what was written before.",
            "fail",
        ),
    )


def _measures(run: RotationalRun) -> tuple[Measured, ...]:
    conditions, found = run.conditions, list[Measured]()
    size = format_block_size(conditions.sequential_block_size_bytes)
    for read, letter in _DIRECTIONS:
        found += measured(_sequential(read=read), run, Subject(f"SEQ {size} {letter}"))
    size = format_block_size(conditions.random_block_size_bytes)
    for qd in conditions.qds:
        for read, letter in _DIRECTIONS:
            rate = whole_rate(run, qd, read=read)
            found.append(_RANDOM.of(rate, Subject(f"RND {size} {letter} QD {qd}")))
    return (*found, _ACCESS.of(whole_rate(run, min(conditions.qds), read=True)))


_DIRECTIONS: Final = ((True, "R"), (False, "W"))


def _sequential(*, read: bool) -> tuple[Measure[RotationalRun], ...]:
    return (
        Measure(
            "all_zones",
            "{name}, all zones",
            "MB/s",
            lambda run: mean_bytes_per_s(run.zones, run.conditions.zones, read=read),
            per=MB,
            decimals=1,
        ),
        Measure(
            "last_to_first",
            "{name}, last zone / first",
            "x",
            lambda run: inner_to_outer(run.zones, run.conditions.zones, read=read),
            decimals=2,
        ),
    )


_RANDOM: Final = Measure[ZoneRate](
    "whole_range", "{name}, whole range", "IOPS", lambda rate: rate.iops, decimals=1
)
_ACCESS: Final = Measure[ZoneRate](
    "mean_access_time",
    "Mean access time of reads, whole range",
    "ms",
    lambda rate: rate.access_ns,
    per=NS_PER_MS,
    decimals=3,
)


def _test_rows(measured: RotationalRun) -> Rows:
    conditions = measured.conditions
    sequential = format_block_size(conditions.sequential_block_size_bytes)
    random = format_block_size(conditions.random_block_size_bytes)
    return stimulus_rows(
        measured.run,
        ("Test Stimulus 1", f"SEQ {sequential} W, then R, in each zone"),
        ("TOIO - TC/QD", demand_text(conditions.sequential_tc, conditions.sequential_qd)),
        ("Test Stimulus 2", f"RND {random} R and W, in each zone and over all"),
        ("TOIO - TC/QD", "TC 1 / QD " + " and ".join(map(str, conditions.qds))),
        ("Zones", str(conditions.zones)),
        ("Duration", f"{format_duration(conditions.minute_ns)} each"),
        ("Media", fact_text(measured.run.manifest.dut, "media")),
        ("Steady State", NO_STEADY_STATE),
    )


def _preparation_page(run: Run) -> Page:
    """What other tests do before, and why this one does not."""
    cache = of_cycle(run.manifest.write_caches, 1)
    rows = items_table(
        "hdd-preparation-items",
        "Write cache, and time without I/O",
        [
            ("Write cache required", cache.required if cache else "not recorded"),
            ("Write cache found", write_cache(cache)),
            ("Largest gap between steps", largest_gap(run)),
        ],
    )
    return Page(
        "hdd-preparation",
        "Preparation",
        (
            Verdict(
                "No purge: a platter is overwritten in place, so that its write history does not matter."
            ),
            Verdict("No preconditioning and no steady state, for the same reason."),
            rows,
        ),
        mandatory=True,
    )


def _figures(measured: RotationalRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "zones": [_rate_figures(rate) for rate in measured.zones],
        "whole_range": [_rate_figures(rate) for rate in measured.whole],
        **{
            f"sequential_{name}_{what}": figure(measured.zones, measured.conditions.zones, read=read)
            for read, name in ((True, "read"), (False, "write"))
            for what, figure in (("bytes_per_s", mean_bytes_per_s), ("last_to_first", inner_to_outer))
        },
    }


def _rate_figures(rate: ZoneRate) -> dict[str, Any]:
    return {
        "first_pct": rate.first_pct,
        "last_pct": rate.last_pct,
        "pattern": "random" if rate.random else "sequential",
        "direction": "read" if rate.read else "write",
        "qd": rate.qd,
        "mb_per_s": rate.bytes_per_s / MB,
        "iops": rate.iops,
        "mean_ms": None if rate.access_ns is None else rate.access_ns / 1e6,
    }
