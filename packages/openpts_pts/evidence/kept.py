"""What must be kept of a run: the settings of each part, and the figures of each of its steps."""

from collections.abc import Callable
from typing import Final

from openpts.vocabulary.condition_text import data_text
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts_pts.evidence.check import Check, Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, Status, all_of, deviated, met, met_if, not_reached
from openpts_pts.evidence.settings import cache, demands_text, stimuli


def settings_kept(phase: Phase) -> Check:
    """The cache as found before each cycle, TC, QD and data of a phase."""

    def check(evidence: Evidence) -> Finding:
        found = stimuli(evidence.of(phase))
        if not found:
            return not_reached("no such step was completed")
        caches = evidence.manifest.write_caches
        if (cycle := max(evidence.tested_cycles)) > len(caches):
            return deviated("the write cache of each cycle", f"none of cycle {cycle}")
        states = ", ".join(dict.fromkeys(report.actual for report in caches))
        data = ", ".join(dict.fromkeys(data_text(stimulus.data) for stimulus in found))
        return met(f"{states}; {demands_text(found)}; {data}")

    return check


def both_settings(evidence: Evidence) -> Finding:
    """Settings of WIPC and of the rounds are as required."""
    return all_of([settings_kept(Phase.WIPC)(evidence), loop_settings(evidence)])


def loop_settings(evidence: Evidence) -> Finding:
    """Settings of the rounds are as required, with the write cache as the class has it."""
    found = cache(evidence, enabled=not evidence.enterprise)
    return settings_kept(Phase.ROUND)(evidence) if found.status in {Status.MET, Status.NOT_REACHED} else found


def averages_kept(*parts: Phase) -> Check:
    """I/Os, bytes, average and maximum response time of each step of these parts, of all without any."""
    return _kept(parts, _has_averages, "IOPS, MB/s, average and maximum response time")


def response_times_kept(*parts: Phase) -> Check:
    """The same, and the whole distribution of response times, from which 99.999 % is read."""
    return _kept(parts, _has_distribution, "IOPS, average, maximum and distribution of response times")


def _kept(parts: tuple[Phase, ...], holds: Callable[[Sample], bool], required: str) -> Check:
    def check(evidence: Evidence) -> Finding:
        samples = [sample for phase in parts for sample in evidence.of(phase)] if parts else evidence.samples
        applied = [sample for sample in samples if not sample.step.is_idle]
        if not applied:
            return not_reached("no such step was completed")
        without = sum(not holds(sample) for sample in applied)
        used = (
            f"missing in {without} of {len(applied)} steps"
            if without
            else f"kept of all {len(applied)} steps"
        )
        return met_if(not without, required, used)

    return check


def _has_averages(sample: Sample) -> bool:
    return sample.ios > 0 and sample.bytes > 0 and sample.max_latency_ns is not None


def _has_distribution(sample: Sample) -> bool:
    return _has_averages(sample) and all(o.histogram for o in sample.transfers if o.ios)


CHECKS: Final[Checks] = {"PTS-FLOW-02": settings_kept(Phase.ROUND), "PTS-TOOL-11": averages_kept()}
