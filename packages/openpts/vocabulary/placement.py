"""Where in the active range random accesses go (PTS 6(4), 6(5), 13.2)."""

from msgspec import Struct


class Uniform(Struct, frozen=True, tag="uniform"):
    """Anywhere, with equal probability."""


class Zone(Struct, frozen=True):
    """An access range: it gets ``weight`` of all zones' weights and is ``range_pct`` of the active range."""

    weight: int
    range_pct: float


class Zones(Struct, frozen=True, tag="zones"):
    """Access ranges one behind the other from the start of the active range, uniform inside each."""

    zones: tuple[Zone, ...]


class Zipf(Struct, frozen=True, tag="zipf"):
    """The place of rank r is accessed in proportion to r ** -theta; ranks are scattered over the range."""

    theta: float


class Pareto(Struct, frozen=True, tag="pareto"):
    """A share ``h`` of the places, below 0.5, gets a share ``1 - h`` of the accesses; self-similar."""

    h: float


class Normal(Struct, frozen=True, tag="normal"):
    """Around a hot spot; middle and standard deviation in per cent of the active range."""

    mean_pct: float
    deviation_pct: float


class Segments(Struct, frozen=True, tag="segments"):
    """Uniform over equally sized LBA segments that are spread at random over the range (PTS 6(5))."""

    count: int
    segment_bytes: int


class UniqueLbas(Struct, frozen=True, tag="unique_lbas"):
    """Uniform over a fixed random choice of places: the active range amount (PTS 6(4))."""

    amount_bytes: int


Placement = Uniform | Zones | Zipf | Pareto | Normal | Segments | UniqueLbas
