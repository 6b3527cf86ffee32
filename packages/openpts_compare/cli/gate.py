"""`openpts gate`: runs held against limits, for lines that decide by exit code."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from openpts.cli.options import (
    FILE,
    NEW_FILE,
    PATH,
    WithBaseline,
    argument,
    baseline_option,
    flag,
    group,
    option,
    with_options,
)
from openpts.cli.standard_streams import print_document, with_controls
from openpts.errors import LimitError, NoVerdictError, UsageError
from openpts.report.redaction import redacted, redacted_value
from openpts.report.sources import run_folders_of
from openpts.vocabulary.limit import Judgement
from openpts_compare.cli.report_files import FileArgs, folder_of_files
from openpts_compare.gate.documents import GateDocument, gate_report, power_of
from openpts_compare.gate.export_files import write_export
from openpts_compare.limits.judge import judge
from openpts_compare.limits.limits_file import (
    Allowed,
    LimitSet,
    gated_runs,
    limit_line,
    parse_limits,
    read_limits,
)
from openpts_compare.runs.measured_run import OF_SUBJECTS, MeasuredRun

_OUT = Path("openpts-gate")
_EXIT_CODES = {
    Judgement.PASS: 0,
    Judgement.FAIL: LimitError.exit_code,
    Judgement.NO_VERDICT: NoVerdictError.exit_code,
}
_COLORS = {Judgement.PASS: "green", Judgement.FAIL: "red", Judgement.NO_VERDICT: "yellow"}


@dataclass(frozen=True, slots=True)
class _GateFiles(FileArgs):
    out: Path | None = folder_of_files(_OUT)


_BASELINE: Final = baseline_option("Runs, or suites, that relative limits such as '>= -3 %' are held against")


@click.command("gate", cls=WithBaseline, short_help="Hold runs against limits, and end with a verdict.")
@with_options
def gate(  # long: its parameters are the options
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    limits_path: Path | None = option(
        "--limits FILE", "TOML file with limits, required conditions, and how sure verdicts have to be.", FILE
    ),
    lines: tuple[str, ...] = option(
        "--limit LIMIT",
        "A limit such as 'iops.rnd-4k-rw0 >= 180 k'. May be repeated, also beside a file.",
        multiple=True,
    ),
    allow: tuple[Allowed, ...] = option(
        "",
        "Judge also figures that have this, as `allow` in the limits file does. May be repeated.",
        click.Choice([one.value for one in Allowed]),
        multiple=True,
        callback=lambda _context, _option, words: tuple(map(Allowed, words)),
    ),
    baseline: tuple[Path, ...] = _BASELINE,
    power_analysis: bool = flag(
        "Show which change of each figure these limits would find, and how often they would fail by chance."
    ),
    junit: Path | None = option("FILE", "Write the verdicts as XML in JUnit's form, too.", NEW_FILE),
    tap: bool = flag("Print the verdicts in the Test Anything Protocol."),
    files: FileArgs = group(_GateFiles),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> int:
    """Hold runs against limits: each passes, fails or has no verdict.

    RUN is a run folder, or that of a suite or a batch with all of its runs. An absolute limit holds for each
    run. A relative one compares all runs of a test with the baseline's, and asks for more runs while the
    spread between them leaves it open. Without limits, what can be limited is listed.

    Ends with exit code 10 if a limit failed, 13 if none failed but one has no verdict.
    """
    forms = {"--tap": tap, "--junit": junit, "--out": files.out}
    forms |= {f"--{form}": getattr(files, form) for form in ("html", "pdf", "csv")}
    _refuse_forms([option for option, value in forms.items() if value], power=power_analysis, as_json=as_json)
    limits = _limits(limits_path, lines, allow)
    run_folders_of([*runs, *baseline])  # refuses a run that is named twice
    candidates, bases = gated_runs(runs), gated_runs(baseline)
    if power_analysis:
        found = power_of(limits, candidates, bases)
        if as_json:
            print_document(found)
        else:
            click.echo("\n".join(found.lines()))
        return 0
    if limits is None and not any(run.content.limits for run in candidates):
        _list_measures(candidates, err=as_json)
        raise UsageError("no limits: give --limits FILE, or --limit 'KEY >= VALUE' with a key of this list")
    result = judge(limits or LimitSet(allowed=allow), candidates, bases)
    manifests = [one.run.manifest for one in (*candidates, *bases)]
    report = gate_report(result, candidates, bases, paper=files.paper)
    if files.redact:
        report = redacted(report, manifests)
    written = files.written(report, _OUT)
    document = GateDocument.by(result, candidates, bases, written)
    if files.redact:  # reasons name folders of runs, and those may name drives
        document = redacted_value(document, manifests, GateDocument)
    if junit is not None:
        write_export(junit.parent, {junit.name: document.junit()})
    if as_json:
        print_document(document)
    elif tap:
        click.echo("\n".join(document.tap()))
    else:
        _print(document)
        for path in written:
            click.echo(f"report: {path}")
    return _EXIT_CODES[document.verdict]


def _refuse_forms(forms: Sequence[str], *, power: bool, as_json: bool) -> None:
    if as_json and "--tap" in forms:
        raise UsageError("--tap and --json both write to standard output: give one of them")
    if power and forms:
        raise UsageError(f"--power-analysis gives no verdicts that {forms[0]} could have: leave one out")


def _limits(path: Path | None, lines: Sequence[str], allow: Sequence[Allowed]) -> LimitSet | None:
    if path is not None:
        return read_limits(path, lines, allow)
    return parse_limits(b"", "--limit", lines, allow) if lines else None


def _list_measures(runs: Sequence[MeasuredRun], *, err: bool) -> None:
    """What each test of the runs measures, with the key values of its first run."""
    first = {run.test: run for run in reversed(runs)}
    for run in first.values():
        click.echo(f"key measures of {run.test}, {run.run.folder}:", err=err)
        for one in run.content.measures:
            if one.is_key and one.value is not None:
                click.echo(f"  {run.test}.{one.key} = {one.value:,.6g} {one.unit}".rstrip(), err=err)
        click.echo(f"and of each of these {', '.join(OF_SUBJECTS)} and any other percentile:", err=err)
        for subject in run.subjects:
            click.echo(f"  {subject}", err=err)


def _print(document: GateDocument) -> None:
    for one in document.limits:
        word, rest = one.judgement.value, limit_line(one).removeprefix(one.judgement)
        if sys.stdout.isatty():
            click.secho(word, fg=_COLORS[one.judgement], nl=False, file=with_controls(sys.stdout))
        else:
            click.echo(word, nl=False)
        click.echo(f"{rest}{f' [{one.note}]' if one.note else ''}")
    for line in document.summary():
        click.echo(line)
