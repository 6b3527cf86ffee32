"""The report of an application benchmark: times and their spread, what each run did, what it waited for."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from openpts.analysis.run_comparison import Quality, RunSet
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.kit.spread import repeat_figures, spread_words
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S
from openpts.vocabulary.better import Better
from openpts.vocabulary.command_run import CommandRun, DeviceCounts, RunKind
from openpts_app.app import AppConditions
from openpts_app.app.pages import bound_page, place_page, runs_page
from openpts_app.app.results import (
    AppResults,
    bound_of,
    bound_sentence,
    busy_pct,
    cpu_pct,
    decimals,
    results_of,
    stall_pct,
    total,
)
from openpts_pages import cells
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Verdict
from openpts_pages.texts import brief
from openpts_pts.shared.methodology import methodology

_TITLE: Final = "Application Benchmark"
_COUNTED: Final = (RunKind.WARM, RunKind.COLD)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the runs in the record."""
    results = results_of(run.conditions(AppConditions), run.manifest.command_runs)
    verdicts = tuple(_verdicts(results))
    return ReportContent(
        verdicts=verdicts,
        measures=tuple(_measures(results)),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(run, results),
            lambda: (runs_page(results, verdicts), bound_page(results), place_page(run, results)),
        ),
        figures=lambda: _figures(run, results),
    )


def _verdicts(results: AppResults) -> list[Verdict]:
    """A sentence on the times of each kind of runs, and what they were bound by."""
    found = []
    for kind in _COUNTED:
        if (times := results.times(kind)) is None:
            continue
        words = "; ".join(spread_words(times))
        cold = all(run.cold for run in results.of_kind(kind)) or kind is RunKind.WARM
        runs = results.of_kind(kind)
        note = "" if cold else f" The page cache was {runs[0].page_cache}."
        median = "" if times.count == 1 else f"median of {times.count} runs "
        value = f"{median}{cells.fixed(times.median, decimals(times.median))} s; "
        head = f"{kind.capitalize()}: {'' if times.quality is Quality.DISCARDED else value}"
        is_apart = times.quality in {Quality.DISCARDED, Quality.MORE_RUNS}
        found.append(Verdict(f"{head}{words}.{note}", "info" if cold and not is_apart else "fail"))
        typical = results.median_run(kind)
        if typical is not None:
            found.append(Verdict(f"{kind.capitalize()}, {bound_sentence(typical)}."))
    return found or [Verdict("n/a: no run of the command that counts came to its end.", "fail")]


def _measures(results: AppResults) -> list[Measured]:
    """Times, the program's own figure, and of the median warm run what it did."""
    conditions, figure = results.conditions, results.conditions.figure
    kinds = [kind for kind in _COUNTED if kind is RunKind.WARM or conditions.cold_runs]
    found = [
        Measure[RunSet](
            f"{kind}_time",
            f"{kind.capitalize()} runs, median time",
            "s",
            _set_cell,
            better=Better.LOWER,
            cover_label=f"{kind.capitalize()} runs",
            repeats=_several,
        ).of(results.times(kind))
        for kind in kinds
    ]
    if figure is not None:
        found += [
            Measure[RunSet](
                kind,
                f"{kind.capitalize()} runs, median {{name}}",
                figure.unit,
                _set_cell,
                better=conditions.figure_better or Better.UNJUDGED,
                repeats=_several,
                cover_label=f"{{name}}, {kind}",
            ).of(results.figures(kind), Subject(figure.name, key="figure"))
            for kind in kinds
        ]
    for kind in kinds:
        found += measured(_OF_A_RUN, results.median_run(kind), Subject(f"{kind.capitalize()} runs"))
    return found


def _of_a_run(key: str, label: str, unit: str, value: Callable[[CommandRun], float]) -> Measure[CommandRun]:
    return Measure(
        key,
        f"{{name}}, {label}",
        unit,
        value,
        better=Better.UNJUDGED,
        decimals=1,
        is_key=False,
        on_cover=False,
    )


_OF_A_RUN: Final = (
    _of_a_run("read_mb", "read from the drive", "MB", lambda run: total(run).read_bytes / MB),
    _of_a_run("written_mb", "written to the drive", "MB", lambda run: total(run).written_bytes / MB),
    _of_a_run("cpu_pct", "processor time", "% of one processor", cpu_pct),
    _of_a_run("busy_pct", "drive with I/O outstanding", "% of the time", busy_pct),
)


def _several(repeats: RunSet) -> Mapping[str, Any] | None:
    return repeat_figures(repeats) if repeats.count > 1 else None


def _set_cell(repeats: RunSet) -> Cell:
    """The median with its spread; none of a set that is discarded."""
    note = "; ".join(spread_words(repeats)) if repeats.count > 1 else ""
    if repeats.quality is Quality.DISCARDED:
        return cells.missing(note)
    return Cell(cells.fixed(repeats.median, decimals(repeats.median)), repeats.median, note)


def _test_rows(run: Run, results: AppResults) -> Rows:
    conditions = results.conditions
    systems = run.manifest.file_systems
    used = f"{systems[-1].used_pct:.1f} % used" if systems and systems[-1].directory else "N/A"
    return (
        ("Data Pattern", "the command's own"),
        ("AR & Amount", used),
        ("Test Stimulus", brief(shlex.join(conditions.command))),
        ("File system", systems[-1].type if systems else "N/A"),
        ("Conditioning runs", str(len(results.of_kind(RunKind.CONDITIONING)))),
        ("Cold runs", str(len(results.of_kind(RunKind.COLD)))),
        ("Warm runs", str(len(results.of_kind(RunKind.WARM)))),
        ("RSE limit", f"{conditions.set_rule.rse_limit_pct:g} %"),
        ("", ""),
        ("", ""),
    )


def _figures(run: Run, results: AppResults) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "command": list(results.conditions.command),
        "file_systems": [msgspec.to_builtins(report) for report in run.manifest.file_systems],
        **{
            f"{kind}_seconds": None if (times := results.times(kind)) is None else repeat_figures(times)
            for kind in _COUNTED
        },
        **{
            f"{kind}_figure": repeat_figures(values)
            for kind in _COUNTED
            if (values := results.figures(kind)) is not None
        },
        "runs": [_run_figures(one) for one in results.runs],
    }


def _run_figures(run: CommandRun) -> dict[str, Any]:
    done: DeviceCounts = total(run)
    return {
        "kind": run.kind,
        "number": run.number,
        "seconds": run.elapsed_ns / NS_PER_S,
        "figure": run.figure,
        "status": run.status,
        "failure": run.failure or None,
        "cold": run.cold,
        "reads": done.reads,
        "read_bytes": done.read_bytes,
        "writes": done.writes,
        "written_bytes": done.written_bytes,
        "discards": done.discards,
        "flushes": done.flushes,
        "busy_pct": busy_pct(run),
        "cpu_pct": cpu_pct(run),
        "io_stall_pct": stall_pct(run.io_stall_ns, run),
        "cpu_stall_pct": stall_pct(run.cpu_stall_ns, run),
        "bound": bound_of(run),
    }
