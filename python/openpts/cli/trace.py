"""`openpts trace`: what is done with traces of block I/O."""

from typing import Final

import click

from openpts.cli.commands_on_demand import CommandsOnDemand, Place

_COMMANDS: Final = {
    "characterise": Place(
        "openpts.cli.trace_characterize:characterise", "Show what a trace is like, or how far two are apart."
    ),
    "synthesise": Place(
        "openpts.cli.trace_synthesize:synthesise", "Make a workload that is like a trace, as a fio job file."
    ),
}
_OTHER_NAMES: Final = {"characterize": "characterise", "synthesize": "synthesise"}


class _Commands(click.Group):
    """Commands that may be spelled in two ways, and are listed in one."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of that name, in either spelling."""
        return super().get_command(context, _OTHER_NAMES.get(name, name))


@click.group(
    "trace", cls=_Commands, commands=CommandsOnDemand(_COMMANDS), subcommand_metavar="COMMAND [ARGS]..."
)
def trace() -> None:
    """Work with traces of block I/O: no command here writes to a drive."""
