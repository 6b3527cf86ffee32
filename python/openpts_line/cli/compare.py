"""`openpts compare`: runs of one or several drives beside each other."""

import sys
from pathlib import Path

import click
import msgspec

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT, RSE_LIMIT_PCT
from openpts.cli.printed_document import print_object
from openpts.errors import UsageError
from openpts.report.redaction import redacted, redacted_figures
from openpts_line.cli.compare_text import print_comparison
from openpts_line.cli.report_files import file_options, written_files
from openpts_line.compare.build import build_comparison
from openpts_line.compare.contenders import compare_runs
from openpts_line.compare.figures import comparison_document
from openpts_line.compare.sources import read_entries

_OUT = Path("openpts-comparison")


@click.command("compare")
@click.argument("runs", metavar="RUN...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--base", default="", metavar="NAME", help="Compare all others with this one. [default: the first]"
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="RUN=NAME",
    help="Name a run or suite; those of one name form one set. May be repeated.",
)
@click.option(
    "--cold",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Show this first run apart, and count it in no set. May be repeated.",
)
@click.option(
    "--least-difference",
    "least_difference_pct",
    type=click.FloatRange(min=0, max=100),
    default=LEAST_DIFFERENCE_PCT,
    show_default=True,
    metavar="PCT",
    help="Report no difference of medians below this.",
)
@click.option(
    "--rse-limit",
    "rse_limit_pct",
    type=click.FloatRange(min=0, max=100),
    default=RSE_LIMIT_PCT,
    show_default=True,
    metavar="PCT",
    help="Accept a set whose relative standard error is at most this.",
)
@file_options(_OUT)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
def compare(
    runs: tuple[Path, ...],
    *,
    base: str,
    labels: tuple[str, ...],
    cold: tuple[Path, ...],
    least_difference_pct: float,
    rse_limit_pct: float,
    out: Path | None,
    paper: str,
    redact: bool,
    as_json: bool,
    **files: bool,
) -> None:
    """Compare runs: medians, spread, and the significance of the differences.

    RUN is a run folder, or that of a suite or a batch with all of its runs. Runs of one drive (model, serial
    number, firmware, capacity) under the same conditions form a set, which is compared by its median. Use
    three warm runs or more, an odd number. The more figures are compared, the more runs a difference needs to
    count. A red list names the conditions in which runs differ.
    """
    entries = read_entries(runs, _labels(labels), cold)
    comparison = compare_runs(entries, base, least_difference_pct, rse_limit_pct)
    report, records = build_comparison(comparison, paper=paper), [run.run.manifest for run in comparison.runs]
    if redact:
        report = redacted(report, records)
    written = written_files(report, files, out, _OUT)
    if as_json:
        found = msgspec.to_builtins(comparison_document(comparison, written))
        print_object(redacted_figures([found], records)[0] if redact else found)
        return
    print_comparison(sys.stdout, report, comparison)
    for path in written:
        click.echo(f"report: {path}")


def _labels(texts: tuple[str, ...]) -> dict[Path, str]:
    """Raises UsageError for what is no RUN=NAME."""
    labels = {}
    for text in texts:
        path, equals, name = text.rpartition("=")
        if not (equals and path and name.strip()):
            raise UsageError(f"--label {text!r}: write RUN=NAME, such as runs/first=old-firmware")
        labels[Path(path)] = name.strip()
    return labels
