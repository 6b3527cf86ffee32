"""What the reports of practice tests have in common: their header, and how the drive was prepared."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.content import Sections
from openpts.procedures.kit.header import Rows, TestSection, demand_text, sections_of, setup_rows
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, MB, format_duration, per_second
from openpts.vocabulary.condition_text import data_text as data_words
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Cells, PlotName, page_of, rows_table
from openpts_pages.model import Cell, Column, Page, Row, Table, Verdict
from openpts_pts.shared.preparation_page import largest_gap, purge_table, purge_verdict

BAR: Final = "Methodology Report (not part of SNIA PTS)"
NO_STEADY_STATE: Final = "N/A"


def methodology(run: Run, title: str, test_rows: Rows, pages: Callable[[], tuple[Page, ...]]) -> Sections:
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
    return setup_rows(
        run,
        *(
            row
            for number, steps in enumerate(written, start=1)
            for row in _conditioning_rows(run, number, steps)
        ),
    )


def _conditioning_rows(run: Run, number: int, steps: Sequence[StepRecord]) -> Rows:
    stimulus = steps[0].sample.step.stimulus if steps else None
    if stimulus is None:
        return ((f"Pre Condition {number}", "None"), ("TOIO - TC/QD", "N/A"), ("Duration", "N/A"))
    return (
        (f"Pre Condition {number}", str(stimulus)),
        ("TOIO - TC/QD", demand_text(stimulus.tc, stimulus.qd)),
        ("Duration", fills_text(run, sum(step.sample.write.bytes for step in steps))),
    )


def fills_text(run: Run, written_bytes: int) -> str:
    """An amount in user capacities: ``2.00 x User Capacity``."""
    capacity = run.manifest.target.user_capacity_bytes
    if not capacity:
        return "n/a (no capacity)"
    share = written_bytes / capacity
    return f"{share:.2f} x User Capacity" if share >= 0.1 else f"{share:.2g} x User Capacity"


def stimulus_words(stimulus: Stimulus) -> str:
    """A stimulus with its demand: ``RND 4 KiB 0/100, TC 4 / QD 32``."""
    return f"{stimulus}, {demand_text(stimulus.tc, stimulus.qd)}"


def state_page(run: Run, title: str, cycles: Sequence[str] = ()) -> Page:
    """Of each of the named cycles: purge, write cache, the preconditioning, and the longest gap."""
    page_id = f"{run.manifest.conditions.test}-preparation"
    gap = items_table(f"{page_id}-gap", "Time without I/O", [("Largest gap between steps", largest_gap(run))])
    tables = (purges_table(run, page_id, cycles), *conditioning_tables(run, page_id), gap)
    return Page(page_id, title, (*purge_verdicts(run, cycles), *tables), mandatory=True)


def purge_verdicts(run: Run, names: Sequence[str]) -> tuple[Verdict, ...]:
    """Whether a purge was run before each cycle; a single one needs no name."""
    if run.cycle_count < 2:
        return (purge_verdict(run),)
    verdicts = [purge_verdict(run, cycle) for cycle in range(1, run.cycle_count + 1)]
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
        "idle" if stimulus is None else stimulus_words(stimulus),
        "-" if stimulus is None else data_words(stimulus.data),
        cells.number(written / GB, 1),
        cells.number(written / capacity, 2) if capacity else cells.missing("no capacity"),
        format_duration(sample.elapsed_ns),
        cells.number(rate, 1),
        cells.words(sample.state.value, tone="pass" if complete else "fail"),
    )


def nothing_page(page_id: str, title: str, reason: str) -> Page:
    """A page of what was never measured."""
    return page_of(PlotName(page_id, "", title), absent=reason)
