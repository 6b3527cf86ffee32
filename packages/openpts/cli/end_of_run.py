"""The end of a run: its report, and what became of it."""

from pathlib import Path
from typing import IO

import click

from openpts.cli.report import print_figures, print_paths, reports_on
from openpts.cli.standard_streams import wrapped
from openpts.errors import RunFailedError
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.driver import driver_of


def end_run(test: Procedure, folder: Path, stream: IO[str], *, no_report: bool, as_json: bool) -> None:
    """Report on a finished run and say what became of it, as one JSON object where that was asked for.

    Raises RunFailedError for a drive that lost data or failed a limit, and where no verdict was possible.
    """
    written = () if no_report else reports_on(folder)
    for report in () if as_json else written:
        for line in report.cover:
            click.echo(wrapped(line, stream), file=stream)
        print_paths(report, stream)
    try:
        if (judge := the_judge()) is not None:
            judge.part("end")(folder, stream)
        driver_of(test).end(folder)
    except RunFailedError as error:
        if as_json:
            print_figures((folder,), written, failure=error)
        raise
    if as_json:
        print_figures((folder,), written)
