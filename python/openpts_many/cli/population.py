"""`openpts population`: many drives of one kind, and those that do not belong to the others."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from openpts.cli.options import FOLDER, PATH, argument, flag, option, with_options
from openpts.cli.printed_document import print_object
from openpts.cli.report import PAPER, REDACT, print_notes
from openpts.pages.model import Report, Table, Verdict
from openpts_many.population.findings import LEAST_DIFFERENCE, population_figures

if TYPE_CHECKING:
    from openpts.report.write import ReportOptions, WrittenReport

_PIPE_COLUMNS = 150


@click.command("population")
@with_options
def population(
    *,
    runs: tuple[Path, ...] = argument("RUN...|FOLDER...", PATH, nargs=-1, required=True),
    out: Path | None = option("", "Write HTML, PDF, data and model into this folder.", FOLDER),
    least_difference: float = option(
        "PCT",
        "Name no drive that is off by less, in per cent of the median; of temperatures in K.",
        click.FloatRange(min=0),
        default=LEAST_DIFFERENCE,
    ),
    paper: str = PAPER,
    redact: bool = REDACT,
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """Show how drives of one kind differ, and name those that do not belong to the others.

    A folder stands for all runs below it. Runs of one test on drives of one model under the same conditions
    are a population. Outliers are named by a rule that bounds false alarms over all values and drives of the
    report. Values that go with slot, host, link or the order of starts are shown as such, so that a slow path
    is not taken for a slow drive.
    """
    show_population(
        runs, out=out, least_difference=least_difference, paper=paper, redact=redact, as_json=as_json
    )


def show_population(
    runs: tuple[Path, ...],
    *,
    out: Path | None,
    least_difference: float = LEAST_DIFFERENCE,
    paper: str = "a4",
    redact: bool = False,
    as_json: bool = False,
) -> None:
    """Print the population of runs, and write its report where ``out`` says so."""
    from openpts.report.redaction import redacted, redacted_figures  # noqa: PLC0415 help makes no report
    from openpts.report.write import write_model  # noqa: PLC0415 likewise
    from openpts_many.population.build import build_population  # noqa: PLC0415 likewise
    from openpts_many.population.drives import read_populations  # noqa: PLC0415 likewise

    populations = read_populations(runs)
    found = population_figures(populations, least_difference)
    report = build_population(populations, found, paper=paper)
    figures: dict[str, Any] = msgspec.to_builtins(found)
    if redact:
        records = populations.manifests
        report, (figures,) = redacted(report, records), redacted_figures([figures], records)
    written: list[str] = []
    if out is not None:
        files = write_model(report, out)
        print_notes(files)
        written = [str(path) for path in files.documents]
    if as_json:
        print_object({**figures, "reports": written})
        return
    _print(report)
    for path in written:
        click.echo(f"report: {path}")


def population_of_batch(batch: Path, out: Path, options: "ReportOptions | None" = None) -> "WrittenReport":
    """Write the population of a batch into the folder `population` of ``out``. Raises UsageError."""
    from openpts.report.redaction import redacted  # noqa: PLC0415 help makes no report
    from openpts.report.write import ReportOptions, write_model  # noqa: PLC0415 likewise
    from openpts_many.population.build import build_population  # noqa: PLC0415 likewise
    from openpts_many.population.drives import read_populations  # noqa: PLC0415 likewise

    options = options or ReportOptions()
    populations = read_populations([batch])
    report = build_population(populations, population_figures(populations), paper=options.paper)
    if options.redact:
        report = redacted(report, populations.manifests)
    return write_model(report, out / "population", options)


def _print(report: Report) -> None:
    """The first page as text."""
    from openpts.cli.console import table_console  # noqa: PLC0415 help makes no report
    from openpts_line.cli.compare_text import print_table  # noqa: PLC0415 likewise

    console = table_console(sys.stdout, pipe_columns=_PIPE_COLUMNS)
    for line in report.alerts():
        console.print(line, style="bold red")
    for block in report.front[0].blocks:
        if isinstance(block, Verdict):
            console.print(block.text, style={"fail": "red", "pass": "green"}.get(block.tone))
        elif isinstance(block, Table):
            print_table(console, block)
            console.print()
