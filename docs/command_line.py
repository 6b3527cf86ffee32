"""Writes docs/command-line.md from the commands themselves, so that the manual can't lag behind."""

from pathlib import Path

import click

from openpts.cli.main import cli

HEAD = "# Command line\n\nThis page is what `openpts help` prints.\n"


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
    page = "\n".join([HEAD, *sections(cli, context)])
    Path(__file__).with_name("command-line.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
