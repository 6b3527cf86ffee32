"""The command line: a door. It turns words into an order, and what happened into text and an exit code."""

import json
import sys
from importlib.metadata import version

import click

from openpts.cli.crosscheck import crosscheck_command
from openpts.cli.devices import devices
from openpts.cli.io import io
from openpts.cli.rehearse import rehearse_command
from openpts.cli.report import report
from openpts.cli.run import run
from openpts.cli.sim import sim
from openpts.errors import OpenptsError

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
  openpts io /dev/nvme0n1 --bs 4k --qd 32 --tc 4 --seconds 10
      Random reads for ten seconds, every I/O timed: nothing is written without consent.
  openpts run iops sim:enterprise-tlc
      The same test on a simulated drive in virtual time: minutes instead of hours, and no drive needed.
  openpts io "sim:client-qlc?capacity=64GB&seed=2" --mix 0/100 --bs 128k --pattern sequential --fills 1
      Fill a simulated drive of that capacity, and see when its cache ends.
  openpts report openpts-runs/S3R1-20261120T220000Z-iops
      Make the report again from a run folder, on any machine.
"""


@click.group(
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


cli.add_command(run)
cli.add_command(io)
cli.add_command(crosscheck_command)
cli.add_command(report)
cli.add_command(sim)
cli.add_command(rehearse_command)
cli.add_command(devices)


def main() -> None:
    """Run the command line and exit with the code that its help lists."""
    as_json = "--json" in sys.argv[1:]
    try:
        exit_code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        fail(error.format_message(), 2, as_json=as_json)
    except click.Abort:
        fail("stopped by the operator", 130, as_json=as_json)
    except OpenptsError as error:
        fail(str(error), error.exit_code, as_json=as_json)
    sys.exit(exit_code if isinstance(exit_code, int) else 0)


def fail(reason: str, exit_code: int, *, as_json: bool) -> None:
    """End with one line on stderr; with ``--json`` the same as an object on stdout."""
    line = " ".join(reason.split())
    click.echo(f"openpts: {line}", err=True)
    if as_json:
        click.echo(json.dumps({"error": line, "exit_code": exit_code}))
    sys.exit(exit_code)
