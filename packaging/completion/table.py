"""Prints the table that completions read: path, word, what it takes, and its help, by tabs.

What a word takes is ``command``, ``-`` (nothing), ``?`` (anything), or its values, of which ``FILE`` is any
file, and ``DRIVE``, ``RUN`` and ``MEASURE`` are what ``found.sh`` finds. A path's own row, without a word, is
what its arguments take.
"""

import re
from collections.abc import Iterator

import click

from openpts.cli.main import cli
from openpts.parameters.shipped_plans import shipped_names
from openpts_check.purpose import purpose_names
from openpts_practice.rows.profiles import BENCHMARKS
from openpts_sim.presets import shipped_presets

PRESETS = [preset.name for preset in shipped_presets()]
TARGETS = ["DRIVE", "FILE", *(f"sim:{name}" for name in PRESETS)]
# By what help calls a value; by path and name where help says less.
VALUES = {
    **dict.fromkeys(("TARGET", "DEVICE", "DRIVE"), TARGETS),
    **dict.fromkeys(("FILE", "DIR", "FOLDER"), ("FILE",)),
    "NODE": ["DRIVE"],
    "RUN": ["RUN"],
    "LIMIT": ["MEASURE"],
    "PRESET": ["FILE", *PRESETS],
    "PURPOSE": [*purpose_names(), "endurance"],
    "run benchmarks LISTED": [*BENCHMARKS],
    "PLAN_PATH": shipped_names(),
    "plan LISTED": shipped_names(),
    "resume FOLDER": ["RUN"],
}


def taken(parameter: click.Parameter, path: str) -> str:
    """The values of an option or an argument."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return "-"
    if isinstance(parameter.type, click.Choice):
        return " ".join(map(str, parameter.type.choices))
    name = (parameter.name or "").upper()
    known = f"{path} {name}"
    kinds = (
        [known] if known in VALUES else [name, *re.sub(r"[][.]| .*", "", parameter.metavar or "").split("|")]
    )
    values = [value for kind in dict.fromkeys(kinds) for value in VALUES.get(kind, ())]
    is_file = isinstance(parameter.type, click.Path) or isinstance(parameter, click.Argument)
    return " ".join(dict.fromkeys(values)) or ("FILE" if is_file else "?")


def rows(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a command and of all below it."""
    arguments: dict[str, None] = {}
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            text = " ".join((parameter.help or "").split()).split(". ")[0]
            yield from (
                (path, name, taken(parameter, path), text)
                for name in (*parameter.opts, *parameter.secondary_opts)
            )
        elif isinstance(parameter, click.Argument):
            arguments |= dict.fromkeys(taken(parameter, path).split())
    if arguments:
        yield path, "", " ".join(arguments), ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.commands[name]
            if not below.hidden:
                yield path, name, "command", below.get_short_help_str(80)
                yield from rows(below, click.Context(below, context, name), f"{path} {name}".strip())


if __name__ == "__main__":
    for row in rows(cli, click.Context(cli, **cli.context_settings), ""):
        print("\t".join(row))  # noqa: T201 its output is the file
