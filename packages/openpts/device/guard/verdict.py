"""What the guard would say of a target now."""

from enum import StrEnum

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
    """``refusals`` are those of the guard's rules; ``unknown`` is the reason why they can't be judged."""

    refusals: tuple[Refusal, ...] = ()
    unknown: str = ""

    @property
    def safety(self) -> Safety:
        """A refusal that is known outweighs what isn't."""
        if self.refusals:
            return Safety.REFUSED
        return Safety.UNKNOWN if self.unknown else Safety.FREE

    @property
    def reason(self) -> str:
        """The first refusal, or why it is unknown; empty for a free drive."""
        return str(self.refusals[0]) if self.refusals else self.unknown


def verdict_on(target: Target, roots: SystemRoots) -> GuardVerdict:
    """What the guard would say of a target now, but for the operator's word; opens it for reading at most."""
    try:
        return GuardVerdict(check(target, roots))
    except (RefusedError, TargetError) as error:
        return GuardVerdict(unknown=str(error))
