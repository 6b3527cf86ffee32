"""`openpts report`: make the report from a run folder, on any machine."""

import json
from collections.abc import Sequence
from pathlib import Path

import click


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--html/--no-html", default=True, show_default=True, help="Interactive page, one file.")
@click.option("--pdf/--no-pdf", default=True, show_default=True, help="Pages for print.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Where to write; the run folder itself."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run's figures as one JSON object.")
def report(run_folder: Path, html: bool, pdf: bool, out: Path | None, as_json: bool) -> None:
    """Make the report of a run again, from its folder alone.

    The device is not needed. The same folder gives the same figures, and the same files byte for byte.
    """
    from openpts.report.write import write_report  # noqa: PLC0415 slow to load, and `openpts --help` needs no report

    paths = write_report(run_folder, html=html, pdf=pdf, out=out)
    print_result(run_folder, paths, as_json=as_json)


def print_result(run_folder: Path, reports: Sequence[Path], *, as_json: bool) -> None:
    """Say where the reports are; as JSON together with the run's figures."""
    from openpts.report.summary import summarise  # noqa: PLC0415 slow to load
    from openpts.report.tests import read_for_report  # noqa: PLC0415 likewise

    paths = [str(path) for path in reports]
    if as_json:
        click.echo(json.dumps({**summarise(read_for_report(run_folder)), "reports": paths}, indent=2))
        return
    for path in paths:
        click.echo(f"report: {path}")
