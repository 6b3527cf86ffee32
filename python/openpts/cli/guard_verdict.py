"""What the guard has against a target, as lines and as an object for machines."""

from collections.abc import Iterator
from typing import Any

from openpts.device.listing.drive_listing import Safety, Verdict


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """All refusals that a run would end with now, each with its remedy."""
    match verdict.safety:
        case Safety.REFUSED:
            for refusal in verdict.refusals:
                yield f"guard       a run would be {refusal}"
        case Safety.UNKNOWN:
            yield f"guard       unknown: {verdict.unknown}"
        case Safety.FREE:
            yield "guard       allows the target as it is now"


def verdict_object(verdict: Verdict) -> dict[str, Any]:
    """The same for machines."""
    return {
        "verdict": str(verdict.safety),
        "reason": verdict.reason or None,
        "refusals": [
            {"rule": refusal.rule_id, "evidence": refusal.evidence, "remedy": refusal.remedy}
            for refusal in verdict.refusals
        ],
    }
