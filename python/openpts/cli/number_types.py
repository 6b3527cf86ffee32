"""Types of numbers on the command line: finite ones, and a rated endurance as data sheets print it."""

import math
from typing import Any

import click

from openpts.errors import UsageError
from openpts.units import TB, parse_size_bytes


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click has it; "nan" and "inf" are no numbers here."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class Percent(FiniteRange):
    """A range of finite numbers in per cent; the sign may be there or not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        return super().convert(value.removesuffix("%") if isinstance(value, str) else value, param, ctx)


class Endurance(click.ParamType[int]):
    """Bytes from ``1.2PB``; a number alone counts terabytes."""

    name = "TBW"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The amount in bytes, above 0."""
        text = str(value)
        try:
            endurance_bytes = round(float(text) * TB)
        except (ValueError, OverflowError):
            try:
                endurance_bytes = parse_size_bytes(text)
            except UsageError as error:
                self.fail(str(error), param, ctx)
        if endurance_bytes <= 0:
            self.fail(
                f"invalid endurance {text!r}: write for example 1.2PB, or 1200 for terabytes", param, ctx
            )
        return endurance_bytes
