"""What `openpts` shows alone, and what `openpts --help` shows: neither loads a command."""

from collections.abc import Iterable

import click

from openpts.cli.commands_on_demand import CommandsOnDemand
from openpts.cli.examples import EXAMPLES, FIRST_EXAMPLES

_WHAT_IT_IS = (
    "openpts measures what a solid-state drive really does once it has settled, with the tests of the SNIA "
    "Solid State Storage Performance Test Specification 2.0.1."
)
_WHERE_HELP_IS = (
    "A TEST ON A DRIVE DESTROYS ALL DATA ON IT, and only starts with the drive's serial number. "
    "`openpts --help` lists all commands, `openpts help run iops` explains one."
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
    ("130", "stopped by the operator; what was measured is kept"),
]


class FirstPages(click.Group):
    """The first page, and the first page of the help; neither loads a command."""

    commands: CommandsOnDemand

    def first_page(self, context: click.Context) -> str:
        """What is shown where no command was given: what openpts is, what to try, and where help is."""
        formatter = context.make_formatter()
        _write_wrapped(formatter, _WHAT_IT_IS)
        formatter.write_paragraph()
        _write_wrapped(formatter, "Three commands to try; none of them writes to a drive:")
        formatter.write_paragraph()
        with formatter.indentation():
            _write_examples(formatter, FIRST_EXAMPLES)
        formatter.write_paragraph()
        _write_wrapped(formatter, _WHERE_HELP_IS)
        return formatter.getvalue().rstrip("\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands.summary(name)) for name in self.list_commands(ctx)])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """Examples and exit codes."""
        with formatter.section("Examples"):
            _write_examples(formatter, EXAMPLES)
        with formatter.section("Exit codes"):
            formatter.write_dl(_EXIT_CODES)


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
