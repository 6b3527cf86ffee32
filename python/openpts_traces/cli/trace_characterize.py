"""`openpts trace characterize`: all figures of a trace, and the distances of two."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import click
from msgspec import Struct

from openpts.cli.console import table_console, table_of
from openpts.cli.options import FOLDER, PATH, argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.errors import UsageError
from openpts.pages.model import Report, Table, Verdict
from openpts.vocabulary.document import Document
from openpts_traces.characteristics.definitions import DEFINITIONS, SCHEMA
from openpts_traces.characteristics.distances import Distance, by_group, distances
from openpts_traces.characteristics.native import Selection, figures_of, is_clean
from openpts_traces.characteristics.pages import applied_in_json, characteristics_report
from openpts_traces.characteristics.questions import questions
from openpts_traces.cli.trace_options import DEVICES, FORMAT, TIME, known_names, time_span
from openpts_traces.cli.trace_text import DAMAGED_EXIT_CODE
from openpts_traces.recipes import PREFIX, recipes
from openpts_traces.treatment import ALL_TIME

Figures = Mapping[str, Any]

_TWO: Final = 2
_DISTANCES_SCHEMA: Final = "openpts.trace-distances/1"
_PIPE_COLUMNS: Final = 190


@click.command("characterize")
@with_options
def characterize(
    *,
    traces: tuple[Path, ...] = argument("TRACE [OTHER]", PATH, nargs=-1, required=True, callback=known_names),
    format_: str | None = FORMAT,
    devices: tuple[str, ...] = DEVICES,
    by: str | None = option(
        "", "Compute all figures for each part, too.", click.Choice(["device", "process", "stream"])
    ),
    times: str | None = TIME,
    html: bool = flag("Write an interactive page (HTML), one file."),
    pdf: bool = flag("Write pages for print (PDF)."),
    out: Path = option(
        "", "Write files into this folder.  [default: .]", FOLDER, default=Path(), show_default=False
    ),
    nearest: bool = flag("Print which of the recipes that ship are like it."),
    as_json: bool = flag("Print all figures as one JSON object.", name="--json"),
) -> int:
    """Show what a trace is like, in one pass; with OTHER, how far two traces are apart.

    Counters are exact; what is estimated has its error beside it; what a trace can't tell is unknown. The
    definition of each figure is in the output. Distances are given for each figure and group; they are not
    added up. Exits with 11 if records are damaged or lost, and the others used.
    """
    if len(traces) > _TWO:
        raise UsageError(
            f"can't compare {len(traces)} traces: give one, or two; "
            "join the files of one with `openpts trace convert`"
        )
    if nearest and (len(traces) == _TWO or html or pdf):
        raise UsageError("can't compare with recipes and print pages, or compare with OTHER: leave one out")
    selection = Selection(format_, devices, by, time_span(times) or ALL_TIME)
    takes_steps = len(traces) == 1 and not nearest
    figures = [figures_of(trace, selection, takes_steps=takes_steps) for trace in traces]
    if len(figures) == _TWO:
        if html or pdf:
            raise UsageError("can't write pages of distances: use --json, or characterize each trace")
        _print_distances(traces, distances(*figures), as_json=as_json)
    elif nearest:
        _print_nearest(traces[0], nearest_recipes(figures[0]), as_json=as_json)
    else:
        _show(
            traces[0], figures[0], out if html or pdf else None, {"html": html, "pdf": pdf}, as_json=as_json
        )
    return 0 if all(map(is_clean, figures)) else DAMAGED_EXIT_CODE


def _show(
    trace: Path, figures: Figures, out: Path | None, wanted: Mapping[str, bool], *, as_json: bool
) -> None:
    if as_json and out is None:
        click.echo(json.dumps(_described(figures), indent=2))
        return
    report = characteristics_report(figures, trace.name)
    written = [] if out is None else _write(report, out, wanted)
    if as_json:
        click.echo(json.dumps({**_described(figures), "reports": written}, indent=2))
        return
    print_pages(sys.stdout, report)
    for path in written:
        click.echo(f"report: {path}")


def _described(figures: Figures) -> dict[str, Any]:
    """The figures with their definitions, and what follows from them."""
    answers = {answer.question: answer.text for answer in questions(figures)}
    own = {"schema": SCHEMA, "definitions": DEFINITIONS, "applied_workload": applied_in_json(figures)}
    return {**own, "questions": answers, **figures}


def _write(report: Report, out: Path, wanted: Mapping[str, bool]) -> list[str]:
    from openpts.report.write import ReportOptions, write_model  # noqa: PLC0415 help makes no report

    options = ReportOptions(html=wanted["html"], pdf=wanted["pdf"], csv=False)
    return [str(path) for path in write_model(report, out, options).documents]


def print_pages(stream: IO[str], report: Report) -> None:
    """The tables and sentences of all pages, as far as lines of text can show them."""
    console = table_console(stream, pipe_columns=_PIPE_COLUMNS)
    for page in report.pages():
        console.print(f"\n== {page.title}", style="bold")
        for block in page.blocks:
            if isinstance(block, Verdict):
                console.print(block.text, style="red" if block.tone == "fail" else None)
            elif isinstance(block, Table) and block.printed and block.rows:
                console.print(f"\n{block.title}")
                console.print(_text_table(block))
                if block.note:
                    console.print(block.note)


def _text_table(shown: Table) -> Any:
    heads = (shown.head, *shown.columns)
    table = table_of(*(f">{column.label}" if column.align == "right" else column.label for column in heads))
    for row in shown.rows:
        table.add_row(
            row.head.text,
            *(f"n/a: {cell.note}" if cell.tone == "missing" else cell.text for cell in row.cells),
        )
    return table


def _print_distances(traces: Sequence[Path], found: Sequence[Distance], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {"group": d.group, "figure": d.figure, "measure": d.measure, "distance": d.value} for d in found
        ]
        names = [str(trace) for trace in traces]
        shown = {"schema": _DISTANCES_SCHEMA, "traces": names, "distances": listed, "groups": by_group(found)}
        click.echo(json.dumps(shown, indent=2))
        return
    console = table_console(sys.stdout, pipe_columns=_PIPE_COLUMNS)
    console.print(distance_table(found))
    groups = table_of("Group", "Measure", ">Mean distance")
    for group, measures in by_group(found).items():
        for measure, value in measures.items():
            groups.add_row(group, measure, _text(value))
    console.print()
    console.print(groups)


class NearRecipe(Struct, frozen=True):
    """A recipe that ships, and how far the trace is from it."""

    recipe: str
    distance: float


class NearestOfGroup(Struct, frozen=True):
    """By one measure of a group of figures, the nearest first."""

    group: str
    measure: str
    recipes: tuple[NearRecipe, ...]


class NearestRecipes(Document, frozen=True, kw_only=True, tag="openpts.trace-nearest/1"):
    """The recipes that a trace is like."""

    trace: str
    groups: tuple[NearestOfGroup, ...]


def nearest_recipes(figures: Figures) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """By group and measure: the recipes that ship and their mean distances, the nearest first."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for name in recipes():
        groups = by_group(distances(figures, figures_of(Path(f"{PREFIX}{name}"))))
        for group, measures in groups.items():
            for measure, value in measures.items():
                if value is not None:
                    found.setdefault((group, measure), []).append((name, value))
    return {key: sorted(listed, key=lambda one: one[1]) for key, listed in found.items()}


def _print_nearest(
    trace: Path, found: Mapping[tuple[str, str], Sequence[tuple[str, float]]], *, as_json: bool
) -> None:
    if as_json:
        groups = (
            NearestOfGroup(group, measure, tuple(NearRecipe(*one) for one in listed))
            for (group, measure), listed in found.items()
        )
        print_document(NearestRecipes(trace=str(trace), groups=tuple(groups)))
        return
    table = table_of("Group", "Measure", *(f"{word} recipe" for word in ("Nearest", "Second", "Third")))
    for (group, measure), listed in found.items():
        table.add_row(group, measure, *(f"{name} {_text(value)}" for name, value in listed[:3]))
    table_console(sys.stdout, pipe_columns=_PIPE_COLUMNS).print(table)


def distance_table(found: Sequence[Distance]) -> Any:
    """Each distance with its measure."""
    table = table_of("Group", "Figure", "Measure", ">Distance")
    for distance in found:
        table.add_row(distance.group, distance.figure, distance.measure, _text(distance.value))
    return table


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
