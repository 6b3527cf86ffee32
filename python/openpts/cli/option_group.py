"""Options that belong together, as one decorator."""

from collections.abc import Callable
from typing import Any

Decorator = Callable[[Any], Any]


def together(*options: Decorator) -> Decorator:
    """Put the options on a command; its help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
