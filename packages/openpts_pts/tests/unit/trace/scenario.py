"""Made-up drives that settle early, late or never, and the comparison of what is asked of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from openpts.units import GB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.conformance.catalogue import PTS
from tests.support.player import Drive, Played, Rate, mean_block_bytes

CLASSES: Final = ("enterprise", "client")
CAPACITY_BYTES: Final = 1600 * GB
BYTES_PER_S: Final = 500 * 10**6


@dataclass(frozen=True)
class Trajectory:
    """How a figure goes from round to round, and the round at which 2.1.24 finds it steady, if it does."""

    name: str
    of_round: Callable[[int], float]
    steady_round: int | None

    @property
    def last_round(self) -> int:
        """Rounds that a test runs: 25 if it never finds a steady window."""
        return self.steady_round or 25

    def __str__(self) -> str:
        return self.name


# worked out by hand: rounds 3 to 7 still have a range of 24.5 % of their average
_SETTLING: Final = (200, 150, 125, 105, 101, 100, 99, 100)

STEADY: Final = Trajectory("steady from the first round", lambda number: 1, 5)
SETTLES: Final = Trajectory(
    "settles in round 8", lambda number: _SETTLING[min(number, len(_SETTLING)) - 1] / 100, 8
)
NEVER: Final = Trajectory("never steady", lambda number: 1 + number % 2, None)
COURSES: Final = (STEADY, SETTLES, NEVER)


def play(
    name: str, drive_class: str, iops: Rate, capacity_bytes: int = CAPACITY_BYTES, **changed: Any
) -> Played:
    """Play a test with its standard conditions, but for those that are changed."""
    test = PTS[name]
    conditions = replace(test.standard_conditions(DriveClass(drive_class), 1), **changed)
    return Drive(capacity_bytes, iops).play(test.script(conditions, capacity_bytes))


def ended(played: Played) -> list[tuple[int | None, int]]:
    """The steady round, or None, and the last round of each cycle."""
    return [(outcome.steady_round, outcome.last_round) for outcome in played.outcomes]


def at_bandwidth(stimulus: Stimulus) -> float:
    """IOPS at which a stimulus moves 500 MB/s."""
    return float(BYTES_PER_S / mean_block_bytes(stimulus))


def tracked_by(stimulus: Stimulus, wanted: Mapping[str, Any]) -> bool:
    """Whether a stimulus is the one that a table's ``steady_when`` names."""
    return (
        stimulus.random_pct == {"RND": 100, "SEQ": 0}[wanted["order"]]
        and stimulus.block_size_bytes == wanted["block_kib"] * 1024
        and f"{stimulus.operations.read}/{stimulus.operations.write}" == wanted["rw"]
    )


def settling(course: Trajectory, phase: Phase) -> Rate:
    """The rate of a course in one part, and a constant one elsewhere."""

    def iops(stimulus: Stimulus, here: Phase, number: int) -> float:
        return at_bandwidth(stimulus) * (course.of_round(number) if here is phase else 1)

    return iops


def assert_same(actual: list[str], expected: list[str]) -> None:
    """Compare two lists of many lines, and show no more than the first difference with what is around it."""
    if actual == expected:
        return
    pairs = zip(actual, expected, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(actual), len(expected)))
    around = slice(max(0, at - 2), at + 3)
    raise AssertionError(
        f"line {at + 1} of {len(actual)} asked for, {len(expected)} specified\n"
        + "asked for:\n  "
        + "\n  ".join(actual[around])
        + "\nspecified:\n  "
        + "\n  ".join(expected[around])
    )
