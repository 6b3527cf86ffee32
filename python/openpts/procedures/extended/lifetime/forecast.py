"""A straight line through measured points, and how far a further point may lie from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from openpts.analysis.student_t import critical_value

FEWEST_POINTS = 3


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a line reaches a value: most likely, and the ends of the interval.

    ``latest`` is None where the line may as well never reach it.
    """

    earliest: float
    likely: float
    latest: float | None


@dataclass(frozen=True, slots=True)
class FittedLine:
    """Least squares: ``y = mean_y + slope (x - mean_x)``; ``deviation`` is that of the residuals.

    Forecasts are valid if further points scatter about the same line independently.
    """

    count: int
    mean_x: float
    mean_y: float
    slope: float
    spread_x: float
    deviation: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Self | None:
        """The line; None for fewer than three points, or if all have the same x."""
        count = len(points)
        if count < FEWEST_POINTS:
            return None
        mean_x = math.fsum(x for x, _ in points) / count
        mean_y = math.fsum(y for _, y in points) / count
        spread_x = math.fsum((x - mean_x) ** 2 for x, _ in points)
        if spread_x == 0:
            return None
        slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread_x
        left = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
        return cls(count, mean_x, mean_y, slope, spread_x, math.sqrt(left / (count - 2)))

    def at(self, x: float) -> float:
        """The line itself."""
        return self.mean_y + self.slope * (x - self.mean_x)

    def interval(self, x: float, confidence: float) -> tuple[float, float]:
        """Prediction interval: a single further point at x lies in it with that probability."""
        variance = 1 + 1 / self.count + (x - self.mean_x) ** 2 / self.spread_x
        half = critical_value(confidence, self.count - 2) * self.deviation * math.sqrt(variance)
        return self.at(x) - half, self.at(x) + half

    def crossing(self, y: float, confidence: float) -> Crossing | None:
        """Where a rising line reaches y; the interval's ends are where the prediction interval's do.

        None for a line that does not rise.
        """
        if self.slope <= 0:
            return None
        scatter = (critical_value(confidence, self.count - 2) * self.deviation) ** 2
        above = y - self.mean_y
        # (slope u - above)^2 = scatter (1 + 1/n + u^2 / spread), solved for u = x - mean
        square = self.slope**2 - scatter / self.spread_x
        rest = above**2 - scatter * (1 + 1 / self.count)
        likely = self.mean_x + above / self.slope
        discriminant = (self.slope * above) ** 2 - square * rest
        if square <= 0:
            return Crossing(self._earliest(above, square, rest, discriminant), likely, None)
        root = math.sqrt(max(0.0, discriminant))
        middle = self.slope * above
        return Crossing(
            self.mean_x + (middle - root) / square, likely, self.mean_x + (middle + root) / square
        )

    def _earliest(self, above: float, square: float, rest: float, discriminant: float) -> float:
        """Where the interval's upper end reaches the value if its lower end never does."""
        middle = self.slope * above
        if square == 0:
            return self.mean_x + rest / (2 * middle) if middle else -math.inf
        if discriminant < 0:
            return -math.inf
        return self.mean_x + (middle - math.sqrt(discriminant)) / square
