"""The report of a question: the answer, its figures with their bounds, how sure, what to do next."""

from typing import Any, Final

import msgspec

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, stimulus_rows
from openpts.record.reader import Run
from openpts.units import format_capacity, format_duration, format_significant
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.verdict import Better
from openpts_check.answer import WORDS, CheckAnswer, JudgedFigure, answer_of
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, PlotName, page, rows_table, table
from openpts_pages.measure import Measure, Measured
from openpts_pages.model import Cell, Page, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, state_page

_TOO_LITTLE: Final = cells.missing("too little measured")
_TONES: Final = {Judgement.PASS: "pass", Judgement.FAIL: "fail", Judgement.NO_VERDICT: "info"}


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    answer = answer_of(run)
    verdict = Verdict(f"{answer.purpose.question} {answer.word}: {answer.reason}.", _TONES[answer.judgement])
    return ReportContent(
        verdicts=(verdict,),
        measures=tuple(map(_measured, answer.figures)),
        sections=methodology(
            run,
            "Question about a Disk in Use",
            _test_rows(run, answer),
            lambda: (_page(answer, verdict), state_page(run, "Preparation")),
        ),
        figures=lambda: _figures(answer),
        limits=tuple(one.limit for one in answer.figures),
    )


def _figures(answer: CheckAnswer) -> dict[str, Any]:
    """The answer, JSON-ready; where it is kept is the reader's to know."""
    found: dict[str, Any] = msgspec.to_builtins(answer.document(""))
    return {name: value for name, value in found.items() if name not in {"schema", "run", "reports"}}


def _measured(one: JudgedFigure) -> Measured:
    figure = one.figure
    better = Better.HIGHER if figure.bound.is_least else Better.LOWER
    measure = Measure[JudgedFigure](
        figure.key,
        figure.label,
        figure.unit,
        lambda answered: answered.value,
        decimals=figure.decimals,
        better=better,
        absent=one.reason or figure.absent,
    )
    return measure.of(one)


def _test_rows(run: Run, answer: CheckAnswer) -> Rows:
    conditions, purpose = answer.conditions, answer.purpose
    loads = dict.fromkeys(answer.whole.loads)
    return stimulus_rows(
        run,
        ("Question", purpose.title),
        ("Loads", ", ".join(loads) or "none completed"),
        ("Part that is used", format_capacity(conditions.size_bytes)),
        ("Repeats", f"{conditions.repeats}"),
        (
            "Duration",
            f"{format_duration(conditions.minute_ns)} a load" if purpose.timed_loads else "until done",
        ),
        ("Heat", format_duration(conditions.heat_ns) if conditions.heat_ns else "not asked"),
        ("Answer", answer.word),
        ("Steady State", NO_STEADY_STATE),
    )


def _page(answer: CheckAnswer, verdict: Verdict) -> Page:
    """The page that is forwarded."""
    columns: list[Col[JudgedFigure]] = [
        Col("Measured", lambda one: Cell(one.text, one.value), align="right"),
        Col("Repeats", _repeats, width=1.3),
        Col("Held against", lambda one: Cell(one.limit.limit, note=one.figure.bound.source), align="left"),
        Col("Kept?", _kept, align="left"),
    ]
    figures = table(
        "check-figures",
        "Figures and what they are held against",
        Col("Figure", lambda one: Cell(one.figure.label), align="left", width=1.6),
        columns,
        answer.figures,
    )
    shown = rows_table(
        "check-shown",
        "Also measured, held against nothing",
        "Figure:<2 | Unit:<0.5 | Of:< | Measured",
        (
            (
                one.label,
                one.unit,
                name,
                Cell(format_significant(value), value) if value is not None else _TOO_LITTLE,
            )
            for one in answer.shown
            for name, value in one.values.items()
        ),
    )
    texts = (("How sure", answer.sure), ("Next", answer.advice), ("Mind", answer.purpose.mistakes))
    items = [(head, text) for head, several in texts for text in several]
    advice = items_table("check-words", "How sure, and what to do next", items)
    name = PlotName("check-answer", "", answer.purpose.question)
    return page(name, verdict, figures, advice, shown if answer.shown else None)


def _repeats(one: JudgedFigure) -> Cell:
    return Cell(", ".join(f"{value:,.{one.figure.decimals}f}" for value in one.values) or "-")


def _kept(one: JudgedFigure) -> Cell:
    tone = {Judgement.PASS: "pass", Judgement.FAIL: "fail"}.get(one.judgement, "")
    return Cell(WORDS[one.judgement].lower(), note=one.reason, tone=tone)
