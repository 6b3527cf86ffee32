"""Writes docs/command-line.md from the commands themselves, so that the manual is always current."""

from pathlib import Path

import click

from openpts.cli.main import cli
from openpts.cli.options import EVERY_OPTION

HEAD = """\
# Command line

This page is the output of `--help` of every command, and of `--help-all` where a command has one.

`openpts` alone shows what to try first and ends with 0. A group alone, such as `openpts run`, prints its
help on standard output and the missing command on standard error, and ends with 2, so that a script
notices. A missing or invalid word ends with 2 as well; the reason is followed by usage and an example, or
by the nearest known word. At a terminal long reasons are wrapped between words; in a pipe each is one
line.

**Completion.** The [Debian package](install.md) brings it, with the names of drives, runs and measures.
Elsewhere bash, zsh and fish complete commands and options after one line in the shell's start-up file:

    eval "$(_OPENPTS_COMPLETE=bash_source openpts)"     # ~/.bashrc
    eval "$(_OPENPTS_COMPLETE=zsh_source openpts)"      # ~/.zshrc
    _OPENPTS_COMPLETE=fish_source openpts | source      # ~/.config/fish/config.fish
"""


def sections(command: click.Command, context: click.Context) -> list[str]:
    """The help of a command and of all below it."""
    text = [f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.commands[name]
            text += sections(below, click.Context(below, info_name=name, parent=context))
    return text


def main() -> None:
    """Write the page."""
    context = click.Context(cli, info_name="openpts", terminal_width=100)
    context.meta[EVERY_OPTION] = True
    page = "\n".join([HEAD, *sections(cli, context)])
    Path(__file__).with_name("command-line.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
