"""What `openpts` and `openpts --help` show, and the examples of each command: neither loads a command."""

import textwrap
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

import click

from openpts.cli.commands_on_demand import CommandsOnDemand, OnDemandInOrder, Place, of_plugins


def _examples_in(text: str) -> tuple[tuple[str, str], ...]:
    """Command lines, and what each does, which is the line below it."""
    lines = text.split("\n")
    return tuple(zip(lines[:-1:2], map(str.strip, lines[1::2]), strict=True))


# None of them erases anything, and each works on any machine.
FIRST_EXAMPLES: Final = _examples_in("""\
openpts tour
    See tests, a report, a comparison and a verdict: on simulated drives.
openpts check . --for commit
    Ask whether the disk of this directory is fast enough for a database.
openpts devices
    List the drives of this machine, and why one cannot be tested.
openpts run iops sim:enterprise-tlc --quick
    Run a shortened test on a simulated drive, and make its report.
""")

# Quoted where a shell would take a question mark for a pattern: zsh ends with "no matches found" otherwise.
_OF_COMMANDS: Final = """\
openpts check sim:client-qlc --for record
    Ask of a simulated drive whether it is good enough, in its own time.
openpts run iops "file:./scratch?size=4GiB" --quick
    Make a short run on a scratch file: nothing is erased, good for a first look.
openpts run iops /dev/nvme0n1 --confirm-serial S3R1AL
    Run the real thing: it erases the drive and takes many hours.
openpts run wsat /dev/nvme0n1 --confirm-serial S3R1AL --plan lab.toml
    Run another test with the settings of a plan file; options override it.
openpts run cbw "file:./scratch?size=1GiB" --time-scale 1/300
    Shorten all durations and repetitions by the same factor; the report lists them.
openpts run all sim:enterprise-tlc --quick
    Run a shortened suite on a simulated drive, a folder for each test and an index page.
openpts run all /dev/nvme0n1 --confirm-serial S3R1AL --plan tkperf
    Run the tests of a plan that ships, here those of TKperf; `openpts plan --list` lists them.
openpts run iops sim:enterprise-tlc
    Run the same test on a simulated drive in virtual time: minutes instead of hours.
openpts run iops sim:enterprise-tlc --quick --detach
    Return when it has begun: close the terminal, and `openpts attach` shows it later.
openpts io /dev/nvme0n1 --bs 4k --qd 32 --tc 4 --seconds 10
    Read at random for ten seconds, every I/O timed: nothing is written without consent.
openpts io "sim:client-qlc?capacity=64GB" --mix 0/100 --bs 128k --fills 1
    Fill a simulated drive of that capacity, and see when its cache ends.
openpts purge /dev/nvme0n1 --confirm-serial S3R1AL
    Erase a drive by the best method that it has, and prove it: nothing is measured.
openpts purge --unlock /dev/sda
    Remove the password that an interrupted ATA Security Erase left on a drive.
openpts plan xsr /dev/nvme0n1 --tbw 1.2PB
    Print what a test would do, how long it takes and what it wears, without touching the drive.
openpts report openpts-runs/R1AL-20261120T220000Z-iops
    Rebuild the report from a run folder, on any machine.
openpts report openpts-runs/suite-20261120T220000Z --redact --out to-publish
    Make one report of all tests of a suite, without the drive's serial number.
openpts resume openpts-runs/R1AL-20261120T220000Z-iops --confirm-serial S3R1AL
    Go on with a run that was cut off.
openpts attach
    List the runs here and those in progress, with what is done and left.
openpts attach openpts-runs/R1AL-20261120T220000Z-iops
    Look at a run in progress, on the whole terminal; q leaves it.
openpts attach openpts-runs/R1AL-20261120T220000Z-iops --stop
    End it in order, as Ctrl-C does.
openpts fleet submit --host h1 --slot s07 --serial S3R1AL iops
    Run a test on the drive in a slot of another host, at most once.
openpts verify openpts-runs/R1AL-20261120T220000Z-iops
    Recompute every number of a report from its record.
openpts verify openpts-runs/R1AL-20261120T220000Z-iops --requirements
    Check a run against every requirement of the specification.
openpts doctor --self-test
    Test whether openpts measures what is known beforehand; no drive is needed.
openpts trace convert server.csv.gz -o server.parquet
    Read a trace of any format, count what is wrong with it, and keep it in a few bytes an I/O.
openpts export openpts-runs/* --parquet lab
    Keep the tables of finished runs in one place, and ask all of them in DuckDB, pandas or polars.
openpts compare suite-a suite-b --label suite-a=old --label suite-b=new
    Compare the runs of two drives.
"""
EXAMPLES: Final = {
    command: tuple(examples)
    for command, examples in groupby(_examples_in(_OF_COMMANDS), lambda example: example[0].split()[1])
}
"""By command, each with what it does."""
_THE_REAL_THING: Final = EXAMPLES["run"][1]

_A_TEST: Final = "iops sim:enterprise-tlc"
_A_RUN: Final = "01a20758-6951-7850-b2ef-49adaa4b6e21"
_ARGUMENTS: Final = {
    "openpts": f"run {_A_TEST}",
    "openpts compare": "old-firmware new-firmware",
    "openpts check": ". --for commit",
    "openpts crosscheck": "/dev/nvme0n1",
    "openpts doctor": "/dev/nvme0n1",
    "openpts export": "openpts-runs/R1AL-20261120T220000Z-iops --csv-row results.csv",
    "openpts fleet": "hosts",
    **{f"openpts fleet {verb}": _A_RUN for verb in ("observe", "cancel", "resume")},
    **{f"openpts fleet {verb}": "--here h1" for verb in ("journal", "slots")},
    "openpts fleet start": '--here h1 \'{"run_id": "", "test_words": ["iops"]}\'',
    "openpts fleet fetch": "--out results",
    "openpts fleet stop": f"--here h1 {_A_RUN}",
    "openpts fleet submit": "--host h1 --slot s07 --serial S3R1AL iops --class enterprise",
    "openpts gate": "runs/new-firmware --limits limits.toml --baseline runs/old-firmware",
    "openpts capture": "/dev/nvme0n1 --seconds 60 --out load.parquet",
    "openpts idle-flush": "/dev/nvme0n1",
    "openpts import": "fio before.json --capacity 1.92TB",
    "openpts import fio": "before.json --capacity 1.92TB --model X100 --serial S3R1AL",
    "openpts import tkperf": "p4610.xml --capacity 1.6TB",
    "openpts io": "sim:enterprise-tlc --seconds 10",
    "openpts power": "drive:/dev/nvme0n1 --for 10",
    "openpts plan": _A_TEST,
    "openpts purge": "/dev/nvme0n1 --confirm-serial S3R1AL",
    "openpts report": "openpts-runs/R1AL-20261120T220000Z-iops",
    "openpts resume": "openpts-runs/R1AL-20261120T220000Z-iops --confirm-serial S3R1AL",
    "openpts run": _A_TEST,
    "openpts serve": "openpts-runs",
    "openpts sim": "show enterprise-tlc",
    "openpts sim show": "enterprise-tlc",
    "openpts trace check": "server.blktrace.0 server.blktrace.1",
    "openpts trace convert": "server.csv.gz -o server.parquet",
    "openpts trace": "check server.blktrace.0",
    "openpts verify": "openpts-runs/R1AL-20261120T220000Z-iops",
    **{
        f"openpts {verb} {test}": arguments
        for verb in ("plan", "run")
        for test, arguments in {
            # that need more of a drive than the common example has
            "benchmarks": '"sim:client-qlc?capacity=256GB"',
            # and that are about a file
            "workload": "mine.fio sim:enterprise-tlc",
            "replay": 'recipe:like:office "sim:enterprise-tlc?capacity=8GB"',
            "app": "/mnt/data -- tar -xf /data/linux.tar",
            "check": "--purpose record sim:client-qlc",
        }.items()
    },
}
_TESTS: Final = {group: _ARGUMENTS[group].partition(" ")[2] for group in ("openpts run", "openpts plan")}


def example_of(command_path: str) -> str:
    """A whole command line for the command of that path, such as ``openpts run iops``."""
    group = command_path.rpartition(" ")[0]
    arguments = _ARGUMENTS.get(command_path) or _TESTS.get(group, "")
    return f"{command_path} {arguments}".rstrip()


_WHAT_IT_IS = (
    "openpts measures what a solid-state drive really does once it has settled, with the tests of the SNIA "
    "Solid State Storage Performance Test Specification 2.0.1."
)
_WHERE_HELP_IS = (
    "A TEST ON A DRIVE DESTROYS ALL DATA ON IT, and only starts with the drive's serial number. "
    "`openpts --help` lists all commands, `openpts run iops --help` explains one."
)

_EXIT_CODES = [
    ("0", "done (the result shows whether steady state was reached)"),
    ("1", "a defect of openpts"),
    ("2", "an argument or option is missing or invalid"),
    ("3", "the target is missing, unusable or too small"),
    ("4", "refused: the device is in use, or not confirmed"),
    ("5", "no usable io_uring, or no fio where it is needed"),
    ("6", "the purge failed or could not be proven"),
    ("7", "an I/O failed during the run; what was measured is kept"),
    ("8", "a run folder can't be written or read"),
    ("9", "idle-flush: the drive did not come to rest in time"),
    ("10", "the drive failed a limit; the run and its report are complete"),
    ("11", "records of a trace were damaged or lost; the others were used"),
    ("12", "a trace is refused"),
    ("13", "no verdict on a limit, such as for too few I/Os or runs; none failed"),
    ("14", "steady state was required and not reached; the run is complete"),
    ("15", "fleet: a host or the scheduler can't be reached, or is set up wrongly"),
    ("130", "stopped by the operator; what was measured is kept"),
]


class FirstPages(OnDemandInOrder):
    """The first page, and the first page of the help; neither loads a command.

    ``purposes`` are the commands by what they are for, in the order of the help: each with its place, or
    with what it does in a few words where one of openpts' own plug-ins has it.
    """

    def __init__(
        self, name: str, *, purposes: Mapping[str, Mapping[str, Place | str]], **settings: Any
    ) -> None:
        self.own_commands = {
            command for of in purposes.values() for command, place in of.items() if isinstance(place, Place)
        }
        plugged_in = of_plugins(self.own_commands)
        self._purposes: dict[str, dict[str, Place]] = {}
        for purpose, places in purposes.items():
            of_purpose = self._purposes[purpose] = {}
            for command, place in places.items():
                if isinstance(place, Place):
                    of_purpose[command] = place
                elif command in plugged_in:
                    of_purpose[command] = plugged_in.pop(command)._replace(summary=place)
        self._purposes["Plug-ins"] = plugged_in
        commands = CommandsOnDemand({name: at for of in self._purposes.values() for name, at in of.items()})
        super().__init__(name, commands=commands, **settings)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name; its help ends with its examples."""
        command = super().get_command(ctx, name)
        if command is not None and name in EXAMPLES and not command.epilog:
            command.epilog = _examples_text(EXAMPLES[name])
        return command

    def first_page(self, context: click.Context) -> str:
        """What is shown where no command was given: what openpts is, what to try, and where help is."""
        formatter = context.make_formatter()
        _write_wrapped(formatter, _WHAT_IT_IS)
        formatter.write_paragraph()
        _write_wrapped(formatter, "Four commands to try; none of them erases anything:")
        formatter.write_paragraph()
        with formatter.indentation():
            _write_examples(formatter, FIRST_EXAMPLES)
        formatter.write_paragraph()
        _write_wrapped(formatter, _WHERE_HELP_IS)
        return formatter.getvalue().rstrip("\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """A section for each purpose, a line for each command."""
        width = max(map(len, self.commands))  # one column for all sections
        for purpose, names in self._purposes.items():
            rows = [(f"{name:{width}}", self.commands.summary(name)) for name in names]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """Examples and exit codes."""
        with formatter.section("Examples; the help of each command has more"):
            _write_examples(formatter, (*FIRST_EXAMPLES, _THE_REAL_THING))
        with formatter.section("Exit codes"):
            formatter.write_dl(_EXIT_CODES)


def _examples_text(examples: Iterable[tuple[str, str]]) -> str:
    """As an epilog of click, which wraps no paragraph behind a backspace: a command line stays whole."""
    lines = [f"{command}\n{textwrap.indent(textwrap.fill(text, 54), '  ')}" for command, text in examples]
    return "\n".join(["Examples:", "", "\b", *lines])


def _write_wrapped(formatter: click.HelpFormatter, text: str) -> None:
    indent = f"{'':{formatter.current_indent}}"
    wrapped = click.wrap_text(text, formatter.width, initial_indent=indent, subsequent_indent=indent)
    formatter.write(f"{wrapped}\n")


def _write_examples(formatter: click.HelpFormatter, examples: Iterable[tuple[str, str]]) -> None:
    """Each with what it does below it; a command line is never wrapped, so that it can be copied."""
    for command, text in examples:
        formatter.write(f"{'':{formatter.current_indent}}{command}\n")
        with formatter.indentation():
            _write_wrapped(formatter, text)
