"""The byte range of a stimulus's active range on a target, the same for every engine."""

from openpts.errors import UsageError
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import Stimulus


def active_bytes(stimulus: Stimulus, target: TargetFacts) -> tuple[int, int]:
    """First byte, and the byte after the last (PTS 2.1.1). Raises UsageError for a range that is none."""
    active = stimulus.active_range
    if not 0 <= active.start_pct < active.end_pct <= 100:
        raise UsageError(
            f"active range {active.start_pct:g}:{active.end_pct:g} is not within 0:100 per cent of the LBAs"
        )
    return active.bytes_of(target.user_capacity_bytes, target.sector_bytes)
