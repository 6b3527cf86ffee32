"""What cuts show, by the state of the write cache in which they hit the drive."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from openpts.vocabulary.power_cut import LOSSES, Cut, DataLoss

CONFIDENCE: Final = 0.95


class CacheState(Struct, frozen=True):
    """The cuts in one state of the cache; ``name`` is that of the drive, ``volatile`` what it means."""

    name: str
    volatile: bool
    cuts: tuple[Cut, ...]

    @property
    def accused(self) -> int:
        """Cuts that took something that had to survive."""
        return sum(cut.accused for cut in self.cuts)

    @property
    def first_reads_ns(self) -> tuple[int, ...]:
        """From power back to the first read, of each cut after which one succeeded."""
        return tuple(cut.first_read_ns for cut in self.cuts if cut.first_read_ns is not None)

    def count(self, loss: str) -> int:
        """Accusations of one kind."""
        return sum(cut.losses.get(loss, 0) for cut in self.cuts)

    def total(self, figure: Callable[[Cut], int]) -> int:
        """The sum of a figure over all cuts."""
        return sum(figure(cut) for cut in self.cuts)

    @property
    def accusations(self) -> tuple[tuple[int, DataLoss], ...]:
        """Data losses in the record, each with the number of its cut."""
        return tuple((cut.number, each) for cut in self.cuts for each in cut.accusations)


def states_of(cuts: Sequence[Cut]) -> tuple[CacheState, ...]:
    """The cuts by the state of the cache, in the order in which the states came."""
    names = dict.fromkeys((cut.write_cache, cut.volatile) for cut in cuts)
    return tuple(
        CacheState(
            name, volatile, tuple(cut for cut in cuts if (cut.write_cache, cut.volatile) == (name, volatile))
        )
        for name, volatile in names
    )


def excluded_rate(trials: int) -> float | None:
    """The least rate of faults that so many trials without one exclude at ``CONFIDENCE``; None without any.

    Solves (1 - rate)^trials = 1 - confidence; for many trials that is the rule of three, 3 / trials.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / trials)) if trials else None


def losses_of(state: CacheState) -> dict[str, int]:
    """Accusations by kind, in the order of ``LOSSES``, also those that there are none of."""
    return {loss: state.count(loss) for loss in LOSSES}
