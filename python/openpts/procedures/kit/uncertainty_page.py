"""The uncertainty budget of a test's key values: what the samples show, and what is known of the run."""

import math
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from openpts.analysis.uncertainty import rectangular, with_components
from openpts.pages import cells
from openpts.pages.kit import Cells, columns_of, rows_table
from openpts.pages.measure import Measured
from openpts.pages.model import Cell, Page, Section, Table, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts.units import NS_PER_MS
from openpts.vocabulary.engine_overhead import own_latency_ns
from openpts.vocabulary.uncertainty import Component, Uncertainty, two_digits

CLOCK: Final = "clock"
ENGINE: Final = "engine's share"
_CLOCK_RATE: Final = 100e-6
"""A processor's crystal is that exact; the engine's clock is never set by another."""
_MANY: Final = 1000
_OVER_TIME: Final = frozenset({"IOPS", "MB/s", "ms", "min"})
_LEAD: Final = (
    "U: half of the interval that has the true value with 95 % (GUM, JCGM 100:2008): k times the standard "
    "uncertainty u, with k of Student's t for the effective degrees of freedom. Each component's share is in "
    "per cent of u squared."
)


def with_uncertainty(content: ReportContent, run: Run) -> ReportContent:
    """The content with what the run adds to each budget, and with their page where there are any."""
    measures = tuple(_with_run(one, run) for one in content.measures)
    found = [one for one in measures if one.uncertainty is not None]
    if not found:
        return content

    def sections(standing: Standing, report_date: str) -> tuple[Section, ...]:
        *first, last = content.sections(standing, report_date)
        return (*first, replace(last, pages=(*last.pages, budget_page(run, found))))

    return replace(content, measures=measures, sections=sections)


def _with_run(one: Measured, run: Run) -> Measured:
    if one.uncertainty is None or one.value is None:
        return one
    return replace(one, uncertainty=with_components(one.uncertainty, *_of_run(one, one.value, run)))


def _of_run(one: Measured, value: float, run: Run) -> Iterator[Component]:
    if run.manifest.target.simulation is None and one.unit in _OVER_TIME:
        yield rectangular(CLOCK, abs(value) * _CLOCK_RATE)
    own_ns = own_latency_ns(run.manifest.engine)
    if one.with_engine and own_ns is not None:
        yield rectangular(ENGINE, own_ns / NS_PER_MS)


def budget_page(run: Run, measures: list[Measured]) -> Page:
    """A row for each measure, a column for each component; then what is in no budget."""
    page_id = f"{run.manifest.conditions.test}-uncertainty"
    return Page(
        page_id,
        "Uncertainty budget",
        (Verdict(_LEAD), _budgets(page_id, measures), _not_in_it(page_id, run, measures)),
    )


def _budgets(page_id: str, measures: list[Measured]) -> Table:
    names = list(
        dict.fromkeys(c.name for one in measures if one.uncertainty for c in one.uncertainty.components)
    )
    heads = ("Key value:<1.6", "Result", "Unit:<0.5", "U (95 %)", "k", "Degrees of freedom", "u")
    return rows_table(
        f"{page_id}-budgets",
        "Uncertainty of each key value",
        (*heads, *columns_of(*(f"{name} (%)" for name in names))),
        (_row(one, one.uncertainty, names) for one in measures if one.uncertainty is not None),
    )


def _row(one: Measured, found: Uncertainty, names: list[str]) -> Cells:
    head = (one.label, Cell(one.text, one.value), one.unit)
    if found.expanded is None:
        return (*head, cells.missing(found.reason), *(cells.none() for _ in range(3 + len(names))))
    degrees = found.degrees_of_freedom
    variance = {component.name: component.standard**2 for component in found.components}
    total = found.standard**2
    choice = f"one of {found.alike} points that can't be told apart" if found.alike > 1 else ""
    return (
        *head,
        Cell(found.text, found.expanded, choice),
        cells.number(found.coverage_factor, 2),
        cells.number(degrees, 1)
        if degrees < _MANY
        else Cell("infinite" if math.isinf(degrees) else "> 1,000"),
        Cell(two_digits(found.standard), found.standard),
        *(
            cells.percent(100 * variance[name] / total if total else 0.0)
            if name in variance
            else cells.none()
            for name in names
        ),
    )


def _not_in_it(page_id: str, run: Run, measures: list[Measured]) -> Table:
    temperatures = run.telemetry_series.get("temperature_c")
    seen = (
        "no temperature was sampled"
        if temperatures is None
        else f"{min(temperatures.values):g} to {max(temperatures.values):g} °C in the run"
    )
    rows = [
        ("Temperature", f"{seen}; figures are those of the drive as warm as it was"),
        ("Host", "settings and load are on their own pages; figures are those on this machine as it was"),
        (
            "Run to run",
            "one run: how far another one would lie from it is not known; openpts compare takes several",
        ),
    ]
    if run.manifest.target.simulation is not None:
        rows.append(("Clock", "a simulated drive's is exact"))
    elif own_latency_ns(run.manifest.engine) is None and any(one.with_engine for one in measures):
        rows.append(("Engine's share", "the record does not have it"))
    return rows_table(f"{page_id}-without", "Not in U", "Source:<0.6 | What is known of it:<3", rows)
