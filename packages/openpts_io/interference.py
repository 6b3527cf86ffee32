"""What a stream does beside others against what it does alone."""

from msgspec import Struct

from openpts.analysis.figures import Figures, counted
from openpts.vocabulary.sample import Measured

INTERFERENCE_PERCENTILE = 99.0


class Interference(Struct, frozen=True):
    """Rates, and response times that 99 % do not exceed, of the same stream alone and beside others.

    A response time is None where there are too few I/Os for it.
    """

    alone_iops: float
    beside_iops: float
    alone_p99_ns: int | None
    beside_p99_ns: int | None

    @classmethod
    def of(cls, alone: Measured, beside: Measured) -> "Interference":
        """By what was measured in both."""
        one, other = (Figures.of(counted(part), part.elapsed_ns) for part in (alone, beside))
        p99_ns = [figures.percentile_ns(INTERFERENCE_PERCENTILE) for figures in (one, other)]
        return cls(one.iops, other.iops, *p99_ns)

    @property
    def iops_factor(self) -> float | None:
        """IOPS beside others over IOPS alone."""
        return self.beside_iops / self.alone_iops if self.alone_iops else None

    @property
    def p99_factor(self) -> float | None:
        """The response time beside others over that alone."""
        if not self.alone_p99_ns or self.beside_p99_ns is None:
            return None
        return self.beside_p99_ns / self.alone_p99_ns
