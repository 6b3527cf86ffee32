"""`openpts trace`: traces of block I/O, checked and converted."""

import click

from openpts.cli.commands_on_demand import CommandsOnDemand, Place
from openpts.cli.help_order import InOrder

_COMMANDS = {
    "check": Place("openpts.cli.trace_check:check", "Read a trace, and count what is wrong with it."),
    "convert": Place("openpts.cli.trace_convert:convert", "Write a trace in another format."),
    "filter": Place(
        "openpts.cli.trace_convert:filter_", "Write a part of a trace; what stays keeps its time."
    ),
    "merge": Place("openpts.cli.trace_convert:merge", "Write several traces as one."),
}


class _WithFormats(InOrder):
    """The help ends with the formats, which Rust knows."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click calls with it
        """What can be read, and what can be written."""
        from openpts.traces import treatment  # noqa: PLC0415 the first pages of help load no command

        known = treatment.formats()
        with formatter.section("Formats that are read, found by their contents"):
            formatter.write_dl(list(known.items()))
        with formatter.section("Formats that are written"):
            formatter.write_dl([(name, known.get(name, name)) for name in treatment.outputs()])


@click.group(cls=_WithFormats, commands=CommandsOnDemand(_COMMANDS))
def trace() -> None:
    """Check and convert traces of block I/O.

    A trace is a file or several, read in the given order, also compressed (gzip, zstd, xz, bzip2) and in tar
    archives; - is standard input. Records are counted: read = accepted + skipped + damaged. Exit status 11
    means that records were damaged or lost and the others used, 12 that the trace is refused.
    """
