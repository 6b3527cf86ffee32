"""A group whose help lists its commands in the order in which they were added."""

import click


class InOrder(click.Group):
    """Tests stand in the order of the specification."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click asks with it
        """Names, first added first."""
        return list(self.commands)
