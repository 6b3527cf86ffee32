"""`openpts compare`: runs of one or several drives beside each other."""

import sys
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from openpts.analysis.run_comparison import LEAST_DIFFERENCE_PCT, RSE_LIMIT_PCT
from openpts.cli.options import PATH, argument, flag, group, option, with_options
from openpts.cli.printed_document import print_object
from openpts.errors import UsageError
from openpts.report.redaction import redacted, redacted_figures
from openpts_compare.cli.compare_text import print_comparison
from openpts_compare.cli.report_files import FileArgs, folder_of_files
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import compare_runs
from openpts_compare.compare.figures import comparison_document
from openpts_compare.compare.sources import read_entries

_OUT = Path("openpts-comparison")


@dataclass(frozen=True, slots=True)
class _Files(FileArgs):
    out: Path | None = folder_of_files(_OUT)


@click.command("compare")
@with_options
def compare(
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    base: str = option(
        "NAME", "Compare all others with this one. [default: the first]", default="", show_default=False
    ),
    labels: tuple[str, ...] = option(
        "--label RUN=NAME",
        "Name a run or suite; those of one name form one set. May be repeated.",
        multiple=True,
    ),
    cold: tuple[Path, ...] = option(
        "RUN", "Show this first run apart, and count it in no set. May be repeated.", PATH, multiple=True
    ),
    least_difference_pct: float = option(
        "--least-difference PCT",
        "Report no difference of medians below this.",
        click.FloatRange(min=0, max=100),
        default=LEAST_DIFFERENCE_PCT,
    ),
    rse_limit_pct: float = option(
        "--rse-limit PCT",
        "Accept a set whose relative standard error is at most this.",
        click.FloatRange(min=0, max=100),
        default=RSE_LIMIT_PCT,
    ),
    files: FileArgs = group(_Files),
    as_json: bool = flag("Print the comparison as one JSON object.", name="--json"),
) -> None:
    """Compare runs: medians, spread, and the significance of the differences.

    RUN is a run folder, or that of a suite or a batch with all of its runs. Runs of one drive (model, serial
    number, firmware, capacity) under the same conditions form a set, which is compared by its median. Use
    three warm runs or more, an odd number. The more figures are compared, the more runs a difference needs to
    count. A red list names the conditions in which runs differ. Of three drives or more, a table has the
    spread of each value and the drive that lies out (Grubbs' test).
    """
    entries = read_entries(runs, _labels(labels), cold)
    comparison = compare_runs(entries, base, least_difference_pct, rse_limit_pct)
    report, records = (
        build_comparison(comparison, paper=files.paper),
        [run.run.manifest for run in comparison.runs],
    )
    if files.redact:
        report = redacted(report, records)
    written = files.written(report, _OUT)
    if as_json:
        found = msgspec.to_builtins(comparison_document(comparison, written))
        print_object(redacted_figures([found], records)[0] if files.redact else found)
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
