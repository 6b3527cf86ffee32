"""The stimulus for response times, and how many nines it carries (PTS 9.2 step 3.3, 10.2 step 2.4)."""

from collections.abc import Callable
from typing import Final

from openpts.analysis.response_times import recorded_ios
from openpts.units import format_duration
from openpts.vocabulary.phase import Phase
from openpts_pts.evidence.evidence import MINUTE_NS, Evidence, at_least
from openpts_pts.evidence.finding import Finding, all_of, met, met_if, not_applicable

# 99.999 %, which both tests ask for unless the operator asks for more
_DEFAULT_NINES: Final = 5


def lasts(phase: Phase, minutes: int) -> Callable[[Evidence], Finding]:
    """Each number of a phase runs for so many minutes or more."""

    def check(evidence: Evidence) -> Finding:
        return all_of(
            met_if(
                at_least(length_ns := sum(s.elapsed_ns for s in found.samples), minutes * MINUTE_NS),
                f"{minutes} min",
                format_duration(length_ns),
            )
            for found in evidence.rounds(phase)
        )

    return check


def nines_chosen(evidence: Evidence) -> int | None:
    """The nines that the operator asked for."""
    nines = getattr(evidence.manifest.conditions, "nines", None)
    return nines if isinstance(nines, int) else None


def more_nines(evidence: Evidence) -> Finding:
    """Nines are an option."""
    nines = nines_chosen(evidence)
    return not_applicable("no other nines were requested") if nines is None else met(f"{nines} nines")


def length_from_rate(evidence: Evidence) -> Finding:
    """With nines the length was worked out; enough I/Os are the proof."""
    if nines_chosen(evidence) is None:
        return not_applicable("no other nines were requested")
    return enough_ios(1)(evidence)


def enough_ios(times: float) -> Callable[[Evidence], Finding]:
    """So many times 10^N I/Os for N nines."""

    def check(evidence: Evidence) -> Finding:
        needed = round(times * 10 ** (nines_chosen(evidence) or _DEFAULT_NINES))
        return all_of(
            met_if(
                (ios := sum(map(recorded_ios, found.samples))) >= needed, f"{needed:,} I/Os", f"{ios:,} I/Os"
            )
            for found in evidence.rounds(Phase.HISTOGRAM)
        )

    return check
