"""Numbers of the command line that are numbers: click lets "nan" through every range."""

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click has it; "nan" and "inf" are no numbers here."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number
