"""`openpts resume`: go on with a run or a suite that was cut off."""

import sys
from pathlib import Path
from typing import Any

import click

from openpts.cli.consent_options import CONFIRM_MEMBER, CONFIRM_NAMESPACE, CONSENT_OPTIONS, consent_of
from openpts.cli.help_order import together
from openpts.cli.report import print_result, report_on
from openpts.cli.run import run_and_log
from openpts.cli.suite import resume_suite
from openpts.procedures.registry import procedure_of
from openpts.record.reader import stored_run
from openpts.record.suite import SUITE_NAME
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import Order

RESUME_OPTIONS = together(
    click.option(
        "--target",
        help="The drive, where it has another name now. It must be the same one: serial number, model, "
        "firmware and capacity are compared.",
    ),
    click.option(
        "--accept-interruption",
        is_flag=True,
        help="Go on with the round that was cut off instead of the purge before it; the report lists that.",
    ),
    click.option("--accept-other-host", is_flag=True, help="Go on on another host; the report lists that."),
    click.option(
        "--accept-other-version",
        is_flag=True,
        help="Go on with another version of openpts or of the kernel; the report lists that.",
    ),
    *CONSENT_OPTIONS,
    CONFIRM_NAMESPACE,
    CONFIRM_MEMBER,
    click.option("--no-report", is_flag=True, help="Measure without making a report; see `openpts report`."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr."),
)


@click.command("resume", short_help="Go on with a run or a suite that was cut off.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@RESUME_OPTIONS
def resume(
    folder: Path,
    *,
    target: str | None,
    accept_interruption: bool,
    accept_other_host: bool,
    accept_other_version: bool,
    no_report: bool,
    as_json: bool,
    **consent: Any,
) -> None:
    """Go on with the run, or the suite, in FOLDER. DESTROYS ALL DATA on the target, as the run did.

    Finished steps stand; conditions, seed and target are those of the record. A test that was cut off begins
    again at the purge of its cycle, in the same folder, as the specification allows no interruption after it:
    with --accept-interruption it goes on at the round that was cut off. A test that is made to last for
    months goes on there anyway, a simulated drive wherever it was. The report lists all attempts.
    """
    accepted = {
        "accept_interruption": accept_interruption,
        "accept_other_host": accept_other_host,
        "accept_other_version": accept_other_version,
    }
    stream = sys.stderr if as_json else sys.stdout
    agreed = consent_of(**consent)
    if (folder / SUITE_NAME).exists():
        resume_suite(folder, target, agreed, accepted, stream, no_report=no_report, as_json=as_json)
        return
    run = stored_run(folder)
    order = Order.to_resume(Resumption(run, **accepted), agreed, target)
    run_and_log(procedure_of(run.manifest.conditions.test), order, stream)
    print_result(folder, None if no_report else report_on(folder), as_json=as_json)
