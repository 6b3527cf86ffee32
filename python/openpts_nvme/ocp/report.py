"""The conformance page: each requirement with verdict and evidence, from the answers in the run folder."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from openpts.pages import cells
from openpts.pages.kit import Col, table
from openpts.pages.measure import Measure, Subject
from openpts.pages.model import Block, Cell, Page, Table
from openpts.pages.model import Verdict as Sentence
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.shared.methodology import methodology
from openpts.record.reader import Run
from openpts.vocabulary.better import Better
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_nvme.dssd.answers import Answers
from openpts_nvme.dssd.judge import Judged, Verdict, counts, judge
from openpts_nvme.dssd.kept import kept
from openpts_nvme.dssd.placement import SPECIFICATION, reasons
from openpts_nvme.ocp import OcpConditions
from openpts_nvme.ocp.targets import targets_table

_TITLE: Final = "OCP Datacenter NVMe SSD 2.7"
_MOST_LETTERS: Final = 160


def report(run: Run) -> ReportContent:
    """The test's part of a report."""
    answers = kept(run.folder)
    judged = judge(answers) if answers else ()
    verdicts = _sentences(judged)
    found = counts(judged)
    return ReportContent(
        verdicts=verdicts,
        measures=tuple(_COUNT.of(found[each], Subject(each, key=each.replace(" ", "_"))) for each in _COUNTED)
        if judged
        else (),
        sections=methodology(
            run, _TITLE, _test_rows(run.conditions(OcpConditions)), lambda: _pages(answers, judged, verdicts)
        ),
        figures=lambda: _make_figures(judged),
        limits=tuple(_limits(judged)),
    )


_COUNTED: Final = (Verdict.MET, Verdict.NOT_MET, Verdict.DECLARED, Verdict.NOT_CHECKED)
_COUNT: Final = Measure[int](
    "requirements", "Requirements {name}", "", float, decimals=0, better=Better.UNJUDGED, is_key=True
)


_JUDGED: Final = {Verdict.MET: Judgement.PASS, Verdict.NOT_MET: Judgement.FAIL}


def _limits(judged: tuple[Judged, ...]) -> Iterator[JudgedLimit]:
    """Requirements that were checked, as other programs take verdicts: exit codes, gates, OCP-diag."""
    for each in judged:
        if each.verdict in _JUDGED:
            name = each.requirement.identifier
            yield JudgedLimit(name, each.requirement.words, _JUDGED[each.verdict], each.why)


def _sentences(judged: tuple[Judged, ...]) -> tuple[Sentence, ...]:
    if not judged:
        return (Sentence("n/a: the drive was not asked.", "fail"),)
    found = counts(judged)
    failed = [each for each in judged if each.verdict is Verdict.NOT_MET]
    checked = found[Verdict.MET] + found[Verdict.NOT_MET] + found[Verdict.NOT_APPLICABLE]
    first = ", ".join(each.requirement.identifier for each in failed[:8])
    more = f" and {len(failed) - 8:,} more" if len(failed) > 8 else ""
    return (
        Sentence(
            f"{found[Verdict.NOT_MET]:,} of {checked:,} requirements that were checked are not met"
            + (f": {first}{more}." if failed else "."),
            "fail" if failed else "pass",
        ),
        Sentence(
            f"{found[Verdict.DECLARED]:,} are said to be unsupported in log C5h, "
            f"{found[Verdict.NOT_CHECKED]:,} were not checked in this run, and "
            f"{found[Verdict.NOT_CHECKABLE]:,} of {len(judged):,} can't be checked by a host.",
            "info",
        ),
    )


def _pages(answers: Answers, judged: tuple[Judged, ...], verdicts: tuple[Sentence, ...]) -> tuple[Page, ...]:
    def of(*wanted: Verdict) -> list[Judged]:
        return [each for each in judged if each.verdict in wanted]

    failed, declared = of(Verdict.NOT_MET), of(Verdict.DECLARED)
    open_ones = of(Verdict.NOT_CHECKED)
    blocks: tuple[Block, ...] = (*verdicts, _sections_table(judged))
    if failed:
        blocks = (*blocks, _tabulate("ocp-not-met-table", "Not met", failed))
    if declared:
        blocks = (*blocks, _tabulate("ocp-declared-table", "Said to be unsupported", declared))
    return (
        Page(
            "ocp-verdict",
            f"Conformance to {SPECIFICATION}",
            (*blocks, targets_table(answers)),
            mandatory=True,
        ),
        Page(
            "ocp-met",
            "Requirements met",
            (_tabulate("ocp-met-table", "Met, or not applicable", of(Verdict.MET, Verdict.NOT_APPLICABLE)),),
        ),
        Page(
            "ocp-open",
            "Requirements not checked",
            (_tabulate("ocp-open-table", "Not checked in this run", open_ones),),
        ),
        Page(
            "ocp-out",
            "Requirements that a host can't check",
            (_reasons_table(judged), _tabulate("ocp-out-table", "Not checkable", of(Verdict.NOT_CHECKABLE))),
        ),
    )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."


def _tabulate(name: str, title: str, rows: list[Judged]) -> Table:
    head: Col[Judged] = Col(
        "Requirement", lambda one: Cell(one.requirement.identifier), align="left", width=0.8
    )
    return table(
        name,
        title,
        head,
        [
            Col("Asks for", lambda one: cells.words(one.requirement.words), align="left", width=1.3),
            Col(
                "Section",
                lambda one: cells.words(one.requirement.section.split(" ")[0]),
                align="left",
                width=0.4,
            ),
            Col("Verdict", lambda one: cells.words(_verdict_words(one)), align="left", width=0.6),
            Col("Evidence", lambda one: cells.words(_short(one.why)), align="left", width=2.2),
        ],
        rows,
    )


def _verdict_words(one: Judged) -> str:
    return f"{one.verdict}, but found to hold" if one.contradicts else str(one.verdict)


def _sections_table(judged: tuple[Judged, ...]) -> Table:
    sections = list(dict.fromkeys(each.requirement.section for each in judged))
    by_section = {
        section: counts(tuple(each for each in judged if each.requirement.section == section))
        for section in sections
    }
    head: Col[str] = Col("Section", Cell, align="left", width=1.8)

    def of(verdict: Verdict) -> Col[str]:
        return Col(verdict.capitalize(), lambda section: cells.count(by_section[section][verdict]), width=0.6)

    return table("ocp-sections", "Verdicts by section", head, [of(verdict) for verdict in Verdict], sections)


def _reasons_table(judged: tuple[Judged, ...]) -> Table:
    head: Col[str] = Col("Reason", lambda code: Cell(reasons()[code]), align="left", width=2.5)
    number: Col[str] = Col(
        "Requirements",
        lambda code: cells.count(sum(each.requirement.reason == code for each in judged)),
        width=0.6,
    )
    return table("ocp-reasons", "Why a host can't check them", head, [number], list(reasons()))


def _test_rows(conditions: OcpConditions) -> Rows:
    return (
        ("Data Pattern", "the test's own"),
        ("AR & Amount", "N/A"),
        ("Test Stimulus", "admin commands, and reads beside them"),
        ("Nothing written", "yes" if conditions.read_only else "no"),
        *((("", ""),) * 6),
    )


def _make_figures(judged: tuple[Judged, ...]) -> dict[str, Any]:
    """Verdict and evidence of each requirement, JSON-ready."""
    return {
        "specification": SPECIFICATION,
        "counts": {str(verdict): number for verdict, number in counts(judged).items()},
        "requirements": [
            {
                "id": each.requirement.identifier,
                "section": each.requirement.section,
                "verdict": str(each.verdict),
                "evidence": each.why,
                "contradicts": each.contradicts,
                "checks": [msgspec.to_builtins(outcome) for outcome in each.outcomes if outcome.seen],
            }
            for each in judged
        ],
    }
