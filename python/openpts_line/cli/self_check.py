"""`openpts self-check`: does the instrument measure what is known beforehand?"""

import sys
from collections.abc import Sequence
from typing import Final

import click

from openpts.cli.console import table_console, table_of
from openpts.cli.number_types import FiniteRange
from openpts.cli.options import flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.cli.terminal import wrapped
from openpts.errors import OpenptsError, UsageError
from openpts.units import format_significant
from openpts.vocabulary.document import Document
from openpts_line.selfcheck.control_chart import Chart
from openpts_line.selfcheck.finding import Finding, Verdict

_INDENT: Final = " " * 30
_PIPE_COLUMNS: Final = 140
_MOST_SHOWN: Final = 5


class SelfCheckDocument(Document, frozen=True, kw_only=True, tag="openpts.self-check/1"):
    """All checks of one self-check; ``kept`` is the file that has it as a line, null where that failed."""

    at: str
    host: str
    build: str
    verdict: Verdict
    checks: tuple[Finding, ...]
    kept: str | None


class SelfCheckHistory(Document, frozen=True, kw_only=True, tag="openpts.self-check-history/1"):
    """Control charts over the self-checks of this host: mean, and limits of 2.66 mean moving ranges."""

    charts: tuple[Chart, ...]


@click.command("self-check", short_help="Prove the instrument against what is known beforehand.")
@with_options
def self_check(
    *,
    seconds: float | None = option("SECONDS", "Length of the part in real time; 10.", FiniteRange(0.1, 3600)),
    history: bool = flag(
        "Show the figures of all self-checks of this host as control charts; check nothing."
    ),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Prove the instrument: engine, histograms, analysis and reports against what is known beforehand.

    No drive is needed, and none is touched. Drives that follow a script are measured in virtual time, the
    eight tests give known answers, and delays that are planted are measured through the kernel, each I/O
    captured. What was found is kept as a line, and noted in the record of later runs.

    Ends with exit code 1 if anything is not as it has to be.
    """
    if history:
        if seconds is not None:
            raise UsageError("--history checks nothing: leave out --seconds")
        _show_history(as_json=as_json)
        return
    from openpts_line.selfcheck.history import SelfCheck, keep  # noqa: PLC0415 help needs nothing that runs
    from openpts_line.selfcheck.prove import prove  # noqa: PLC0415 likewise

    findings = []
    for finding in prove(10.0 if seconds is None else seconds):
        findings.append(finding)
        if not as_json:
            _print(finding)
    check, kept = SelfCheck.of(findings), None
    try:
        kept = str(keep(check))
    except (OSError, OpenptsError) as error:
        click.echo(f"openpts: the self-check can't be kept: {error}", err=True)
    failure = _failure(findings)
    if as_json:
        print_document(SelfCheckDocument.of(check, checks=tuple(findings), kept=kept), failure)
    if failure is not None:
        raise failure


def _failure(findings: Sequence[Finding]) -> OpenptsError | None:
    failed = [finding.check for finding in findings if finding.verdict is Verdict.FAILED]
    if not failed:
        return None
    return OpenptsError(
        f"the instrument does not measure what it has to ({', '.join(failed)}): trust no figure of it, and "
        "install openpts again, or report this with the output of `openpts doctor --self`"
    )


def _print(finding: Finding) -> None:
    click.echo(wrapped(f"{finding.verdict:<14}{finding.check:<16}{finding.text}", sys.stdout, indent=_INDENT))
    figures = ", ".join(f"{name} {value:.4g}" for name, value in finding.figures.items())
    for line in (*filter(None, [figures]), *finding.faults):
        click.echo(wrapped(f"{_INDENT}{line}", sys.stdout, indent=_INDENT))


def _show_history(*, as_json: bool) -> None:
    from openpts_line.selfcheck.history import charts, kept_checks  # noqa: PLC0415 help needs nothing that runs

    found = tuple(charts(kept_checks()))
    if as_json:
        print_document(SelfCheckHistory(charts=found))
        return
    if not found:
        click.echo("no self-check of this host is kept: make one with `openpts self-check`")
        return
    table = table_of("=figure", ">checks", ">mean", ">lower limit", ">upper limit", ">last", ">outside")
    for chart in found:
        values = (chart.mean, chart.low, chart.high, chart.last)
        texts = ("" if value is None else format_significant(value) for value in values)
        table.add_row(chart.figure, str(chart.checks), *texts, str(len(chart.outside)))
    table_console(pipe_columns=_PIPE_COLUMNS).print(table)
    for chart in found:
        if chart.outside:
            click.echo(f"{chart.figure}: outside at {', '.join(chart.outside[-_MOST_SHOWN:])}")
