"""How the command line ends where it can't do what was asked: a line for each reason, and what would help."""

import json
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from openpts.cli.first_pages import example_of
from openpts.cli.terminal import wrapped

_USAGE_EXIT_CODE = 2


def fail(*reasons: str, exit_code: int, as_json: bool, hints: Sequence[str] = ()) -> NoReturn:
    """End with a line on stderr for each reason; with ``--json`` the same as an object on stdout.

    Hints stand below the reasons, for those who type.
    """
    lines = [" ".join(reason.split()) for reason in reasons]
    for line in lines:
        click.echo(wrapped(f"openpts: {line}", sys.stderr), err=True)
    for hint in hints:
        click.echo(wrapped(f"  {hint}", sys.stderr, indent="    "), err=True)
    if as_json:
        click.echo(json.dumps({"error": "; ".join(lines), "exit_code": exit_code}))
    sys.exit(exit_code)


def fail_for_lack_of_a_command(error: click.exceptions.NoArgsIsHelpError) -> NoReturn:
    """Show the help of a group that was typed alone, as ``--help`` does, and end with what is missing."""
    click.echo(error.format_message())
    example = f"Example: {example_of(error.ctx.command_path)}"
    fail("Missing command.", exit_code=_USAGE_EXIT_CODE, as_json=False, hints=(example,))


def fail_for_words(error: click.ClickException, *, as_json: bool) -> NoReturn:
    """End for words that click refuses: with the nearest ones that there are, or usage and example."""
    reason = error.format_message()
    hints: tuple[str, ...] = ()
    match error:
        case click.NoSuchCommand(ctx=click.Context() as context) if homes := _homes(error, context):
            reason = f"{error.message} Did you mean {', '.join(homes)}?"
        case (
            click.NoSuchCommand(ctx=click.Context() as context)
            | click.NoSuchOption(ctx=click.Context() as context)
        ):
            reason = f"{reason} `{context.command_path} --help` lists all."
            hints = () if error.possibilities else _how_to_call(context)
        case click.MissingParameter(ctx=click.Context() as context):
            hints = _how_to_call(context)
        case click.BadParameter():
            pass  # the reason names the option and what it takes
        case click.UsageError(ctx=click.Context() as context):
            hints = _how_to_call(context)
    fail(reason, exit_code=_USAGE_EXIT_CODE, as_json=as_json, hints=hints)


def _how_to_call(context: click.Context) -> tuple[str, ...]:
    pieces = context.command.collect_usage_pieces(context)
    usage = " ".join([context.command_path, *pieces])
    return (f"Usage: {usage}", f"Example: {example_of(context.command_path)}")


def _homes(error: click.NoSuchCommand, context: click.Context) -> list[str]:
    """Where a word that is no command of openpts is one: ``openpts run iops`` for ``iops``."""
    root = context.command
    if context.parent is not None or not isinstance(root, click.Group):
        return []
    groups = [name for name in root.commands if _has(root.commands[name], error.command_name)]
    return [f"`{context.command_path} {name} {error.command_name}`" for name in groups]


def _has(command: click.Command, name: str) -> bool:
    return isinstance(command, click.Group) and name in command.commands
