"""`openpts trace`: what is done with traces of block I/O."""

from typing import Final

import click

from openpts.cli.commands_on_demand import CommandsOnDemand, OnDemandInOrder, Place

_COMMANDS: Final = {
    "check": Place("openpts_traces.cli.trace_check:check", "Read a trace, and count what is wrong with it."),
    "convert": Place("openpts_traces.cli.trace_convert:convert", "Write a trace in another format."),
    "filter": Place(
        "openpts_traces.cli.trace_convert:filter_", "Write a part of a trace; what stays keeps its time."
    ),
    "merge": Place("openpts_traces.cli.trace_convert:merge", "Write several traces as one."),
    "characterize": Place(
        "openpts_traces.cli.trace_characterize:characterize",
        "Show what a trace is like, or how far two are apart.",
    ),
    "synthesize": Place(
        "openpts_traces.cli.trace_synthesize:synthesize",
        "Make a workload that is like a trace, as a fio job file.",
    ),
}
_OTHER_NAMES: Final = {"characterise": "characterize", "synthesise": "synthesize"}


class _Commands(OnDemandInOrder):
    """Commands that may be spelled in two ways, and are listed in one; the help ends with what is known."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of that name, in either spelling."""
        return super().get_command(context, _OTHER_NAMES.get(name, name))

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

    A trace is a file or several, read in the given order, also compressed (gzip, zstd, xz, bzip2) and in tar
    archives; - is standard input. Records are counted: read = accepted + skipped + damaged. Exit status 11
    means that records were damaged or lost and the others used, 12 that the trace is refused.
    """
