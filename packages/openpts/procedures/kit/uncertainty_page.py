"""The uncertainty budget of a test's key values: what the samples show, and what is known of the run."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from openpts.analysis.host_limits import HostLimit, limits_of
from openpts.analysis.latency import BUCKET_WIDTH
from openpts.analysis.uncertainty import WIDTH, Spans, rectangular, with_components
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts.units import NS_PER_MS
from openpts.vocabulary.engine_overhead import own_latency_ns
from openpts.vocabulary.uncertainty import Component, Uncertainty, two_digits
from openpts_pages import cells
from openpts_pages.kit import Cells, columns_of, rows_table
from openpts_pages.measure import Measured
from openpts_pages.model import Cell, Page, Section, Table, Verdict

_CLOCK_RATE: Final = 100e-6
"""A processor's crystal is that exact; the engine's clock is never set by another."""
_MOST_LIMITED: Final = 0.1
"""With the host as the limit for more of the time, the figure is not the drive's, however exact."""
_MANY: Final = 1000
_WHOLE_PCT: Final = 100
"""A gain is of a rate that much above it."""
_OVER_TIME: Final = frozenset({"IOPS", "MB/s", "ms", "min"})
_LEAD: Final = (
    "U: half of the interval that has the true value with 95 % (GUM, JCGM 100:2008): k times the standard "
    "uncertainty u, with k of Student's t for the effective degrees of freedom. Each component's share is in "
    "per cent of u squared."
)


_NEVER_SEEN: Final = (
    (
        "Rare events",
        "what comes less often than once in a Round or batch is in few of them or in none: days may "
        "have more or fewer of it",
    ),
    (
        "Slow changes",
        "what lasts longer than a quarter of the time measured looks like a level of its own, or a course",
    ),
    (
        "In step",
        "what repeats in step with Rounds or batches is alike in each; the rest of it was never measured",
    ),
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
    found = with_components(one.uncertainty, *_of_run(one, one.value, run))
    if found.expanded is None:
        return replace(one, uncertainty=found)
    share, limits = _limited(found.spans, run)
    limited = f"the host was the limit in {cells.fixed(100 * share, 1)} % of its time ({', '.join(limits)})"
    if share > _MOST_LIMITED:
        return replace(one, uncertainty=Uncertainty(reason=limited))
    if reason := _too_fine(one, one.value, found):
        return replace(one, uncertainty=Uncertainty(reason=reason))
    return replace(one, uncertainty=replace(found, mark=limited if share else ""))


def _limited(spans: Spans, run: Run) -> tuple[float, list[HostLimit]]:
    """The share of a figure's judged time in which the host was the limit, and what of it was."""
    ordered = sorted(spans)
    starts, judged_ns, limited_ns, found = [start_ns for start_ns, _ in ordered], 0, 0, set()
    for step in run.host_marks or ():
        for (from_ns, to_ns), marks in zip(step.spans, step.marks, strict=True):
            middle_ns = (from_ns + to_ns) // 2
            place = bisect_right(starts, middle_ns) - 1
            if marks is None or place < 0 or middle_ns >= ordered[place][1]:
                continue
            judged_ns += to_ns - from_ns
            limited_ns += (to_ns - from_ns) * bool(marks)
            found |= set(limits_of(marks))
    return limited_ns / judged_ns if judged_ns else 0.0, [one for one in HostLimit if one in found]


def _too_fine(one: Measured, value: float, found: Uncertainty) -> str:
    """Why a scatter is none: what is left is no more than the bounds of clock and histogram."""
    names = {component.name for component in found.components}
    finest, what = (BUCKET_WIDTH, "a bucket of the histogram") if WIDTH in names else (_CLOCK_RATE, "a clock")
    size = abs(value) + (_WHOLE_PCT if one.unit == "%" else 0.0)
    if (found.expanded or 0.0) > size * finest:
        return ""
    return f"no scatter beyond the {100 * finest:.2g} % that {what} resolves"


def _of_run(one: Measured, value: float, run: Run) -> Iterator[Component]:
    if run.manifest.target.simulation is None and one.unit in _OVER_TIME:
        yield rectangular("clock", abs(value) * _CLOCK_RATE)
    own_ns = own_latency_ns(run.manifest.engine)
    if one.with_engine and own_ns is not None:
        yield rectangular("engine's share", own_ns / NS_PER_MS)


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
    choice = f"one of {found.alike} points that can't be distinguished" if found.alike > 1 else ""
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
        (
            "Host",
            "settings and load are on their own pages; figures are those on this machine as it was. Where it "
            f"was the limit, U is marked; for more than {100 * _MOST_LIMITED:g} % of the time none is stated",
        ),
        (
            "Run to run",
            "one run: how far another one would lie from it is not known; openpts compare takes several",
        ),
        *_NEVER_SEEN,
    ]
    if run.manifest.target.simulation is not None:
        rows.append(("Clock", "a simulated drive's is exact"))
    elif own_latency_ns(run.manifest.engine) is None and any(one.with_engine for one in measures):
        rows.append(("Engine's share", "the record does not have it"))
    return rows_table(f"{page_id}-without", "Not in U", "Source:<0.6 | What is known of it:<3", rows)
