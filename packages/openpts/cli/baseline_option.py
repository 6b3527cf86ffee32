"""The option that names runs of a baseline, as shells expand them: ``--baseline old-*``."""

from typing import Any, Final

import click

from openpts.cli.options import PATH, option

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


def baseline_option(help_text: str) -> Any:
    """The option of a command that is one ``WithBaseline``."""
    text = f"{help_text}; all words up to the next option."
    return option(f"{BASELINE} RUN...", text, PATH, name="baseline", multiple=True)
