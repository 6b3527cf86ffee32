"""The option that names runs of a baseline, as shells expand them: ``--baseline old-*``."""

from pathlib import Path
from typing import Final

import click

from openpts.cli.help_order import Decorator

BASELINE: Final = "--baseline"


class WithBaseline(click.Command):
    """All words behind --baseline are runs of it, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the option in front of each of its words, as click has it."""
        spread: list[str] = []
        of_baseline = False
        for word in args:
            if word.startswith("-"):
                of_baseline = word == BASELINE
                if of_baseline:
                    continue
            spread += [BASELINE, word] if of_baseline else [word]
        return super().parse_args(ctx, [*spread, BASELINE] if args[-1:] == [BASELINE] else spread)


def baseline_option(help_text: str) -> Decorator:
    """The option of a command that is one ``WithBaseline``."""
    return click.option(
        BASELINE,
        metavar="RUN...",
        multiple=True,
        type=click.Path(path_type=Path),
        help=f"{help_text}; all words up to the next option.",
    )
