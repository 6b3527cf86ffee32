"""The purge and preconditioning report, and the gaps without I/O (PTS 7.3.1, 7.3.2)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Final

from msgspec.structs import replace

from openpts.analysis.settling import Settling, look_of
from openpts.analysis.settling import judge as judge_rest
from openpts.analysis.steady_state import WINDOW_ROUNDS, judge
from openpts.fields.conditions import RestingConditions
from openpts.procedures.kit.content import Sections
from openpts.procedures.kit.header import (
    Rows,
    TestSection,
    date_and_time,
    demand_text,
    of_cycle,
    precondition_amount,
    precondition_samples,
    purge_method,
    sections_of,
    setup_rows,
    write_cache,
)
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, MB, format_capacity, format_duration, format_gap, per_second
from openpts.vocabulary.facts import Fact, PurgeReport
from openpts.vocabulary.purge import PURGE_STATUS_NAMES
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.workload import data_text
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, PlotName, page_of, rows_table
from openpts_pages.model import Block, Cell, Column, Page, Row, Table, Verdict
from openpts_pages.texts import NOT_STATED
from openpts_pts.shared.demand.conditions import DemandConditions
from openpts_pts.shared.one_pass import AFTERWARDS, IN_SEQUENCE, PASS, UNTIL_COLLECTION, amplification
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.rounds.results import RoundTestResults, one_pass_of


def preparation_page(run: Run, page_id: str, title: str, *own: Block, cycle: int = 1) -> Page:
    """The purge, the test's ``own`` blocks, and how long the device was left alone."""
    return Page(
        page_id,
        title,
        (purge_verdict(run, cycle), purge_table(run, page_id, cycle), *own, _gaps_table(run, page_id, cycle)),
        mandatory=True,
    )


def loop_preparation_page(
    run: Run, results: RoundTestResults, page_id: str, title: str, *, loop_name: str, cycle: int = 1
) -> Page:
    """What was done to the device before the rounds, and how long it was left alone in between."""
    pass_steps = run.phase(Phase.CONDITIONING, cycle=cycle)
    least, flash = _at_full_length(run, results), results.conditions.known_flash
    short = [short_form_table(run, page_id, pass_steps, flash, least)] if pass_steps else []
    wipc = [wipc_table(run, page_id, cycle)] if not short or precondition_samples(run, cycle) else []
    loop = _loop_table(run, results, page_id, loop_name, cycle)
    return preparation_page(run, page_id, title, *short, *wipc, loop, cycle=cycle)


def purge_verdict(run: Run, cycle: int = 1) -> Verdict:
    """Whether a purge was run before the cycle, and how far that is proven (PTS 3.2)."""
    purge = of_cycle(run.manifest.purges, cycle)
    if run.manifest.imported is not None:
        return Verdict("Whether a purge was run before this test is not stated.", "fail")
    if purge is None or not purge.ran:
        instead = f" ({purge.method})" if purge is not None and purge.name else ""
        return Verdict(f"No purge was run before this test{instead}; PTS 3.2 requires one.", "fail")
    if not purge.samples:
        return Verdict(f"Purge run ({purge.method}); its effect was not checked by reading back.")
    proven = purge.changed_samples == purge.samples
    gone = (
        "marked places read back without their mark"
        if run.manifest.target.simulation is None
        else "pages that held data are empty"
    )
    return Verdict(
        f"Purge run ({purge.method}): {purge.changed_samples:,} of {purge.samples:,} {gone}.",
        "pass" if proven else "fail",
    )


def purge_table(run: Run, page_id: str, cycle: int = 1) -> Table:
    """The purge and the write cache of a cycle, as recorded."""
    purge = of_cycle(run.manifest.purges, cycle)
    ran = purge is not None and (purge.ran or purge.name)
    items: list[tuple[str, str | Cell]] = [("Purge Method", purge_method(run.manifest, cycle))]
    if purge is not None:
        items.append(("Detail", purge.detail or "-"))
    if purge is not None and ran:
        items += [
            ("Started", date_and_time(purge.started_at)),
            ("Duration", format_duration(purge.duration_ns)),
            ("Proof: marked places changed", f"{purge.changed_samples:,} of {purge.samples:,}"),
            *_further_proof(purge),
        ]
    cache = of_cycle(run.manifest.write_caches, cycle)
    items.append(("Write cache required", cache.required if cache else "not recorded"))
    items.append(("Write cache found", write_cache(cache)))
    return items_table(f"{page_id}-purge", "Purge and write cache", items)


def _further_proof(purge: PurgeReport) -> Iterator[tuple[str, str | Cell]]:
    """What else was read back, facts of the drive's own logs, and methods that failed."""
    if purge.other_samples:
        yield "Proof: places with older data changed", f"{purge.other_samples:,} of {purge.other_samples:,}"
    if purge.blank_samples is not None:
        looked_at = purge.samples + purge.other_samples
        yield "Blank afterwards (all zeros or ones)", f"{purge.blank_samples:,} of {looked_at:,} places"
    for name, fact in purge.status.items():
        yield PURGE_STATUS_NAMES.get(name, name), _change(fact, purge.status_was(name))
    for attempt in purge.attempts:
        yield f"Not taken: {attempt.method}", attempt.outcome


def _change(after: Fact, before: str | None) -> str:
    """A fact with its place, and what it was before where that differs."""
    if after.value is None:
        return f"not reported ({after.source})"
    was = "" if before is None else f"; before: {before}"
    return f"{after.value} ({after.source}{was})"


def wipc_table(run: Run, page_id: str, cycle: int = 1) -> Table:
    """Workload independent preconditioning as measured (PTS 3.3, 7.3.2)."""
    conditions = run.manifest.conditions
    assert isinstance(conditions, RoundConditions | DemandConditions)  # noqa: S101 only these have WIPC
    samples = precondition_samples(run, cycle)
    title = "Workload Independent Pre-conditioning (WIPC)"
    stimulus = next((sample.step.stimulus for sample in samples if sample.step.stimulus), None)
    if stimulus is None:
        imported = run.manifest.imported is not None
        state = Cell(NOT_STATED) if imported else cells.words("NOT RUN", tone="fail")
        return items_table(f"{page_id}-wipc", title, [("State", state)])
    written = sum(sample.write.bytes for sample in samples)
    elapsed_ns = sum(sample.elapsed_ns for sample in samples)
    rate = written / MB * 1e9 / elapsed_ns if elapsed_ns else 0.0
    states = sorted({sample.state.value for sample in samples})
    passed = states == [StepState.COMPLETE.value]
    return items_table(
        f"{page_id}-wipc",
        title,
        [
            ("Workload", str(stimulus)),
            ("TOIO - TC/QD", f"{stimulus.toio} - TC {stimulus.tc} / QD {stimulus.qd}"),
            ("Data pattern", data_text(conditions.data)),
            ("Active range", active_range(stimulus.active_range.start_pct, stimulus.active_range.end_pct)),
            ("Amount written", f"{format_capacity(written)} = {precondition_amount(run, cycle)}"),
            ("Required passes", f"{conditions.precondition_passes:g} x User Capacity asked for"),
            ("Time", format_duration(elapsed_ns)),
            ("Average throughput", cells.words(cells.fixed(rate, 1, "MB/s"))),
            ("State", cells.words(", ".join(states), tone="pass" if passed else "fail")),
        ],
    )


def _at_full_length(run: Run, results: RoundTestResults) -> float | None:
    """Bytes that preconditioning and five rounds of minutes write, at the rates of the last round."""
    if not results.rounds:
        return None
    conditions = results.conditions
    round_bytes = fsum(
        one.write.bytes / one.elapsed_ns * conditions.full_minute_ns for one in results.rounds[-1].values()
    )
    passes = conditions.precondition_passes * run.manifest.target.user_capacity_bytes
    return passes + WINDOW_ROUNDS * round_bytes


def short_form_table(
    run: Run,
    page_id: str,
    steps: Sequence[StepRecord],
    known_flash: float | None,
    at_full_length_bytes: float | None,
) -> Table:
    """The one pass of the short form: what the flash holds, what was written, and the rate afterwards.

    ``at_full_length_bytes`` is what the test would have written at full length at the least.
    """
    part = run.manifest.conditions.active_range
    range_bytes = (part.end_pct - part.start_pct) / 100 * run.manifest.target.user_capacity_bytes

    def written(number: int) -> str:
        amount = sum(step.sample.write.bytes for step in steps if step.place.number == number)
        return f"{format_capacity(amount)} = {amount / range_bytes:.3f} x active range"

    found = one_pass_of(steps, known_flash)
    flash, reason, rates = found.flash, found.why_not, found.rates
    last = judge(range(len(rates)), rates) if len(rates) > 1 else None
    cycle = steps[0].place.cycle
    all_bytes = sum(step.sample.write.bytes for step in run.steps if step.place.cycle == cycle)
    return items_table(
        f"{page_id}-short",
        "Short form: one pass instead of preconditioning",
        [
            ("Written in sequence", written(IN_SEQUENCE)),
            ("Random writes until collection began", written(UNTIL_COLLECTION)),
            ("The flash holds", "not found" if flash is None else f"{flash:.3f} x active range"),
            ("Write amplification to expect", "-" if flash is None else f"{amplification(flash):.2f}"),
            ("Pass", written(PASS)),
            ("Random writes afterwards", written(AFTERWARDS)),
            (
                "Rate afterwards",
                "-"
                if last is None
                else f"{last.average:,.0f} IOPS, {last.minimum:,.0f} to {last.maximum:,.0f}",
            ),
            (
                "Written in all",
                _fills(run, all_bytes)
                + (
                    f"; at full length at least {_fills(run, at_full_length_bytes)}"
                    if at_full_length_bytes and not reason
                    else ""
                ),
            ),
            (
                "State",
                cells.words(f"at full length: {reason}", tone="fail")
                if reason
                else cells.words(
                    f"at rest: the short form holds, to {100 * (found.state_off or 0):.1f} %", tone="pass"
                ),
            ),
        ],
    )


def _fills(run: Run, amount_bytes: float) -> str:
    return f"{amount_bytes / run.manifest.target.user_capacity_bytes:.2f} x user capacity"


def active_range(start_pct: float, end_pct: float) -> str:
    """ActiveRange (x,y) of the verification record."""
    return f"({start_pct:g},{end_pct:g}) % of MaxUserLBA"


def _loop_table(run: Run, results: RoundTestResults, page_id: str, loop_name: str, cycle: int) -> Table:
    conditions = results.conditions
    steps = run.phase(Phase.ROUND, cycle=cycle)
    begun = {step.place.number for step in steps}
    complete = sum(step.sample.state is StepState.COMPLETE for step in steps)
    elapsed_ns = sum(step.sample.elapsed_ns for step in steps)
    return items_table(
        f"{page_id}-wdpc",
        "Workload Dependent Pre-conditioning (WDPC) and test",
        [
            ("Workload", loop_name),
            ("TOIO - TC/QD", f"{conditions.tc * conditions.qd} - TC {conditions.tc} / QD {conditions.qd}"),
            ("Step length", format_duration(conditions.minute_ns)),
            (
                "Rounds",
                f"{len(results.rounds)} complete of {len(begun)} begun (at most {conditions.max_rounds})",
            ),
            ("Steps", f"{complete:,} complete of {len(steps):,} begun"),
            ("Time", format_duration(elapsed_ns)),
            ("Steady State (Rounds)", results.window.label if results.steady else "not reached"),
        ],
    )


def _gaps_table(run: Run, page_id: str, cycle: int = 1) -> Table:
    """Time without I/O between preconditioning and loop, and the longest between steps."""
    loop = run.phase(Phase.ROUND, cycle=cycle)
    gap_ns = loop[0].sample.gap_ns if loop and precondition_samples(run, cycle) else None
    return items_table(
        f"{page_id}-gaps",
        "Time without I/O",
        [
            ("Gap WIPC to test loop", "n/a" if gap_ns is None else format_gap(gap_ns)),
            ("Largest gap between steps", largest_gap(run)),
        ],
        note="Last completion of one step to first submission of the next; PTS 4 allows no pause.",
    )


def largest_gap(run: Run) -> str:
    """The longest that the device was left alone before a step, and which step that is."""
    step = max(run.with_gaps, key=lambda step: step.sample.gap_ns or 0, default=None)
    return (
        f"{format_gap(step.sample.gap_ns or 0)} (before {step.place}: {step.sample.step})" if step else "n/a"
    )


_MOST_COLUMNS: Final = 4
"""More cycles than this are rows of the table of purges, not columns."""
BAR: Final = "Methodology Report (not part of SNIA PTS)"
NO_STEADY_STATE: Final = "N/A"


def methodology(run: Run, title: str, test_rows: Rows, pages: Callable[[], Iterable[Page]]) -> Sections:
    """The section of the run's test; its header names no specification, ``test_rows`` are ten of its rows."""
    section = TestSection(
        test=run.manifest.conditions.test,
        title=title,
        bar=BAR,
        heading=title,
        setup=_setup_rows(run),
        test_rows=test_rows,
        pages=pages,
        of_specification=False,
    )
    return sections_of(run, section)


def _setup_rows(run: Run) -> Rows:
    written = [*((step,) for step in run.phase(Phase.CONDITIONING)), run.phase(Phase.WDPC), ()][:2]
    first, second = (_conditioning(run, steps) for steps in written)
    return setup_rows(run, first, second, "Duration")


def _conditioning(run: Run, steps: Sequence[StepRecord]) -> tuple[str, str, str]:
    stimulus = steps[0].sample.step.stimulus if steps else None
    if stimulus is None:
        return "None", "N/A", "N/A"
    written = sum(step.sample.write.bytes for step in steps)
    return str(stimulus), demand_text(stimulus.tc, stimulus.qd), fills_text(run, written)


def fills_text(run: Run, written_bytes: int) -> str:
    """An amount in user capacities: ``2.00 x User Capacity``."""
    capacity = run.manifest.target.user_capacity_bytes
    if not capacity:
        return "n/a (no capacity)"
    share = written_bytes / capacity
    return f"{share:.2f} x User Capacity" if share >= 0.1 else f"{share:.2g} x User Capacity"


def stimulus_text(stimulus: Stimulus) -> str:
    """A stimulus with its demand: ``RND 4 KiB 0/100, TC 4 / QD 32``."""
    return f"{stimulus}, {demand_text(stimulus.tc, stimulus.qd)}"


def state_page(run: Run, title: str, cycles: Sequence[str] = ()) -> Page:
    """Of each of the named cycles: purge, write cache, the preconditioning, and the longest gap."""
    page_id = f"{run.manifest.conditions.test}-preparation"
    gap = items_table(f"{page_id}-gap", "Time without I/O", [("Largest gap between steps", largest_gap(run))])
    tables = (
        purges_table(run, page_id, cycles),
        *conditioning_tables(run, page_id),
        *_rests(run, page_id),
        gap,
    )
    return Page(page_id, title, (*purge_verdicts(run, cycles), *tables), mandatory=True)


# SOL-DEV-04
def _rests(run: Run, page_id: str) -> Iterator[Block]:
    """How long the drive was left alone before each measurement, and whether it came to rest."""
    conditions = run.manifest.conditions
    if not isinstance(conditions, RestingConditions) or (rule := conditions.settling) is None:
        return
    found = [
        (name, *rest)
        for number, name in enumerate(conditions.rests, start=1)
        if (rest := _rest(run, number, rule)) is not None
    ]
    if restless := [name for name, _, verdict in found if not verdict.settled]:
        yield Verdict(f"The drive had NOT settled before {'; '.join(restless)}.", "fail")
    yield rows_table(
        f"{page_id}-rests",
        "Left alone until settled",
        "Before:<2.4 | Idle | Settled:<4",
        (
            (
                name,
                format_duration(idle_ns),
                cells.words(f"yes: the last {rule.looks} looks agree", tone="pass")
                if verdict.settled
                else cells.words(f"NO: {verdict.restless}", tone="fail"),
            )
            for name, idle_ns, verdict in found
        ),
    )


def _rest(run: Run, number: int, rule: SettlingRule) -> tuple[int, Settling] | None:
    """The idle time with that number and the judgement after it; None if there was none."""
    samples = [step.sample for step in run.phase(Phase.REST, number=number)]
    if not samples:
        return None
    # the log is read before the first look as well
    readings = [
        one.reading
        for one in run.health
        if (one.phase, one.number) == (Phase.REST, number) and (one.t_ns or 0) > samples[0].started_ns
    ]
    idle_ns, looks = 0, []
    # idle time and a look in turns; what was cut short has no reading
    for idle, probe, reading in zip(samples[::2], samples[1::2], readings, strict=False):
        idle_ns += idle.elapsed_ns
        looks.append(look_of(idle_ns, probe, reading))
    return idle_ns, judge_rest(looks, rule)


def purge_verdicts(run: Run, names: Sequence[str]) -> tuple[Verdict, ...]:
    """Whether a purge was run before each cycle; a single one needs no name."""
    if run.cycle_count < 2:
        return (purge_verdict(run),)
    verdicts = [purge_verdict(run, cycle) for cycle in range(1, run.cycle_count + 1)]
    if len(verdicts) > _MOST_COLUMNS and all(verdict.tone == "pass" for verdict in verdicts):
        method = run.manifest.purges[0].method
        return (Verdict(f"Purge run before each of {len(verdicts)} cycles ({method}), each proven.", "pass"),)
    return tuple(
        Verdict(f"{names[at] if at < len(names) else f'Cycle {at + 1}'}: {verdict.text}", verdict.tone)
        for at, verdict in enumerate(verdicts)
    )


def purges_table(run: Run, page_id: str, names: Sequence[str] = ()) -> Table:
    """Purge and write cache of each cycle, side by side under the names of the cycles."""
    tables = [purge_table(run, page_id, cycle) for cycle in range(1, run.cycle_count + 1)]
    if len(tables) < 2:
        return purge_table(run, page_id)
    of_cycles = [{row.head.text: row.cells[0] for row in table.rows} for table in tables]
    items = dict.fromkeys(item for of_cycle in of_cycles for item in of_cycle)
    if len(tables) > _MOST_COLUMNS:
        return _purge_rows(tables[0], names, of_cycles, tuple(items))
    return replace(
        tables[0],
        columns=tuple(
            Column(names[at] if at < len(names) else f"Cycle {at + 1}", align="left")
            for at in range(len(tables))
        ),
        rows=tuple(
            Row(Cell(item), tuple(of_cycle.get(item, cells.missing("no purge")) for of_cycle in of_cycles))
            for item in items
        ),
    )


def _purge_rows(
    first: Table, names: Sequence[str], of_cycles: Sequence[Mapping[str, Cell]], items: Sequence[str]
) -> Table:
    """Many cycles down the page with the method of each; what else was alike for all is in the note."""
    missing = cells.missing("no purge")
    alike = {item for item in items[1:] if len({of.get(item, missing).text for of in of_cycles}) == 1}
    shown = [item for item in items if item not in alike]
    return replace(
        first,
        columns=tuple(Column(item, align="left") for item in shown),
        rows=tuple(
            Row(
                Cell(names[at] if at < len(names) else f"Cycle {at + 1}"),
                tuple(of.get(item, missing) for item in shown),
            )
            for at, of in enumerate(of_cycles)
        ),
        note="Alike for all: "
        + "; ".join(f"{item}: {of_cycles[0].get(item, missing).text}" for item in items if item in alike),
    )


def conditioning_tables(run: Run, page_id: str) -> tuple[Table, ...]:
    """What brought the drive into its state, as measured; nothing where it was left as the purge made it."""
    steps = run.phase(Phase.CONDITIONING)
    if not steps:
        return ()
    return (
        rows_table(
            f"{page_id}-conditioning",
            "Pre-conditioning as measured",
            "No.:<0.3 | Workload:<2 | Data:<2 | Written (GB) | x User Capacity | Time | MB/s | State:<",
            (_conditioning_row(run, step) for step in steps),
        ),
    )


def _conditioning_row(run: Run, step: StepRecord) -> Cells:
    sample, capacity = step.sample, run.manifest.target.user_capacity_bytes
    stimulus, written = sample.step.stimulus, sample.write.bytes
    rate = per_second(written, sample.elapsed_ns) / MB
    complete = sample.state is StepState.COMPLETE
    return (
        str(step.place.number),
        "idle" if stimulus is None else stimulus_text(stimulus),
        "-" if stimulus is None else data_text(stimulus.data),
        cells.number(written / GB, 1),
        cells.number(written / capacity, 2) if capacity else cells.missing("no capacity"),
        format_duration(sample.elapsed_ns),
        cells.number(rate, 1),
        cells.words(sample.state.value, tone="pass" if complete else "fail"),
    )


def nothing_page(page_id: str, title: str, reason: str) -> Page:
    """A page of what was never measured."""
    return page_of(PlotName(page_id, "", title), absent=reason)
