"""Every command and group of openpts, by what is typed for it."""

from collections.abc import Iterator

import click

from openpts.cli.main import cli


def all_commands(
    group: click.Group = cli, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The words behind ``openpts``, with their command; openpts itself stands behind none."""
    if group is cli:
        yield (), cli
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*words, name))
