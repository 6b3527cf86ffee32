"""Uncertainty of a figure by the GUM (JCGM 100:2008): its components and what they come to."""

import math
from typing import Any, Final

from msgspec import Struct

CONFIDENCE: Final = 0.95


class Component(Struct, frozen=True):
    """One source of uncertainty: a standard uncertainty in the figure's unit, with its degrees of freedom.

    ``rectangular``: of a bound, and not of a scatter.
    """

    name: str
    standard: float
    degrees_of_freedom: float = math.inf
    rectangular: bool = False


class Uncertainty(Struct, frozen=True):
    """A figure's budget: combined, with effective degrees of freedom, and expanded at 95 %.

    ``reason`` says why none is stated; empty where one is. ``alike`` is the number of figures that can't be
    distinguished, of which this one was chosen. ``spans`` are from and to of what the figure is of, on the
    engine's clock. ``mark`` says what else took part in the figure; empty if nothing did.
    """

    components: tuple[Component, ...] = ()
    reason: str = ""
    alike: int = 1
    standard: float = 0.0
    degrees_of_freedom: float = math.inf
    coverage_factor: float = 0.0
    spans: tuple[tuple[int, int], ...] = ()
    mark: str = ""

    @property
    def expanded(self) -> float | None:
        """Half of the interval that has the value in 95 % of all cases; None where none is stated."""
        return None if self.reason else self.coverage_factor * self.standard

    @property
    def text(self) -> str:
        """``± 1,200``: two significant digits (GUM 7.2.6); empty where none is stated."""
        return "" if self.expanded is None else f"± {two_digits(self.expanded)}"

    def figures(self) -> dict[str, Any] | None:
        """JSON-ready; degrees of freedom are None where they are infinite."""
        if self.reason:
            return None
        return {
            "standard": self.standard,
            "expanded": self.expanded,
            "coverage_factor": self.coverage_factor,
            "degrees_of_freedom": _finite(self.degrees_of_freedom),
            "components": [
                {
                    "name": one.name,
                    "standard": one.standard,
                    "degrees_of_freedom": _finite(one.degrees_of_freedom),
                }
                for one in self.components
            ],
        }


def two_digits(value: float) -> str:
    """A number of two significant digits, with thousands commas and without an exponent."""
    return rounded_like(value, value)


def rounded_like(value: float, uncertainty: float) -> str:
    """A number that ends where an uncertainty of two significant digits does (GUM 7.2.6)."""
    if not uncertainty:
        return f"{value:,g}"
    decimals = 1 - math.floor(math.log10(abs(uncertainty)))
    rounded = round(uncertainty, decimals)
    decimals = 1 - math.floor(math.log10(abs(rounded)))  # 0.0996 has become 0.10
    return f"{round(value, decimals) + 0.0:,.{max(0, decimals)}f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
