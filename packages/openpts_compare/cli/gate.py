"""`openpts gate`: runs held against limits, for lines that decide by exit code."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec.structs import replace

from openpts.cli.number_types import WithBaseline, baseline_option
from openpts.cli.options import FILE, NEW_FILE, PATH, argument, flag, group, option, with_options
from openpts.cli.standard_streams import print_document, print_object, with_controls
from openpts.errors import LimitError, NoVerdictError, UsageError
from openpts.record.manifest import Manifest
from openpts.report.redaction import redacted, redacted_figures
from openpts.report.sources import run_folders_of
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.cli.report_files import FileArgs, folder_of_files
from openpts_compare.gate.documents import (
    ErrorRates,
    GateDocument,
    Power,
    PowerDocument,
    PowerOfLimit,
    gate_report,
    power_of,
)
from openpts_compare.gate.export_files import CaseOutcome, JunitCase, junit_xml, write_export
from openpts_compare.limits.bound import error_words, judged_figures, limit_line, verdict_line
from openpts_compare.limits.judge import GateResult, judge
from openpts_compare.limits.limits_file import Allowed, LimitSet, gated_runs, parse_limits, read_limits
from openpts_compare.runs.measured_run import OF_SUBJECTS, MeasuredRun

# A limit without a verdict is not kept: the gate does not pass.
_OUTCOMES: Final = {
    Judgement.PASS: CaseOutcome.PASSED,
    Judgement.FAIL: CaseOutcome.FAILED,
    Judgement.NO_VERDICT: CaseOutcome.ERROR,
}


def gate_junit(limits: Iterable[JudgedLimit], runs: Sequence[str]) -> bytes:
    """A ``testcase`` for each limit; ``runs`` are the folders that were judged."""
    cases = (
        JunitCase(
            name=f"{limit.name} {limit.limit}",
            classname="openpts.gate",
            time_s=0.0,
            outcome=_OUTCOMES[limit.judgement],
            message=limit_line(limit),
            output=limit_line(limit) if limit.judgement is Judgement.PASS else "",
        )
        for limit in limits
    )
    return junit_xml("openpts gate", cases, {"runs": "; ".join(runs)})


def gate_tap(limits: Sequence[JudgedLimit]) -> Iterator[str]:
    """Lines of the Test Anything Protocol, version 14."""
    yield "TAP version 14"
    yield f"1..{len(limits)}"
    for number, limit in enumerate(limits, start=1):
        passed = limit.judgement is Judgement.PASS
        name = f"{limit.name} {limit.limit}".replace("#", "\\#")
        yield f"{'ok' if passed else 'not ok'} {number} - {name}"
        yield f"# {limit_line(limit)}"


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
        "Judge figures all the same that have this, as `allow` in the limits file does. May be repeated.",
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
        _print_power(limits, candidates, bases, as_json=as_json)
        return 0
    if limits is None and not any(run.content.limits for run in candidates):
        _list_measures(candidates, err=as_json)
        raise UsageError("no limits: give --limits FILE, or --limit 'KEY >= VALUE' with a key of this list")
    result = judge(limits or LimitSet(allowed=allow), candidates, bases)
    manifests = [one.run.manifest for one in (*candidates, *bases)]
    report = gate_report(result, candidates, bases, paper=files.paper)
    if files.redact:
        report, result = redacted(report, manifests), _redacted(result, manifests)
    written = files.written(report, _OUT)
    if junit is not None:
        xml = gate_junit(result.judged, [run.folder for run in candidates])
        write_export(junit.parent, {junit.name: xml})
    if as_json:
        document = msgspec.to_builtins(GateDocument.by(result, candidates, bases, written))
        print_object(redacted_figures([document], manifests)[0] if files.redact else document)
    elif tap:
        for line in gate_tap(result.judged):
            click.echo(line)
    else:
        _print(result)
        for path in written:
            click.echo(f"report: {path}")
    return _EXIT_CODES[result.verdict]


def _refuse_forms(forms: Sequence[str], *, power: bool, as_json: bool) -> None:
    if as_json and "--tap" in forms:
        raise UsageError("--tap and --json both write to standard output: give one of them")
    if power and forms:
        raise UsageError(f"--power-analysis gives no verdicts that {forms[0]} could have: leave one out")


def _redacted(result: GateResult, manifests: Sequence[Manifest]) -> GateResult:
    """Reasons name folders of runs, and those may name drives."""
    plain = redacted_figures(judged_figures(result.judged), manifests)
    return replace(result, judged=msgspec.convert(plain, tuple[JudgedLimit, ...]))


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


def _print(result: GateResult) -> None:
    for one in result.judged:
        word, rest = one.judgement.value, limit_line(one).removeprefix(one.judgement)
        if sys.stdout.isatty():
            click.secho(word, fg=_COLORS[one.judgement], nl=False, file=with_controls(sys.stdout))
        else:
            click.echo(word, nl=False)
        click.echo(f"{rest}{f' [{one.note}]' if one.note else ''}")
    click.echo(f"{result.verdict.upper()}: {verdict_line(result.judged)}")
    if any(one.is_relative and one.low is not None for one in result.judged):
        for text in error_words(result.rule):
            click.echo(text)


def _print_power(
    limits: LimitSet | None, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun], *, as_json: bool
) -> None:
    rule, found = power_of(limits, runs, baseline)
    if as_json:
        print_document(PowerDocument(errors=ErrorRates.of(rule), limits=found))
        return
    for one in found:
        for line in _power_lines(one):
            click.echo(line)
    for line in error_words(rule):
        click.echo(line)


def _power_lines(one: PowerOfLimit) -> Sequence[str]:
    head = f"{one.name} {one.limit}"
    if one.spread_pct is None:
        return (f"{head}: {one.reason}",)
    rounds = "" if one.rounds_spread_pct is None else f", between rounds {one.rounds_spread_pct:.2g} %"
    return (
        f"{head}: spread between runs {one.spread_pct:.2g} %{rounds}",
        *(
            f"  {power.runs} runs against {power.base_runs}: finds {_change(power.found)} with 95 %, "
            f"{_apart_words(power)}fails unchanged ones in {power.false_alarm_pct:.2g} %"
            for power in one.powers
        ),
    )


def _apart_words(power: Power) -> str:
    """What is found of sides that were not made in turn."""
    found = power.found_apart
    return "" if found is None else f"{100 * (found - 1):+.3g} % if the sides share no session, "


def _change(found: float | None) -> str:
    return "no change" if found is None else f"a change of {100 * (found - 1):+.3g} %"
