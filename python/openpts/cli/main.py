"""The command line: a door. It turns words into an order, and what happened into text and an exit code.

Commands are loaded when they are asked for. Reports take long to load, and help needs none: the commands that
make them load them first thing.
"""

import json
import sys
from importlib.metadata import version

import click

from openpts.cli.commands_on_demand import CommandsOnDemand
from openpts.cli.lasting_output import lasting
from openpts.errors import OpenptsError
from openpts.runner.stop_signals import terminate_as_interrupt

_EXIT_CODES = """\b
Exit codes
  0  done (whether steady state was reached stands in the result)
  1  a defect of openpts
  2  an option or a value makes no sense
  3  the target is missing, unusable or too small
  4  refused: the device is in use, or not confirmed
  5  no usable io_uring, or no fio where it is needed
  6  the purge failed or could not be proven
  7  an I/O failed during the run; what was measured is kept
  8  a run folder can't be written or read
  9  idle-flush: the drive did not come to rest in time
130  stopped by the operator; what was measured is kept
"""

_EXAMPLES = """\b
Examples
  openpts devices
      What drives there are, and whether they are free to be tested.
  openpts run iops file:./scratch?size=4GiB --quick
      A short run on a scratch file: nothing is erased, good for a first look.
  openpts run iops /dev/nvme0n1 --confirm-serial S3R1AL
      The real thing: erases the drive and takes many hours.
  openpts run wsat /dev/nvme0n1 --confirm-serial S3R1AL --plan lab.toml
      Another test, with what a plan file says; options win over it.
  openpts run cbw file:./scratch?size=1GiB --time-scale 1/300
      All durations and repetitions shortened by the same factor, and listed in the report.
  openpts io /dev/nvme0n1 --bs 4k --qd 32 --tc 4 --seconds 10
      Random reads for ten seconds, every I/O timed: nothing is written without consent.
  openpts run all sim:client-qlc --profile client --time-scale 1/60
      The whole suite, one folder for each test and an index page over them.
  openpts purge /dev/nvme0n1 --confirm-serial S3R1AL
      Erase a drive by the best method that it has, and prove it: nothing is measured.
  openpts plan xsr /dev/nvme0n1 --tbw 1.2PB
      What a test would do, how long it takes and what it wears, without touching the drive.
  openpts run iops sim:enterprise-tlc
      The same test on a simulated drive in virtual time: minutes instead of hours, and no drive needed.
  openpts io "sim:client-qlc?capacity=64GB&seed=2" --mix 0/100 --bs 128k --pattern sequential --fills 1
      Fill a simulated drive of that capacity, and see when its cache ends.
  openpts unlock /dev/sda
      Take off the password that an ATA Security Erase which was killed has left on a drive.
  openpts conformance openpts-runs/S3R1-20261120T220000Z-iops --only deviated
      Hold a run against every requirement of the specification.
  openpts report openpts-runs/S3R1-20261120T220000Z-iops
      Make the report again from a run folder, on any machine.
  openpts report openpts-runs/suite-20261120T220000Z --redact --out to-publish
      One report of all tests of a suite, without the drive's serial number.
  openpts verify openpts-runs/S3R1-20261120T220000Z-iops
      Derive every number of a report again from its record.
  openpts compare suite-a suite-b --label suite-a=old --label suite-b=new --html
      Put the runs of two drives beside each other.
"""


# Where each command is; it is loaded when it is asked for, which for some takes half a second.
_COMMANDS = {
    "compare": "openpts.cli.compare:compare",
    "conformance": "openpts.cli.conformance:conformance_command",
    "crosscheck": "openpts.cli.crosscheck:crosscheck_command",
    "devices": "openpts.cli.devices:devices",
    "doctor": "openpts.cli.doctor:doctor",
    "idle-flush": "openpts.cli.idle_flush:idle_flush",
    "io": "openpts.cli.io:io",
    "plan": "openpts.cli.plan:plan_command",
    "plan-schema": "openpts.cli.plan_schema:plan_schema_command",
    "purge": "openpts.cli.purge:purge",
    "rehearse": "openpts.cli.rehearse:rehearse_command",
    "report": "openpts.cli.report:report",
    "run": "openpts.cli.run_commands:run",
    "sim": "openpts.cli.sim:sim",
    "unlock": "openpts.cli.unlock:unlock",
    "verify": "openpts.cli.verify:verify",
}


@click.group(
    commands=CommandsOnDemand(_COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{_EXAMPLES}\n\n{_EXIT_CODES}",
)
@click.version_option(version("openpts"), message="openpts %(version)s")
def cli() -> None:
    """Measure what a solid-state drive really does once it has settled.

    openpts runs the tests of the SNIA Solid State Storage Performance Test Specification 2.0.1: it
    purges and preconditions the device, applies a defined stimulus until performance is steady, records
    every I/O, and writes a report that a second lab can repeat.

    A TEST ON A DRIVE DESTROYS ALL DATA ON IT. A drive is only touched when nothing uses it and its
    serial number was given.
    """


@cli.command("help")
@click.argument("command", nargs=-1)
@click.pass_context
def help_(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of a command: `openpts help run iops`."""
    parent = context.parent
    assert parent is not None  # noqa: S101 this command is always inside the group
    current: click.Command = cli
    for name in command:
        found = current.get_command(parent, name) if isinstance(current, click.Group) else None
        if found is None:
            raise click.UsageError(f"there is no command {' '.join(command)!r}; `openpts help` lists all")
        parent = click.Context(found, info_name=name, parent=parent)
        current = found
    click.echo(current.get_help(parent))


def main() -> None:
    """Run the command line and exit with the code that its help lists."""
    with lasting("stderr"), lasting("stdout") as output:
        try:
            _run()
        except SystemExit as end:
            if output is not None and not end.code:
                sys.stdout.flush()
                if output.lost:
                    click.echo(f"openpts: what was printed is lost: {output.lost}", err=True)
                    sys.exit(1)
            raise


def _run() -> None:
    as_json = "--json" in sys.argv[1:]
    try:
        with terminate_as_interrupt():
            exit_code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        fail(error.format_message(), exit_code=2, as_json=as_json)
    except click.Abort:
        fail("stopped by the operator", exit_code=130, as_json=as_json)
    except OpenptsError as error:
        fail(*error.complaints, exit_code=error.exit_code, as_json=as_json)
    sys.exit(exit_code if isinstance(exit_code, int) else 0)


def fail(*reasons: str, exit_code: int, as_json: bool) -> None:
    """End with a line on stderr for each reason; with ``--json`` the same as an object on stdout."""
    lines = [" ".join(reason.split()) for reason in reasons]
    for line in lines:
        click.echo(f"openpts: {line}", err=True)
    if as_json:
        click.echo(json.dumps({"error": "; ".join(lines), "exit_code": exit_code}))
    sys.exit(exit_code)
