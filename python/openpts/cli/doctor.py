"""`openpts doctor`: what of this machine bears on a measurement, and setting it up for one."""

import json
import os

import click

from openpts.cli.doctor_json import audit_in_json
from openpts.cli.doctor_text import audit_text, changes_text, restored_text
from openpts.cli.table_console import table_console
from openpts.errors import OpenptsError, UsageError
from openpts.journal import Journal
from openpts.runner.doctor import Doctor, restore
from openpts.system_files import SystemRoots
from openpts.vocabulary.scenario import Scenario

_PIPE_COLUMNS = 120


@click.command()
@click.argument("target", required=False)
@click.option(
    "--for",
    "scenario_word",
    type=click.Choice([scenario.value for scenario in Scenario]),
    default=Scenario.SYNTHETIC.value,
    show_default=True,
    help="Judge the settings for measuring the drive alone, or a machine as its users have it.",
)
@click.option(
    "--apply", "to_apply", is_flag=True, help="Change the settings that can be changed, until --restore."
)
@click.option("--restore", "to_restore", is_flag=True, help="Restore all settings that openpts changed.")
@click.option("--all", "in_full", is_flag=True, help="Show good settings in full as well.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; docs/doctor.md has its schema.")
def doctor(
    target: str | None,
    scenario_word: str,
    *,
    to_apply: bool,
    to_restore: bool,
    in_full: bool,
    as_json: bool,
) -> None:
    """Show which settings of this machine affect results, and those of TARGET if it is given.

    TARGET is a drive such as /dev/nvme0n1, which is only read, or file:PATH. Without --apply and --restore
    nothing is changed. The previous values are kept on disk, so that --restore also works after a crash; a
    restart of the machine restores all of them by itself.
    """
    if to_apply and to_restore:
        raise UsageError("--apply and --restore contradict each other")
    roots, journal = SystemRoots(), Journal.of_machine()
    physician = Doctor.for_target(target, Scenario(scenario_word), roots)
    restored, changes = physician.apply(journal) if to_apply else ((), ())
    if to_restore:
        restored = restore(journal, roots)
    findings = physician.findings()
    if as_json:
        click.echo(json.dumps(audit_in_json(target, physician, findings, changes, restored), indent=2))
    else:
        console = table_console(pipe_columns=_PIPE_COLUMNS)
        for line in (*restored_text(restored, asked=to_restore), *changes_text(changes, asked=to_apply)):
            console.print(line, soft_wrap=True)
        if not to_restore:
            console.print(audit_text(findings, target, physician.scenario, console.width, in_full=in_full))
    if to_restore and os.geteuid() != 0:
        click.echo(
            "openpts: not run as root: changes made as root are not seen; run sudo openpts doctor --restore",
            err=True,
        )
    if failed := [healing.text for healing in restored if not healing.put_back]:
        raise OpenptsError("; ".join(failed))
