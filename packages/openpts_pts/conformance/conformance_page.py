"""The conformance page: the printed form of the run's ledger of deviations (PTS 1.1)."""

from openpts.procedures.kit.standing import Standing
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Column, Page, Table, Verdict
from openpts_pages.texts import CELL_LONGEST, brief
from openpts_pts.conformance.catalogue import Level
from openpts_pts.conformance.conformance import Conformance, counts_by_level, requirements_of, standing_of
from openpts_pts.evidence.finding import STATUS_TITLES, Finding, Status

_OPEN = frozenset({Status.DEVIATED, Status.NOT_REACHED, Status.UNVERIFIED})
_TONES = {Status.MET: "pass", Status.DEVIATED: "fail"}


def judged(run: Run) -> tuple[Standing, Page]:
    """Where a run stands, and the page on that."""
    requirements = requirements_of(run)
    standing = standing_of(run, requirements)
    return standing, conformance_page(run, standing, requirements)


def conformance_page(run: Run, standing: Standing, requirements: tuple[Conformance, ...]) -> Page:
    """Each deviation with what was required, what was done and what follows for a comparison.

    Of the requirements that bind the run, those are printed that are neither met nor built in; all of them go
    with the page.
    """
    blocks: list[Block] = [_ledger_table(run)] if run.ledger else []
    blocks.append(Verdict(standing.bottom_line, "pass" if standing.conformant else "fail"))
    if requirements:
        blocks += [
            Verdict(f"{standing.requirements}. They are those of PTS 2.0.1, not compared with 2.0.2."),
            _states_table(requirements),
            *_requirements(requirements),
        ]
        blocks.append(_interpretations_table(run.manifest.conditions.test))
    return Page("conformance", "Conformance", tuple(blocks), mandatory=True)


def _ledger_table(run: Run) -> Table:
    conditions = run.manifest.conditions
    standard = conditions.drive_class.revision if conditions.of_specification else "what a measurement needs"
    return rows_table(
        "conformance-ledger",
        f"Deviations from {standard}",
        "Rule:<0.9 | Clause:<0.6 | Required:<1.5 | Used:<1.5 | Effect on comparison:<2",
        (
            (
                entry.rule_id,
                *(
                    brief(text, CELL_LONGEST)
                    for text in (entry.clause, entry.required, entry.used, entry.effect)
                ),
            )
            for entry in run.ledger
        ),
    )


def _states_table(conformances: tuple[Conformance, ...]) -> Table:
    """The number of requirements in each state; the states differ in kind, so that there is no sum."""
    return rows_table(
        "conformance-states",
        "Requirements by state",
        ("State:<2.2", *(Column(level, width=0.5) for level in Level)),
        (
            (STATUS_TITLES[status], *(Cell(str(count)) for count in counts.values()))
            for status, counts in counts_by_level(conformances).items()
            if status is not Status.NOT_APPLICABLE
        ),
        note="Met counts only what was checked on this run's record. Built in holds for every run of "
        "openpts; data/conformance-requirements.csv names the tests that prove it.",
    )


def _requirements(conformances: tuple[Conformance, ...]) -> list[Table]:
    """The open requirements for print, all that apply for the data: hundreds of met ones would fill pages."""
    binding = [each for each in conformances if each.status is not Status.NOT_APPLICABLE]
    open_ones = [each for each in binding if each.status in _OPEN]
    tables = [_requirements_table("conformance-requirements", "All requirements that apply", binding)]
    if open_ones:
        title = "Requirements that deviated, were not reached, or can't be verified"
        tables.insert(0, _requirements_table("conformance-open", title, open_ones))
    return [tables[0], *(_unprinted(table) for table in tables[1:])] if open_ones else [_unprinted(tables[0])]


def _requirements_table(table_id: str, title: str, conformances: list[Conformance]) -> Table:
    return rows_table(
        table_id,
        title,
        "Rule:<0.9 | Clause:<0.7 | Level:<0.4 | Requirement:<2.2 | Status:<0.7 | Evidence:<2.2",
        (_requirement_row(each) for each in conformances),
    )


def _requirement_row(each: Conformance) -> Cells:
    requirement = each.requirement
    return (
        requirement.id,
        requirement.clause,
        str(requirement.level),
        requirement.text,
        Cell(str(each.status), tone=_TONES.get(each.status, "missing")),
        finding_text(each.finding),
    )


def finding_text(finding: Finding) -> str:
    """What a finding rests on, as much as a cell holds; names of tests stay whole."""
    return str(finding) if finding.status is Status.BUILT_IN else brief(str(finding), CELL_LONGEST)


def _unprinted(table: Table) -> Table:
    return Table(table.id, table.title, table.head, table.columns, table.rows, printed=False)


def _interpretations_table(test: str) -> Table:
    return rows_table(
        "conformance-readings",
        "How unclear text of the specification was read",
        "Clause:<0.6 | Unclear:<1.7 | Reading:<1.7",
        ((one.clause, one.unclear, one.reading) for one in procedure_of(test).part("checks").INTERPRETATIONS),
    )
