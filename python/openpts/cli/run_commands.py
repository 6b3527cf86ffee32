"""`openpts run` and its subcommands: single tests, and the whole suite."""

from collections.abc import Sequence

import click

from openpts.cli.run import run
from openpts.cli.suite import run_all

run.add_command(run_all)

__all__ = ["refuse_test_words", "run"]


def refuse_test_words(test_words: Sequence[str], target: str) -> None:
    """Raise click's error for words that the test does not take, before a run on ``target`` is planned."""
    name, *words = test_words
    at = words.index("--") if "--" in words else len(words)
    parent = click.Context(run, info_name="openpts run")
    context = run.commands[name].make_context(name, [*words[:at], target, *words[at:]], parent=parent)
    others = [word for word in context.params["targets"] if word != target]
    if others:
        raise click.UsageError(f"{others[0]}: the drive of a run is named once, by its slot or its target")
