"""The stimulus of a step by its counts, compared with what was ordered (PTS 2.1.9, 6 (6) and (8))."""

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Final

from openpts.units import format_block_size
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.evidence.check import Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, deviated, met, not_reached, unverified

# Mixes are drawn, by some engines at random: so far a share strays by chance in one of a million steps.
_STANDARD_ERRORS: Final = 5
# What simulated drives on a scale count is rounded.
_SIZE_ERROR: Final = 0.001


def read_pct(sample: Sample, scale: int) -> float:
    """Share of reads among reads and writes: that ordered, if the counts agree with it, else that counted.

    ``scale``: so many of the counts are one access that was drawn. What is outstanding at the end of a step
    was drawn as well, and a drive that answers reads first keeps writes among it.
    """
    stimulus, transfers = sample.step.stimulus, sample.read.ios + sample.write.ios
    if stimulus is None or not transfers:
        return 0.0
    share, counted = stimulus.read_pct / 100, sample.read.ios / transfers
    chance = _STANDARD_ERRORS * sqrt(share * (1 - share) * scale / transfers)
    cut_off = stimulus.toio * scale / transfers if 0 < share < 1 else 0.0
    return stimulus.read_pct if abs(counted - share) <= chance + cut_off else 100 * counted


def block_size_bytes(sample: Sample) -> int:
    """Bytes of a transfer: the size ordered, if the counts agree with it, else that counted."""
    stimulus = sample.step.stimulus
    if stimulus is None or not sample.ios:
        return 0
    counted = sample.bytes / sample.ios
    ordered = stimulus.block_size_bytes
    return ordered if abs(counted - ordered) <= _SIZE_ERROR * ordered else round(counted)


def mix_text(pct: float) -> str:
    """Reads/writes as the specification prints it: ``65/35``."""
    return f"{pct:.3g}/{100 - pct:.3g}"


def mixes(evidence: Evidence, samples: Iterable[Sample]) -> list[str]:
    """Each mix of reads and writes that these steps counted, once."""
    scale = evidence.manifest.target.scale
    return list(dict.fromkeys(mix_text(read_pct(sample, scale)) for sample in samples if sample.ios))


def _as_ordered(
    holds: Callable[[Sample, Stimulus, int], bool], text: Callable[[Sample, Stimulus], str]
) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        ran = [(sample, sample.step.stimulus) for sample in evidence.samples]
        applied = [(sample, stimulus) for sample, stimulus in ran if stimulus is not None and sample.ios]
        if not applied:
            return not_reached("no step was completed")
        scale = evidence.manifest.target.scale
        for sample, stimulus in applied:
            if not holds(sample, stimulus, scale):
                return deviated(str(stimulus), text(sample, stimulus))
        return met(f"counted as ordered in all {len(applied)} steps")

    return check


def _right_size(sample: Sample, stimulus: Stimulus, _scale: int) -> bool:
    return len(stimulus.block_sizes) > 1 or block_size_bytes(sample) == stimulus.block_size_bytes


def _bounded_demand(evidence: Evidence) -> Finding:
    """No interval ends with more outstanding than TC x QD."""
    outstanding = [
        (interval.in_flight, most)
        for sample in evidence.samples
        if not sample.step.is_idle
        for most in [sample.step.toio]
        for interval in sample.intervals
    ]
    if not outstanding:
        return unverified("no intervals were recorded")
    over = [pair for pair in outstanding if pair[0] > pair[1]]
    if over:
        return deviated(f"{over[0][1]} outstanding at most, TC x QD", f"{over[0][0]} at an interval's end")
    return met(f"never more than TC x QD outstanding in {len(outstanding)} intervals")


CHECKS: Final[Checks] = {
    "PTS-DEF-13": _bounded_demand,
    "PTS-TOOL-06": _as_ordered(
        lambda sample, stimulus, scale: read_pct(sample, scale) == stimulus.read_pct,
        lambda sample, _: mix_text(100 * sample.read.ios / (sample.read.ios + sample.write.ios)),
    ),
    "PTS-TOOL-08": _as_ordered(_right_size, lambda sample, _: format_block_size(block_size_bytes(sample))),
}
