"""The facts of each report about people, platform and device (PTS 1.1, 5.1 to 5.4)."""

from collections.abc import Callable
from typing import Final

from openpts.units import format_capacity
from openpts.vocabulary.facts import Facts, TargetKind
from openpts_pts.evidence.check import Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, deviated, met, not_applicable, unverified

DISCLOSURE: Final = "PTS-GEN-01"


def host_fact(key: str) -> Callable[[Evidence], Finding]:
    """A fact of the host, or of the path to the drive, which the drive's description may hold."""
    return lambda evidence: _fact(key, evidence.manifest.dut, evidence.manifest.host)


def dut_fact(key: str) -> Callable[[Evidence], Finding]:
    """A fact of the device."""
    return lambda evidence: _fact(key, evidence.manifest.dut)


def _fact(key: str, *rooms: Facts) -> Finding:
    found = [room[key] for room in rooms if key in room]
    known = [fact for fact in found if fact.value]
    if known:
        return met(str(known[0].value))
    return unverified(f"not reported: {found[0].source}" if found else "not reported: no source has it")


def _stated(name: str) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        person = getattr(evidence.manifest.people, name)
        return met(person) if person else deviated(f"the {name}'s name", "not stated")

    return check


def _auditor(evidence: Evidence) -> Finding:
    person = evidence.manifest.people.auditor
    return met(person) if person else not_applicable("no auditor was named")


def _raw_device(evidence: Evidence) -> Finding:
    target = evidence.manifest.target
    if target.kind is TargetKind.BLOCK:
        return met(f"raw device {target.path}")
    return deviated("a raw device", f"{target.kind}: {target.name}")


CHECKS: Final[Checks] = {
    "PTS-GEN-05": _raw_device,
    "PTS-RPT-01": lambda evidence: met(evidence.manifest.started_at),
    "PTS-RPT-03": _stated("operator"),
    "PTS-RPT-04": _auditor,
    "PTS-RPT-06": host_fact("system"),
    "PTS-RPT-07": host_fact("motherboard"),
    "PTS-RPT-08": host_fact("cpu"),
    "PTS-RPT-09": host_fact("memory"),
    "PTS-RPT-10": host_fact("hba"),
    "PTS-RPT-11": host_fact("interposer"),
    "PTS-RPT-12": host_fact("primary_storage"),
    "PTS-RPT-13": host_fact("peripherals"),
    "PTS-RPT-14": host_fact("operating_system"),
    "PTS-RPT-15": dut_fact("file_system"),
    "PTS-RPT-16": lambda evidence: _fact("test_software", evidence.manifest.software),
    "PTS-RPT-17": dut_fact("manufacturer"),
    "PTS-RPT-18": dut_fact("model"),
    "PTS-RPT-19": dut_fact("serial"),
    "PTS-RPT-20": dut_fact("firmware"),
    "PTS-RPT-21": lambda evidence: met(format_capacity(evidence.manifest.target.user_capacity_bytes)),
    "PTS-RPT-22": dut_fact("interface"),
    "PTS-RPT-23": dut_fact("form_factor"),
    "PTS-RPT-24": dut_fact("nand_type"),
    "PTS-RPT-25": dut_fact("features"),
}
