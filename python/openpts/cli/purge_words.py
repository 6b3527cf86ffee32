"""What an operator says of a purge, turned into a choice of methods that there are."""

from openpts.device.purge.methods import method_named
from openpts.errors import UsageError
from openpts.vocabulary.purge_choice import PurgeChoice


def purge_choice(text: str) -> PurgeChoice:
    """The choice that a text means. Raises UsageError where it makes no sense or names no method."""
    try:
        choice = PurgeChoice.parse(text)
    except ValueError as error:
        raise UsageError(f"purge: {error}") from error
    for name in choice.methods:
        method_named(name)
    return choice
