"""What the guard has against a target, as lines and for machines."""

from collections.abc import Iterator
from typing import Self

from msgspec import Struct

from openpts.device.guard.verdict import GuardVerdict, Safety


def verdict_lines(verdict: GuardVerdict) -> Iterator[str]:
    """All refusals that a run would end with now, each with its remedy."""
    match verdict.safety:
        case Safety.REFUSED:
            for refusal in verdict.refusals:
                yield f"guard       a run would be {refusal}"
        case Safety.UNKNOWN:
            yield f"guard       unknown: {verdict.unknown}"
        case Safety.FREE:
            yield "guard       allows the target as it is now"


class FoundRefusal(Struct, frozen=True):
    """A rule of the guard, what was found, and what the operator can do."""

    rule: str
    evidence: str
    remedy: str


class SafetyVerdict(Struct, frozen=True):
    """Whether a run would be let at the target; ``reason`` says why not, or why that is unknown."""

    verdict: Safety
    reason: str | None
    refusals: tuple[FoundRefusal, ...]

    @classmethod
    def of(cls, verdict: GuardVerdict) -> Self:
        """The same as the lines say."""
        refusals = tuple(FoundRefusal(one.rule_id, one.evidence, one.remedy) for one in verdict.refusals)
        return cls(verdict.safety, verdict.reason or None, refusals)
