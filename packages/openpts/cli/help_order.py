"""Options and commands in the order in which help shows them."""

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Any], Any]


def together(*options: Decorator) -> Decorator:
    """Put the options on a command; its help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class InOrder(click.Group):
    """Tests stand in the order of the specification."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click asks with it
        """Names, first added first."""
        return list(self.commands)
