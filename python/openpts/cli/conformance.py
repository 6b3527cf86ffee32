"""`openpts conformance`: hold a run against every requirement of the specification."""

import json
import sys
from pathlib import Path

import click

from openpts.cli.conformance_table import conformance_object, print_conformance
from openpts.conformance.catalogue import Level
from openpts.conformance.conformance import conformance_of
from openpts.evidence.finding import Status
from openpts.record.reader import read_run

_STATUS_WORDS = {status.value.replace(" ", "-"): status for status in Status}


@click.command("conformance")
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--only",
    type=click.Choice(list(_STATUS_WORDS)),
    multiple=True,
    help="Show requirements of this status; may be repeated. [default: all but not applicable]",
)
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    multiple=True,
    help="Show requirements of this level; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def conformance_command(
    run_folder: Path, only: tuple[str, ...], level: tuple[str, ...], as_json: bool
) -> None:
    """Check a run against every requirement of the specification, from its folder alone.

    What can be checked on the run's record is met (with what shows it) or deviated (with the value required
    and the one used). What every run does alike is built in, with the tests of openpts that prove it. What
    neither can show is not verifiable, with the reason. The rest is not reached (it did not happen in this
    run) or not applicable. Only the checked ones are counted as met.
    """
    run = read_run(run_folder)
    everything = conformance_of(run)
    statuses = {_STATUS_WORDS[word] for word in only} or set(Status) - {Status.NOT_APPLICABLE}
    shown = [
        each
        for each in everything
        if each.status in statuses and (not level or each.requirement.level in level)
    ]
    if as_json:
        click.echo(json.dumps(conformance_object(run.manifest, everything, shown), indent=2))
    else:
        print_conformance(sys.stdout, run.manifest, everything, shown)
