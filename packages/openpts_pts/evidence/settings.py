"""What is set, stated and kept of a run: range, cache, demand, data, platform (PTS 1.1, 3.4 to 5.4)."""

from collections.abc import Callable
from typing import Final

from openpts.units import format_capacity
from openpts.vocabulary.facts import Facts, TargetKind
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import ActiveRange, RandomData, Stimulus
from openpts.vocabulary.workload import data_text
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, binds_where, with_arguments
from openpts_pts.evidence.finding import (
    Finding,
    Status,
    all_of,
    deviated,
    met,
    met_if,
    not_applicable,
    not_reached,
    unverified,
)

WCE: Final = "WCE"
WCD: Final = "WCD"
_NONE: Final = "no volatile cache"


def class_settings(evidence: Evidence) -> Finding:
    """Enterprise: WCD, AR 100 %; client: WCE, AR 75 %."""
    end_pct = 100 if evidence.enterprise else 75
    return all_of([active_range(evidence, end_pct), cache(evidence, enabled=not evidence.enterprise)])


def active_range(evidence: Evidence, end_pct: int, *parts: Phase) -> Finding:
    """The active range of the steps of these parts, of all without any, is 0 to so many per cent."""
    samples = [s.sample for s in evidence.steps if not parts or s.place.phase in parts]
    used = dict.fromkeys([s.active_range for s in stimuli(samples)])
    if not used:
        return not_reached("no step was completed")
    text = ", ".join(_range_text(each) for each in used)
    required = _range_text(ActiveRange(0, end_pct))
    return met_if(text == required, required, text)


def _range_text(active_range: ActiveRange) -> str:
    return f"AR {active_range.start_pct:g} to {active_range.end_pct:g} %"


def cache(evidence: Evidence, *, enabled: bool) -> Finding:
    """The volatile write cache as it was found before each cycle."""
    required = WCE if enabled else WCD
    found = [report.actual for report in evidence.manifest.write_caches]
    if not found:
        return not_reached("the write cache was never read")
    satisfied = {WCE} if enabled else {WCD, _NONE}
    return met_if(set(found) <= satisfied, required, ", ".join(dict.fromkeys(found)))


def stimuli(samples: list[Sample]) -> list[Stimulus]:
    """The stimuli of steps; idle gaps have none."""
    return [stimulus for sample in samples for stimulus in sample.step.stimuli]


def random_data(evidence: Evidence, *parts: Phase) -> Finding:
    """All writes of these parts, of all without any, were random data, fresh for each write."""
    samples = evidence.samples(*parts)
    patterns = dict.fromkeys(s.data for s in stimuli(samples) if s.operations.write)
    if not patterns:
        return not_reached("nothing was written")
    others = [pattern for pattern in patterns if not isinstance(pattern, RandomData)]
    if others:
        return deviated("random data", ", ".join(str(other) for other in others))
    return met("random data, fresh for each write")


def demand(evidence: Evidence, tc: int | None, qd: int | None, *parts: Phase) -> Finding:
    """All steps of these parts, of all without any, had that TC and QD; None is any."""
    return demand_of(stimuli(evidence.samples(*parts)), tc, qd)


def demand_of(found: list[Stimulus], tc: int | None, qd: int | None) -> Finding:
    """All of these had that TC and QD; None is any."""
    if not found:
        return not_reached("no such step was completed")
    right = all(tc in {None, s.tc} and qd in {None, s.qd} for s in found)
    required = " ".join(f"{name} {n}" for name, n in (("TC", tc), ("QD", qd)) if n is not None)
    return met_if(right, required, demands_text(found))


def demands_text(found: list[Stimulus]) -> str:
    """Each demand once: ``TC 4 QD 32``."""
    return ", ".join(dict.fromkeys(f"TC {s.tc} QD {s.qd}" for s in found))


def recommended(evidence: Evidence, field: str, enterprise: int, client: int) -> Finding:
    """The TC or QD of all steps is the recommended one, though the operator may choose another."""
    used = sorted({getattr(stimulus, field) for stimulus in stimuli(evidence.samples())})
    if not used:
        return not_reached("no step was completed")
    recommended = enterprise if evidence.enterprise else client
    text = f"{field.upper()} {', '.join(map(str, used))}"
    return met_if(used == [recommended], f"{field.upper()} {recommended} (recommended)", text)


def same_demand(evidence: Evidence, first: Phase, second: Phase) -> Finding:
    """Check that two phases ran at one TC and QD."""
    one, other = (demands_text(stimuli(evidence.of(phase))) for phase in (first, second))
    if not one:
        return not_reached(f"there was no {first.upper()}")
    return met_if(one == other, f"{one}, as in {first.upper()}", other)


def _constant_demand(evidence: Evidence) -> Finding:
    by_cycle = [stimuli(evidence.in_cycle(cycle)) for cycle in evidence.tested_cycles]
    return all_of(
        met_if(len({(s.tc, s.qd) for s in found}) == 1, "one TC and QD in all steps", demands_text(found))
        for found in by_cycle
    )


def _active_range_kept(evidence: Evidence, *parts: Phase) -> Finding:
    """The steps of these parts, all without any, had the active range that was set for the test."""
    requested = evidence.manifest.conditions.active_range
    samples = [s.sample for s in evidence.steps if not parts or s.place.phase in parts]
    used = dict.fromkeys(_range_text(s.active_range) for s in stimuli(samples))
    return met_if(list(used) == [_range_text(requested)], _range_text(requested), ", ".join(used))


def _class(evidence: Evidence) -> Finding:
    if not evidence.manifest.conditions.set_by_class:
        return not_applicable(f"the test's section has its own settings: PTS-{evidence.test.upper()}-01")
    return class_settings(evidence)


def _cache_of_class(evidence: Evidence) -> Finding:
    """As the class has it, but off where a section of its own says so (13.2, 14.2)."""
    by_class = evidence.manifest.conditions.set_by_class
    return cache(evidence, enabled=by_class and not evidence.enterprise)


def _uncontrollable_cache(evidence: Evidence) -> Finding:
    reports = evidence.manifest.write_caches
    if not reports:
        return not_reached("the write cache was never read")
    report = reports[-1]
    if report.actual in {WCD, _NONE}:
        return not_applicable(f"the cache is off, or there is none: {report.actual}")
    return met(f"{report.actual}, read from {report.source}")


def other_data(evidence: Evidence) -> Finding:
    """Data that isn't random is an option."""
    patterns = dict.fromkeys(s.data for s in stimuli(evidence.samples()) if s.operations.write)
    others = [data_text(pattern) for pattern in patterns if not isinstance(pattern, RandomData)]
    return met(", ".join(others)) if others else not_applicable("all data was random")


def _chosen_demand(evidence: Evidence) -> Finding:
    found = stimuli(evidence.samples())
    return met(demands_text(found)) if found else not_reached("no step was completed")


def _other_wipc(evidence: Evidence) -> Finding:
    """WIPC at another demand than the rounds."""
    wipc, rounds = (demands_text(stimuli(evidence.of(phase))) for phase in (Phase.WIPC, Phase.ROUND))
    if not rounds:
        return not_reached("no round was completed")
    return met(wipc) if wipc != rounds else not_applicable(f"{wipc}, as in the rounds")


SETTINGS: Final[Checks] = {
    "PTS-GEN-04": _class,
    "PTS-DEF-01": _active_range_kept,
    "PTS-PRE-02": with_arguments(_active_range_kept, Phase.WIPC),
    "PTS-DAT-01": random_data,
    "PTS-DAT-02": other_data,
    "PTS-PRE-03": _other_wipc,
    "PTS-THR-02": _chosen_demand,
    "PTS-THR-03": _constant_demand,
    "PTS-CACHE-01": _cache_of_class,
    "PTS-CACHE-02": _uncontrollable_cache,
}
SETTINGS_CASES: Final[Cases] = {"PTS-DAT-03": with_arguments(binds_where, other_data)}


DISCLOSURE: Final = "PTS-GEN-01"


_OF_HOST: Final = ("dut", "host")
"""Parts of the manifest that have facts of the host and of the path to the drive."""


def _fact(evidence: Evidence, key: str, *parts: str) -> Finding:
    """A fact that is reported in one of these parts of the manifest."""
    rooms: list[Facts] = [getattr(evidence.manifest, part) for part in parts]
    found = [facts[key] for facts in rooms if key in facts]
    known = [fact for fact in found if fact.value]
    if known:
        return met(str(known[0].value))
    return unverified(f"not reported: {found[0].source}" if found else "not reported: no source has it")


def _stated(evidence: Evidence, name: str) -> Finding:
    person = getattr(evidence.manifest.people, name)
    return met(person) if person else deviated(f"the {name}'s name", "not stated")


def _auditor(evidence: Evidence) -> Finding:
    person = evidence.manifest.people.auditor
    return met(person) if person else not_applicable("no auditor was named")


def _raw_device(evidence: Evidence) -> Finding:
    target = evidence.manifest.target
    if target.kind is TargetKind.BLOCK:
        return met(f"raw device {target.path}")
    return deviated("a raw device", f"{target.kind}: {target.name}")


FACTS: Final[Checks] = {
    "PTS-GEN-05": _raw_device,
    "PTS-RPT-01": lambda evidence: met(evidence.manifest.started_at),
    "PTS-RPT-03": with_arguments(_stated, "operator"),
    "PTS-RPT-04": _auditor,
    "PTS-RPT-06": with_arguments(_fact, "system", *_OF_HOST),
    "PTS-RPT-07": with_arguments(_fact, "motherboard", *_OF_HOST),
    "PTS-RPT-08": with_arguments(_fact, "cpu", *_OF_HOST),
    "PTS-RPT-09": with_arguments(_fact, "memory", *_OF_HOST),
    "PTS-RPT-10": with_arguments(_fact, "hba", *_OF_HOST),
    "PTS-RPT-11": with_arguments(_fact, "interposer", *_OF_HOST),
    "PTS-RPT-12": with_arguments(_fact, "primary_storage", *_OF_HOST),
    "PTS-RPT-13": with_arguments(_fact, "peripherals", *_OF_HOST),
    "PTS-RPT-14": with_arguments(_fact, "operating_system", *_OF_HOST),
    "PTS-RPT-15": with_arguments(_fact, "file_system", "dut"),
    "PTS-RPT-16": with_arguments(_fact, "test_software", "software"),
    "PTS-RPT-17": with_arguments(_fact, "manufacturer", "dut"),
    "PTS-RPT-18": with_arguments(_fact, "model", "dut"),
    "PTS-RPT-19": with_arguments(_fact, "serial", "dut"),
    "PTS-RPT-20": with_arguments(_fact, "firmware", "dut"),
    "PTS-RPT-21": lambda evidence: met(format_capacity(evidence.manifest.target.user_capacity_bytes)),
    "PTS-RPT-22": with_arguments(_fact, "interface", "dut"),
    "PTS-RPT-23": with_arguments(_fact, "form_factor", "dut"),
    "PTS-RPT-24": with_arguments(_fact, "nand_type", "dut"),
    "PTS-RPT-25": with_arguments(_fact, "features", "dut"),
}


def settings_kept(evidence: Evidence, phase: Phase) -> Finding:
    """The cache as found before each cycle, TC, QD and data of a phase."""
    found = stimuli(evidence.of(phase))
    if not found:
        return not_reached("no such step was completed")
    caches = evidence.manifest.write_caches
    if (cycle := max(evidence.tested_cycles)) > len(caches):
        return deviated("the write cache of each cycle", f"none of cycle {cycle}")
    states = ", ".join(dict.fromkeys(report.actual for report in caches))
    data = ", ".join(dict.fromkeys(data_text(stimulus.data) for stimulus in found))
    return met(f"{states}; {demands_text(found)}; {data}")


def both_settings(evidence: Evidence) -> Finding:
    """Settings of WIPC and of the rounds are as required."""
    return all_of([settings_kept(evidence, Phase.WIPC), loop_settings(evidence)])


def loop_settings(evidence: Evidence) -> Finding:
    """Settings of the rounds are as required, with the write cache as the class has it."""
    found = cache(evidence, enabled=not evidence.enterprise)
    return settings_kept(evidence, Phase.ROUND) if found.status in {Status.MET, Status.NOT_REACHED} else found


def averages_kept(evidence: Evidence, *parts: Phase) -> Finding:
    """I/Os, bytes, average and maximum response time of each step of these parts, of all without any."""
    return _kept(evidence, parts, _has_averages, "IOPS, MB/s, average and maximum response time")


def response_times_kept(evidence: Evidence, *parts: Phase) -> Finding:
    """The same, and the whole distribution of response times, from which 99.999 % is read."""
    return _kept(
        evidence, parts, _has_distribution, "IOPS, average, maximum and distribution of response times"
    )


def _kept(
    evidence: Evidence, parts: tuple[Phase, ...], holds: Callable[[Sample], bool], required: str
) -> Finding:
    samples = evidence.samples(*parts)
    applied = [sample for sample in samples if not sample.step.is_idle]
    if not applied:
        return not_reached("no such step was completed")
    without = sum(not holds(sample) for sample in applied)
    used = f"missing in {without} of {len(applied)} steps" if without else f"kept of all {len(applied)} steps"
    return met_if(not without, required, used)


def _has_averages(sample: Sample) -> bool:
    return sample.ios > 0 and sample.bytes > 0 and sample.max_latency_ns is not None


def _has_distribution(sample: Sample) -> bool:
    return _has_averages(sample) and all(o.histogram for o in sample.transfers if o.ios)


KEPT: Final[Checks] = {
    "PTS-FLOW-02": with_arguments(settings_kept, Phase.ROUND),
    "PTS-TOOL-11": averages_kept,
}
