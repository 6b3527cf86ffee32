"""The report of the preconditioning comparison: courses of random writes, and rows, from three states.

Implements: LSI-PRE-01 to 05, LSI-ENT-01, LSI-PROC-02 to 06.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from msgspec import Struct

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.record.reader import Run
from openpts_pages.kit import PlotName, page, rows_table
from openpts_pages.model import Column, Page, Verdict
from openpts_pages.texts import capitalised
from openpts_practice.rows.conditions import free_space_words
from openpts_practice.rows.precon import PreconConditions
from openpts_practice.rows.precon.courses import steady_text
from openpts_practice.rows.precon.pages import Comparison
from openpts_practice.rows.precon.states import STATES, counting_state
from openpts_pts.shared.preparation_page import conditioning_tables, methodology, purge_verdicts, purges_table


class PreconReport(Struct, frozen=True):
    """What a run measured: a comparison for each level of entropy, or one; a method for each page of all."""

    run: Run
    conditions: PreconConditions
    comparisons: tuple[Comparison, ...]

    @classmethod
    def of(cls, run: Run) -> "PreconReport":
        """What was measured, from the record."""
        conditions = run.conditions(PreconConditions)
        levels: tuple[float | None, ...] = conditions.entropies_pct or (None,)
        return cls(run, conditions, tuple(Comparison.of(run, conditions, level) for level in levels))

    def pages(self) -> Iterator[Page]:
        """What was done before, each level, all levels, and what the rows are."""
        numbers = count(1)
        yield self.preparation()
        for one in self.comparisons:
            yield from one.course_pages(numbers)
            yield from one.rows_pages(numbers)
        if len(self.comparisons) > 1:
            yield self.by_entropy()
        yield from self.comparisons[0].definition_pages()

    def preparation(self) -> Page:
        """The purge that each state begins with, and what was written to make or restore it."""
        name = PlotName("precon-preparation", "", "Purge and Conditioning of Each State")
        made = Verdict(
            "FOB: purge, a test file for the rows that read. After SEQ: purge, sequential conditioning. "
            "After RND: purge, random writes until steady, which are also the course of the fresh drive."
        )
        free = self.conditions.leave_free
        left = None if free is None else Verdict(f"Conditioning: {free_space_words(free)}.")
        names = [capitalised(str(situation)) for situation in self.conditions.situations]
        verdicts, purges = purge_verdicts(self.run, names), purges_table(self.run, name.id, names)
        return page(name, made, left, *verdicts, purges, *conditioning_tables(self.run, name.id))

    # LSI-ENT-01
    def by_entropy(self) -> Page:
        """The figure of each row that counts, by the entropy of the data."""
        name = PlotName("precon-entropy", "", "Figures that Count by Entropy")
        shown = rows_table(
            f"{name.id}-table",
            "Figures that count, by entropy of the data written",
            (
                "Row:<2.0",
                *(Column(f"Entropy {one.entropy_pct:g} %", one.entropy_pct) for one in self.comparisons),
                "State:<0.8 | Unit:<0.5",
            ),
            (
                (
                    self.comparisons[0].title(place),
                    *(one.counting_cells(place, row)[2] for one in self.comparisons),
                    str(counting_state(row)),
                    row.units[0].value,
                )
                for place, (_, row) in enumerate(self.conditions.rows)
            ),
            note="Rows with data of their own write that in each state, unless --row-data test was given.",
        )
        return page(name, shown)

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        first, *others = conditions.benchmarks
        more = f" and {len(others)} more" if others else ""
        courses = [course for one in self.comparisons for course in one.courses.values()]
        states = ", ".join(map(str, conditions.situations[:3]))
        if len(self.comparisons) > 1:
            levels = ", ".join(f"{level:g}" for level in conditions.entropies_pct)
            states = f"{len(STATES)} of each entropy: {levels} %"
        return stimulus_rows(
            self.run,
            ("Test Stimulus 1", f"{conditions.workload.title}, from each state"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            ("Duration", f"until steady, {conditions.drive_fills:g} x User Capacity"),
            ("Test Stimulus 2", f"{first.title}{more}"),
            ("TOIO - TC/QD", "see definition"),
            ("Rows", str(len(conditions.rows))),
            ("States", states),
            ("Steady State", steady_text(courses)),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready; with levels of entropy, an entry for each."""
        if self.comparisons[0].entropy_pct is None:
            return self.comparisons[0].figures()
        return {"levels": [{"entropy_pct": one.entropy_pct, **one.figures()} for one in self.comparisons]}


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = PreconReport.of(run)
    return ReportContent(
        verdicts=tuple(
            verdict
            for one in found.comparisons
            for verdict in (*one.course_verdicts(), *one.spread_verdicts())
        ),
        measures=tuple(measure for one in found.comparisons for measure in one.measures()),
        sections=methodology(run, "Preconditioning Comparison", found.test_rows(), found.pages),
        figures=found.figures,
        curves=lambda: tuple(one.curve(state) for one in found.comparisons for state in STATES),
    )
