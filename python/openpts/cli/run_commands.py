"""`openpts run` and its subcommands: single tests, and the whole suite."""

from collections.abc import Sequence

import click

from openpts.cli.run import run
from openpts.cli.suite import run_all

run.add_command(run_all)

__all__ = ["refuse_test_words", "run"]


def refuse_test_words(test_words: Sequence[str], target: str) -> None:
    """Raise click's error for options that the test does not take, before a run on ``target`` is planned."""
    name, *words = test_words
    at = words.index("--") if "--" in words else len(words)
    parent = click.Context(run, info_name="openpts run")
    run.commands[name].make_context(name, [*words[:at], target, *words[at:]], parent=parent)
