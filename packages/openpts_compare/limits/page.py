"""The page with the limits that runs were held against."""

from collections.abc import Sequence
from typing import Final

from openpts.procedures.kit.content import ReportContent
from openpts.record.reader import Run
from openpts.record.writer import BASELINE_NAME, INPUT_FOLDER
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.limits.judge import GateResult, judged_run, stored_limits
from openpts_compare.limits.limits_file import BaselineRun, ErrorRates, finding, stored_baseline, verdict_line
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Table, Verdict

_TONES: Final = {Judgement.PASS: "pass", Judgement.FAIL: "fail", Judgement.NO_VERDICT: "missing"}


def limits_page(run: Run, content: ReportContent) -> Page | None:
    """The page of a run with a limits file, or with bounds of its test's own; otherwise None.

    Raises RecordError.
    """
    has_bounds = any(one.at_least is not None or one.at_most is not None for one in content.limits)
    if not has_bounds and stored_limits(run.folder) is None:
        return None
    result = judged_run(run, content)
    if result is None:
        return None
    return verdicts_page(result, _baseline_table(result, stored_baseline(run.folder)))


def error_note(result: GateResult) -> str:
    """How often relative limits may be judged wrong, as the note of a table."""
    text = str(ErrorRates.of(result.rule))
    return f"{text[:1].upper()}{text[1:]}."


def verdicts_page(result: GateResult, held: Table | None = None) -> Page:
    """The verdicts, and ``held``, the table of the runs that they are on or against."""
    tone = "pass" if result.verdict is Judgement.PASS else "fail"
    blocks: list[Block] = [
        Verdict(f"{result.verdict.upper()}. {verdict_line(result.judged).capitalize()}.", tone)
    ]
    if result.left_out:
        blocks.append(Verdict(left_out_words(result.left_out)))
    if result.allowed:
        blocks.append(Verdict(f"Judged, as the operator allows: {', '.join(result.allowed)}."))
    blocks.append(
        rows_table(
            "limits-verdicts",
            "Limits, each with its verdict",
            "Limited:<1.6 | Limit:<1.1 | Verdict:<0.6 | Found:<2 | Spread between rounds (%):0.7",
            (_row(one) for one in result.judged),
            note="Spread: standard deviation of the rounds that a figure is of, in per cent.",
        )
    )
    return Page("limits", "Limits and Verdict", (*blocks, *(() if held is None else (held,))))


def _baseline_table(result: GateResult, baseline: Sequence[BaselineRun]) -> Table | None:
    if not baseline:
        return None
    return rows_table(
        "limits-baseline",
        "Baseline",
        "Begun (UTC):< | Test:< | Firmware:<2",
        ((one.started_at, one.test, one.firmware or "not known") for one in baseline),
        # not the IDs, which a redacted report of another drive would not know as such
        note=f"IDs, folders and figures are in {INPUT_FOLDER}/{BASELINE_NAME} of the run folder. "
        f"{error_note(result)}",
    )


def left_out_words(count: int) -> str:
    """Why limits against a baseline are not among those of a single run."""
    limits = "1 limit is" if count == 1 else f"{count} limits are"
    return (
        f"{limits} relative to a baseline, which a run alone does not have: `openpts gate --baseline` judges."
    )


def _row(one: JudgedLimit) -> Cells:
    spread = one.rounds_spread_pct
    return (
        one.name,
        Cell(one.limit, note=one.note),
        Cell(one.judgement.value, tone=_TONES[one.judgement]),
        finding(one) or "-",
        cells.none() if spread is None else cells.percent(spread, 2),
    )
