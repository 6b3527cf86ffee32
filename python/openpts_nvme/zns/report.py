"""The report of the test of zones."""

from statistics import median
from typing import Any, Final

from openpts.pages import cells
from openpts.pages.facts_table import items_table
from openpts.pages.kit import PlotName, page, page_of, rows_table
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Cell, Page, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_MS, NS_PER_S, format_block_size, format_capacity
from openpts.vocabulary.zones import ZonesMeasured, ZoneTimes, ZoneWrites
from openpts_nvme.zns import ZnsConditions


def _rate(writes: ZoneWrites) -> float:
    return writes.bytes / writes.elapsed_ns * NS_PER_S / MB


_TITLE: Final = "Zones"
_TIME: Final = Measure[ZoneTimes](
    "zone_command", "Zone {name}, median", "ms", lambda times: median(times.times_ns) / NS_PER_MS, decimals=3
)
_RATE: Final = Measure[ZoneWrites]("zone_throughput", "Zone {name}", "MB/s", _rate, decimals=1)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from what the record has of zones."""
    found = run.manifest.zones
    verdicts = (Verdict("n/a: no zone was measured.", "fail"),) if found is None else judge(found)
    return ReportContent(
        verdicts=verdicts,
        measures=_measures(found),
        sections=methodology(run, _TITLE, _test_rows(run), lambda: (zones_page(found, verdicts),)),
        figures=lambda: _key_numbers(found),
    )


def _ms(time_ns: float) -> Cell:
    return cells.number(time_ns / NS_PER_MS, 3)


def _named(writes: ZoneWrites) -> str:
    return f"{writes.what} {format_block_size(writes.block_size_bytes)} QD {writes.qd}"


def _measures(found: ZonesMeasured | None) -> tuple[Measured, ...]:
    if found is None:
        return ()
    return (
        *(_TIME.of(times, Subject(times.what)) for times in found.times),
        *(_RATE.of(writes, Subject(_named(writes))) for writes in found.writes),
    )


def judge(found: ZonesMeasured) -> tuple[Verdict, ...]:
    """Limits, write pointer and order of appends, each with the figures that decide it."""
    verdicts = [
        _limit_verdict("open", found.open_limit, found.opened, found.tried),
        _limit_verdict("active", found.active_limit, found.activated, found.tried),
    ]
    if (killed := found.killed) is not None:
        beyond = killed.write_pointer_bytes - killed.acknowledged_bytes
        verdicts.append(
            Verdict(
                f"Write pointer after a kill: {'as acknowledged' if killed.kept else 'wrong'}; "
                f"{killed.acknowledged_bytes:,} B acknowledged, the pointer {beyond:+,} B from that "
                f"(limit 0, or {killed.block_size_bytes:,} B that were under way).",
                "pass" if killed.kept else "fail",
            )
        )
    disordered = [_named(writes) for writes in found.writes if not writes.in_order]
    texts = (
        f"not where the drive says, or one over another: {', '.join(disordered)}"
        if disordered
        else ("each at its place, and the write pointer behind all")
    )
    verdicts.append(Verdict(f"Writes and appends: {texts}.", "fail" if disordered else "pass"))
    if found.no_append:
        verdicts.append(Verdict(f"Appends: not measured, as {found.no_append}.", "info"))
    return tuple(verdicts)


def _limit_verdict(what: str, limit: int, reached: int, tried: int) -> Verdict:
    """``limit`` 0: the drive reports none."""
    reported = f"{limit:,} reported" if limit else "no limit reported"
    expected = min(limit or tried, tried)
    kept = reached == expected
    words = "as reported" if kept else "not as reported"
    return Verdict(
        f"Zones that can be {what}: {words}; {reached:,} of {tried:,} tried, {reported}.",
        "pass" if kept else "fail",
    )


def zones_page(found: ZonesMeasured | None, verdicts: tuple[Verdict, ...]) -> Page:
    """Layout, limits, times of the commands, and throughput."""
    name = PlotName("zns-zones", "", "Zones")
    if found is None:
        return page_of(name, absent="no zone was measured")
    items = (
        ("Model", found.model),
        ("Zones", f"{found.zones:,}, {found.conventional:,} of them conventional"),
        ("Zone size", format_capacity(found.zone_bytes)),
        ("Zone capacity", format_capacity(found.zone_capacity_bytes)),
        ("Open zones at most", f"{found.open_limit:,}" if found.open_limit else "no limit"),
        ("Active zones at most", f"{found.active_limit:,}" if found.active_limit else "no limit"),
        ("Largest append", format_capacity(found.append_limit_bytes) if found.append_limit_bytes else "none"),
    )
    times = rows_table(
        "zns-times",
        "Times of commands (ms)",
        "Command, zone:<0 | Zones | Least | Median | Most",
        (
            (one.what, cells.count(len(one.times_ns)), *(_ms(of(one.times_ns)) for of in (min, median, max)))
            for one in found.times
        ),
    )
    writes = rows_table(
        "zns-writes",
        "Writes and appends to one zone",
        "I/O:<0 | MB | MB/s",
        ((_named(one), cells.number(one.bytes / MB, 1), cells.number(_rate(one), 1)) for one in found.writes),
    )
    return page(name, *verdicts, items_table("zns-layout", "Layout and limits", items), times, writes)


def _test_rows(run: Run) -> Rows:
    asked = run.conditions(ZnsConditions)
    size = format_block_size(asked.block_size_bytes)
    return stimulus_rows(
        run,
        ("Test Stimulus 1", "zones opened, and made active, until refused"),
        ("TOIO - TC/QD", "one command at a time"),
        ("Test Stimulus 2", f"reset and finish, {asked.repeats} zones each"),
        ("TOIO - TC/QD", "one command at a time"),
        ("Test Stimulus 3", f"SEQ {size} W to a zone at QD 1; appends"),
        ("TOIO - TC/QD", f"appends: QD {', '.join(map(str, asked.qds))}"),
        ("Test Stimulus 4", f"a writer killed after {asked.killed_after:,} writes"),
        ("Steady State", NO_STEADY_STATE),
    )


def _key_numbers(found: ZonesMeasured | None) -> dict[str, Any]:
    """JSON-ready."""
    if found is None:
        return {}
    killed = found.killed
    return {
        "zones": found.zones,
        "zone_bytes": found.zone_bytes,
        "zone_capacity_bytes": found.zone_capacity_bytes,
        "open": {"reported": found.open_limit, "reached": found.opened, "tried": found.tried},
        "active": {"reported": found.active_limit, "reached": found.activated, "tried": found.tried},
        "times_ms": {one.what: median(one.times_ns) / NS_PER_MS for one in found.times},
        "mb_per_s": {_named(one): _rate(one) for one in found.writes},
        "in_order": all(one.in_order for one in found.writes),
        "killed": None
        if killed is None
        else {
            "acknowledged_bytes": killed.acknowledged_bytes,
            "write_pointer_bytes": killed.write_pointer_bytes,
            "kept": killed.kept,
        },
    }
