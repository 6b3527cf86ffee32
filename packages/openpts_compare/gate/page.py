"""The report of a gate: the verdicts, and the runs that they are on."""

from collections.abc import Sequence
from typing import Final

from openpts.procedures.kit.red_line import red_line_of_all
from openpts.report.times import default_date
from openpts_compare.limits.judge import GateResult
from openpts_compare.limits.page import error_note, verdicts_page
from openpts_compare.limits.words import verdict_line
from openpts_compare.runs.measured_run import MeasuredRun
from openpts_pages.kit import rows_table
from openpts_pages.model import Report, Table

_FOOTER: Final = "Gate over openpts runs; not a report after SNIA SSS PTS 2.0.1, not certified by SNIA"


def gate_report(
    result: GateResult, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun], *, paper: str = "a4"
) -> Report:
    """The verdicts of a gate, and the runs that they are on; its date is the end of the last run."""
    every = [one.run for one in (*runs, *baseline)]
    simulated = all(run.manifest.target.simulation for run in every)
    verdict = f"{result.verdict.upper()}. {verdict_line(result.judged).capitalize()}."
    return Report(
        title=f"{'SIMULATED ' if simulated else ''}SSD Performance Gate",
        subtitle=verdict,
        run_name=", ".join(dict.fromkeys(run.manifest.test_id for run in every)),
        report_date=max(map(default_date, every)),
        red_line=red_line_of_all(every, "the reports of the runs"),
        footer=_FOOTER,
        front=(verdicts_page(result, _runs_table(result, runs, baseline)),),
        deviation_count=sum(len(run.ledger) for run in every),
        stem="gate",
        paper=paper,
    )


def _runs_table(result: GateResult, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]) -> Table:
    sides = (("candidate", runs), ("baseline", baseline))
    return rows_table(
        "limits-runs",
        "Runs",
        "Run:<2 | Side:<0.7 | Begun (UTC):< | Test:<0.6 | Firmware:<",
        (
            (one.folder, side, one.started_at, one.test, one.firmware or "not known")
            for side, of_side in sides
            for one in of_side
        ),
        note=error_note(result) if any(one.is_relative for one in result.judged) else "",
    )
