"""What a population shows, as ``--json`` prints it and as its pages have it."""

from msgspec import Struct

from openpts.vocabulary.better import Better
from openpts.vocabulary.document import Document
from openpts_many.population.outliers import FEWEST


class DriveValue(Struct, frozen=True):
    """A drive's value: the median of its runs. ``off`` is its distance from that of all, or of its group."""

    drive: str
    slot: str | None
    host: str
    value: float
    runs: int
    off: float
    link: str | None
    started_at: str


class NamedValue(Struct, frozen=True):
    """A value off the others; ``beside`` are by how much the drives in the slots beside it are off.

    ``chance``: of reports on ordinary drives so many, at most, have a drive as far off in any value.
    """

    drive: str
    slot: str | None
    host: str
    value: float
    off: float
    chance: float
    beside: dict[str, float]


class Effect(Struct, frozen=True):
    """A value goes with a path; ``medians`` by group, or ``end_to_end``: the last third off the first.

    ``chance``: of reports without such an effect so many, at most, show one like it.
    """

    path: str
    chance: float
    medians: dict[str, float]
    end_to_end: float | None


class ValueFigures(Struct, frozen=True):
    """A value over the drives, in its order.

    Distances (``off``, ``end_to_end``), ``spread`` and what runs of a drive and drives differ by are in
    ``distance_unit``: per cent of the median, of temperatures K. ``named_below`` and ``named_above`` are None
    where nothing can be named, for the ``reason``. ``within`` is the path by whose medians drives are judged.
    """

    key: str
    label: str
    unit: str
    better: Better
    distance_unit: str
    median: float
    spread: float
    between_drives: float | None
    between_runs: float | None
    named_below: float | None
    named_above: float | None
    within: str | None
    reason: str | None
    drives: list[DriveValue]
    named: list[NamedValue]
    suspected: list[NamedValue]
    effects: list[Effect]

    @property
    def differs(self) -> bool:
        """Whether drives differ in the value at all: a plot of equal values shows nothing."""
        return self.drives[0].value < self.drives[-1].value

    @property
    def title(self) -> str:
        """Name and unit."""
        has_unit = not self.unit or self.label.endswith(self.unit)
        return self.label if has_unit else f"{self.label} ({self.unit})"


class TestFigures(Struct, frozen=True):
    """A population of one test; ``number`` is 0 for the only one of it.

    Confidences are of 90 % of the population, shares with 95 % confidence.
    """

    test: str
    number: int
    title: str
    kind: list[str]
    condition: str | None
    drives: int
    paths: list[str]
    confidence_beyond_one_end: float
    confidence_between_ends: float
    median_rank: int | None
    missed_share: float
    values: list[ValueFigures]

    @property
    def is_judged(self) -> bool:
        """Whether there are drives enough for one to stand out."""
        return self.drives >= FEWEST

    @property
    def id(self) -> str:
        """Name of the population in page and table IDs."""
        return f"{self.test}-{self.number}" if self.number else self.test


class LeftOut(Struct, frozen=True):
    """A run without a part in the population."""

    run: str
    reason: str


class PopulationFigures(Document, frozen=True, kw_only=True, tag="openpts.population/1"):
    """How the drives differ, for each test; chances and shares are from 0 to 1.

    A drive that is off by less than ``least_difference``, in per cent, of temperatures in K, is not named.
    """

    simulated: bool
    false_alarm: float
    least_difference: float
    drives: list[str]
    populations: list[TestFigures]
    left_out: list[LeftOut]
    reports: tuple[str, ...] = ()
