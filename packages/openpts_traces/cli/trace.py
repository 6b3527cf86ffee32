"""`openpts trace`: what is done with traces of block I/O."""

from typing import Final

import click

from openpts.cli.commands_on_demand import CommandPlace, CommandsOnDemand, OnDemand

_COMMANDS: Final = {
    "check": CommandPlace(
        "openpts_traces.cli.trace_commands:check", "Read a trace: what is wrong, and its figures."
    ),
    "convert": CommandPlace("openpts_traces.cli.trace_commands:convert", "Write a trace in another format."),
}


class _Commands(OnDemand):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What can be read, what can be written, and examples."""
        from openpts_traces import treatment  # noqa: PLC0415 the first pages of help load no command
        from openpts_traces.recipes import recipes  # noqa: PLC0415

        known = treatment.formats()
        with formatter.section("Formats that are read, found by their contents"):
            formatter.write_dl(list(known.items()))
        with formatter.section("Recipes that ship, as recipe:NAME"):
            formatter.write_dl([(one.name, one.label) for one in recipes().values()])
        with formatter.section("Formats that are written"):
            formatter.write_dl([(name, known.get(name, name)) for name in treatment.outputs()])
        super().format_epilog(ctx, formatter)


@click.group(
    "trace", cls=_Commands, commands=CommandsOnDemand(_COMMANDS), subcommand_metavar="COMMAND [ARGS]..."
)
def trace() -> None:
    """Work with traces of block I/O: no command here writes to a drive.

    A trace is a file or several, read in the given order. They may be compressed (gzip, zstd, xz, bzip2)
    or in tar archives. - is standard input. Records are counted: read = accepted + skipped + damaged.
    Exit status 11 means that records were damaged or lost and the others used, 12 that the trace is
    refused.
    """
