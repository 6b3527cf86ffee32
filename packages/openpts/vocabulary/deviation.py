"""The ledger's entry: one thing that a run does otherwise than the specification (PTS 1.1)."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from openpts.vocabulary.phase import StepPlace


class Deviation(Struct, frozen=True):
    """A departure from a requirement, with the value asked for and the one used.

    ``rule_id`` is the requirement's ID in docs/conformance.md; ``clause`` its place in the specification.
    ``steps``: in how many steps it was, where it is not of the entire run; ``used`` is of the worst of them.
    """

    rule_id: str
    clause: str
    required: str
    used: str
    effect: str
    steps: int = 0

    @property
    def kind(self) -> "Deviation":
        """What a ledger has once: the entry, or where it is of steps what is the same in all of them."""
        return replace(self, used="", steps=0) if self.steps else self


class StepDeviation(Struct, frozen=True):
    """A deviation in one step; of several of a kind the one of the largest ``extent`` is the worst."""

    place: StepPlace
    entry: Deviation
    extent: float


def ledger_of(found: Iterable[Deviation | StepDeviation]) -> tuple[Deviation, ...]:
    """The entries in their order; steps that deviate alike are one, in the place of the first."""
    kinds: dict[Deviation, list[StepDeviation]] = {}
    entries: list[Deviation | list[StepDeviation]] = []
    for one in found:
        if isinstance(one, Deviation):
            entries.append(one)
        elif one.entry.kind in kinds:
            kinds[one.entry.kind].append(one)
        else:
            entries.append(kinds.setdefault(one.entry.kind, [one]))
    return tuple(one if isinstance(one, Deviation) else _merged(one) for one in entries)


def _merged(alike: Sequence[StepDeviation]) -> Deviation:
    """A step that was carried out again counts once."""
    worst = max(alike, key=lambda one: one.extent).entry
    steps = len({one.place for one in alike})
    if steps == 1:
        return worst
    used = f"{steps:,} steps, {alike[0].place} to {alike[-1].place}; worst: {worst.used}"
    return replace(worst, used=used, steps=steps)
