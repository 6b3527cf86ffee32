"""Preparation and zones of write saturation in tables (PTS 10.3.1, 10.1)."""

from openpts.analysis.saturation import FINAL_MINUTES, PLATEAU_MINUTES, ZONE_PCT, Zones
from openpts.pages import cells
from openpts.pages.facts_table import items_table
from openpts.pages.model import Cell, Page, Verdict
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.procedures.pts.wsat.pages import Trajectory, end_sentence
from openpts.procedures.shared.preparation_page import active_range, preparation_page
from openpts.record.reader import Run
from openpts.units import GB, format_duration
from openpts.vocabulary.condition_text import data_text


def stimulus_page(run: Run, course: Trajectory, demand: str, cycle: int) -> Page:
    """Purge, write cache, and what was applied after it."""
    page_id = f"{course.prefix}-preparation"
    conditions = run.conditions(WriteSaturationConditions)
    results, covered = course.results, conditions.active_range
    fills = results.written_bytes / course.capacity_bytes if course.capacity_bytes else 0.0
    items: list[tuple[str, str | Cell]] = [
        ("Workload", course.title),
        ("TOIO - TC/QD", demand),
        ("Data pattern", data_text(conditions.data)),
        ("Active range", active_range(covered.start_pct, covered.end_pct)),
        (
            "End rules",
            f"{conditions.drive_fills:g} x user capacity written or {format_duration(conditions.longest_ns)}"
            + (", or Steady State" if conditions.stop_when_steady else ""),
        ),
        ("Ended by", course.ended_by or cells.words("not ended", tone="fail")),
        ("Time", format_duration(results.elapsed_ns)),
        ("Written", f"{cells.fixed(results.written_bytes / GB, 1)} GB = {cells.fixed(fills, 2)} drive fills"),
        ("Tracked minutes", str(len(results.tracked_iops))),
    ]
    stimulus = items_table(f"{page_id}-stimulus", "Stimulus, applied to the purged device", items)
    return preparation_page(run, page_id, "WSAT Purge Report and Test Stimulus", stimulus, cycle=cycle)


def zones_page(course: Trajectory, page_id: str, title: str, state: str) -> Page:
    """Plateau, transition and end zone with the rule that separates them.

    ``state`` is whether Steady State was found, in words.
    """
    zones = course.results.zones
    if zones is None:
        return Page(page_id, title, (Verdict("Zones: n/a (fewer than ten minutes).", "info"),))
    rule = Verdict(
        f"Rule (openpts' own): the plateau lasts while minute means are within {ZONE_PCT:g} % of the mean of "
        f"the first {PLATEAU_MINUTES} minutes, or of the first minute if those {PLATEAU_MINUTES} differ by "
        f"more; the end zone "
        f"begins with the first minute after it within {ZONE_PCT:g} % of the mean of the last "
        f"{FINAL_MINUTES} minutes (or the last quarter, if shorter). Steady State is decided by definition "
        "2.1.24 alone."
    )
    return Page(
        page_id,
        title,
        (
            Verdict(end_sentence(course)),
            items_table(
                f"{page_id}-table",
                "X-WSAT-1 - Zones",
                _items(zones, state, left=zones.plateau_minutes < course.results.minutes[-1].number),
            ),
            rule,
        ),
    )


def _items(zones: Zones, state: str, *, left: bool) -> list[tuple[str, str | Cell]]:
    plateau_end = zones.plateau_minutes
    never_left = "n/a (plateau never left)"
    settled = "n/a (nothing settled)" if zones.settled_from is None else f"minute {zones.settled_from}"
    items: list[tuple[str, str | Cell]] = [
        ("FOB plateau, mean (IOPS)", cells.number(zones.plateau_iops, 1)),
        ("FOB plateau, length (min)", cells.number(plateau_end, 0)),
        ("Transition begins", f"minute {plateau_end + 1}" if left else never_left),
        ("End zone begins", settled if left else never_left),
        ("Steady State", state),
        (f"Last {FINAL_MINUTES} minutes, mean (IOPS)", cells.number(zones.final_iops, 1)),
    ]
    for label, value, decimals in (
        ("End zone, mean (IOPS)", zones.end_zone_iops, 1),
        ("End zone, lowest interval (IOPS)", zones.lowest_iops, 1),
        ("End zone, coefficient of variation of the intervals (%)", zones.variation_pct, 1),
        (
            "End zone, time below half of its mean (s)",
            None if zones.below_half_ns is None else zones.below_half_ns / 1e9,
            1,
        ),
        ("FOB plateau / end zone", zones.ratio, 2),
        ("End zone, share of the FOB plateau (%)", zones.kept_pct, 1),
    ):
        items.append((label, cells.number_or("no end zone", value, decimals)))
    return items
