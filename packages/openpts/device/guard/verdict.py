"""What the guard would say of a target now."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Self

from msgspec import Struct

from openpts.device.guard.guard import check
from openpts.device.guard.rules import Refusal
from openpts.device.targets.target import Target
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots


class Safety(StrEnum):
    """Whether the guard would hand out a drive, once it is confirmed."""

    FREE = "free"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class GuardVerdict(Struct, frozen=True):
    """``refusals`` are those of the guard's rules; ``reason`` is the first, or why they can't be judged."""

    verdict: Safety
    reason: str | None
    refusals: tuple[Refusal, ...]

    @classmethod
    def of(cls, refusals: tuple[Refusal, ...] = (), unknown: str = "") -> Self:
        """A refusal that is known outweighs what is ``unknown``."""
        if refusals:
            return cls(Safety.REFUSED, str(refusals[0]), refusals)
        return cls(Safety.UNKNOWN, unknown, ()) if unknown else cls(Safety.FREE, None, ())

    def lines(self) -> Iterator[str]:
        """All refusals that a run would end with now, each with its remedy."""
        match self.verdict:
            case Safety.REFUSED:
                for refusal in self.refusals:
                    yield f"guard       a run would be {refusal}"
            case Safety.UNKNOWN:
                yield f"guard       unknown: {self.reason}"
            case Safety.FREE:
                yield "guard       allows the target as it is now"


def verdict_on(target: Target, roots: SystemRoots) -> GuardVerdict:
    """What the guard would say of a target now, but for the operator's word; opens it for reading at most."""
    try:
        return GuardVerdict.of(check(target, roots))
    except (RefusedError, TargetError) as error:
        return GuardVerdict.of(unknown=str(error))
