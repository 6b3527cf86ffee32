"""Prints the table that completions read: path, word, what it takes, and its help, by tabs.

What a word takes is ``command``, ``-`` (nothing), ``?`` (anything), or its values, of which ``FILE`` is any
file. A path's own row, without a word, is what its arguments take.
"""

from collections.abc import Iterator

import click

from openpts.cli.main import cli
from openpts.simulation.presets import shipped_presets

TARGETS = {"target", "targets", "node", "drive", "devices"}
PRESETS = {"preset", "preset_argument"}
PRESET_NAMES = [preset.name for preset in shipped_presets()]


def taken(parameter: click.Parameter) -> str:
    """The values of an option or an argument."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return "-"
    if isinstance(parameter.type, click.Choice):
        return " ".join(map(str, parameter.type.choices))
    if parameter.name in TARGETS:
        return " ".join(["FILE", *(f"sim:{name}" for name in PRESET_NAMES)])
    if parameter.name in PRESETS:
        return " ".join(["FILE", *PRESET_NAMES])
    is_file = isinstance(parameter.type, click.Path) or isinstance(parameter, click.Argument)
    return "FILE" if is_file else "?"


def rows(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a command and of all below it."""
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            text = " ".join((parameter.help or "").split()).split(". ")[0]
            yield from (
                (path, name, taken(parameter), text) for name in (*parameter.opts, *parameter.secondary_opts)
            )
        elif isinstance(parameter, click.Argument):
            yield path, "", taken(parameter), ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.commands[name]
            if not below.hidden:
                yield path, name, "command", below.get_short_help_str(80)
                yield from rows(below, click.Context(below, context, name), f"{path} {name}".strip())


if __name__ == "__main__":
    for row in rows(cli, click.Context(cli, **cli.context_settings), ""):
        print("\t".join(row))  # noqa: T201 its output is the file
