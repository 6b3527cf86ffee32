"""`openpts tour`: the first ten minutes, on simulated drives."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from openpts.cli.commands_on_demand import together
from openpts.cli.options import FOLDER, option
from openpts.cli.standard_streams import can_be_drawn_over
from openpts.errors import RecordError, failing_as
from openpts.programs import OPENPTS

# What is typed, and why; docs/tutorial.md has the same commands.
STOPS: Final = (
    (
        "sim list",
        "Simulated drives are targets like any other: nothing is erased, and hours pass in seconds.",
    ),
    ("plan wsat 'sim:client-qlc?capacity=64GB' --class client", "How long a test takes, and what it writes."),
    (
        "run wsat 'sim:client-qlc?capacity=64GB' --class client --out {out}/saturation",
        "How does a fresh drive slow down as it is written? The run is one folder, with its report.",
    ),
    (
        "run tp sim:client-qlc --class client --out {out}/client",
        "How fast are sequential reads and writes, once they are steady?",
    ),
    ("run tp sim:enterprise-tlc --class client --out {out}/enterprise", "The same of another drive."),
    (
        "compare {out}/client {out}/enterprise --out {out}/comparison",
        "What differs, and what may be said of it.",
    ),
    (
        "gate {out}/client --limit 'tp.seq_128_kib.read >= 500' --allow deviations",
        "A question with yes or no, by exit code. --allow accepts that the drive is simulated.",
    ),
    ("verify {out}/client", "Who has the folder can derive each number of its report again."),
)
_REAL: Final = """
On a real drive, whose data a test destroys, as root:
  openpts devices                    what each drive is, and whether it is free
  openpts plan iops /dev/nvme0n1     how long the test takes, how much it writes
  openpts run iops /dev/nvme0n1 --confirm-serial SERIAL"""


@click.command()
@together(option("--out", "Put the runs of the tour into this folder.", FOLDER, default="openpts-tour"))
def tour(out: Path) -> None:
    """Show openpts at work: plan, run, compare, judge and verify, on simulated drives.

    Carries out eight commands, one after the other, and waits for Enter before each at a terminal. A minute
    in all; needs no drive, no root and no network.
    """
    if out.exists():
        raise RecordError(f"can't begin the tour: {out} exists; remove it, or name another folder with --out")
    with failing_as(RecordError, f"can't create {out}"):
        out.mkdir(parents=True)
    waits = sys.stdin.isatty() and can_be_drawn_over(sys.stdout)
    for number, (words, why) in enumerate(STOPS, start=1):
        line = words.format(out=shlex.quote(str(out)))
        click.echo(f"\n{number} of {len(STOPS)}: {why}\n$ openpts {line}")
        if waits:
            click.pause("Enter continues, Ctrl-C ends the tour.")
        sys.stdout.flush()
        ended = subprocess.run([*OPENPTS, *shlex.split(line)], check=False)
        if ended.returncode:
            raise RecordError(
                f"the tour ends here: exit code {ended.returncode}; `openpts doctor` may say why"
            )
    click.echo(
        f"\nOpen {out / 'saturation' / 'report.html'} and {out / 'comparison' / 'comparison.html'}.\n{_REAL}"
    )
