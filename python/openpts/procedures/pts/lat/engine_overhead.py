"""The engine's own share of the averages of a latency test."""

from dataclasses import dataclass

from openpts.procedures.shared.rounds.results import RoundTestResults
from openpts.vocabulary.engine_overhead import LIMIT_PCT
from openpts.vocabulary.verdict import RoundPoint


@dataclass(frozen=True, slots=True)
class EngineOverhead:
    """What ``own_ns`` is of the averages over the window; ``shares_pct`` by test point, the largest first."""

    own_ns: float
    shares_pct: dict[RoundPoint, float]

    @property
    def largest(self) -> tuple[RoundPoint, float]:
        """Where it is the most, and how much."""
        return next(iter(self.shares_pct.items()))

    @property
    def smallest_pct(self) -> float:
        """Where it is the least."""
        return min(self.shares_pct.values())

    @property
    def beyond_limit(self) -> tuple[RoundPoint, ...]:
        """The points where it is more than 5 %."""
        return tuple(point for point, share_pct in self.shares_pct.items() if share_pct > LIMIT_PCT)


def engine_overhead(own_ns: float | None, results: RoundTestResults) -> EngineOverhead | None:
    """None where the engine's own latency is not known, or nothing was averaged."""
    averages = {point: cell.mean_latency_ns for point, cell in results.cells.items() if cell.mean_latency_ns}
    if own_ns is None or not averages:
        return None
    shares = {point: 100 * own_ns / art_ns for point, art_ns in averages.items()}
    return EngineOverhead(own_ns, dict(sorted(shares.items(), key=lambda one: -one[1])))
