"""All that is wrong with a fleet."""

import getpass
import os
from collections.abc import Iterator, Mapping

from openpts.errors import FleetError
from openpts.programs import Run, run_program
from openpts_many.fleet.check.finding import CLUSTER, Finding, Place, Severity
from openpts_many.fleet.check.host import HostCheck
from openpts_many.fleet.check.slurm import jobs_by_host, slurm_findings
from openpts_many.fleet.configuration import Engine, Fleet
from openpts_many.fleet.remote import on_all


def check_fleet(fleet: Fleet, run: Run = run_program) -> tuple[Finding, ...]:
    """What is wrong with Slurm and with the hosts of a fleet file, errors first.

    On a host that measures only files of the kernel and names of programs are looked at.
    """
    found: list[Finding] = []
    jobs: Mapping[str, str] = {}
    if fleet.backend is Engine.SLURM:
        try:
            found += slurm_findings(fleet, run)
            jobs = jobs_by_host(run)
        except FleetError as silence:
            found.append(
                CLUSTER.error(
                    "slurmctld",
                    str(silence),
                    "nothing can be submitted",
                    "start slurmctld; check where sinfo works",
                )
            )
    checks = [
        HostCheck(host, fleet.backend, getpass.getuser(), os.getuid(), jobs.get(host.name, ""), run)
        for host in fleet.hosts.values()
    ]
    answers = zip(checks, on_all(checks, HostCheck.checked), strict=True)
    checked = [one.unreachable(of) if isinstance(of, FleetError) else of for one, of in answers]
    found += [one for host in checked for one in host.findings]
    found += _drives_in_two_slots(dict(zip(fleet.hosts, (host.drives for host in checked), strict=True)))
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.ERROR))


def _drives_in_two_slots(drives: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Slots that lead to the same drive, as its ports do; ``drives`` are serial numbers by host and slot."""
    seen: dict[str, str] = {}
    for host, slots in drives.items():
        for name, serial in slots.items():
            if serial in seen:
                yield Place(host).error(
                    f"slot {name}",
                    f"drive {serial}, which is also in {seen[serial]}",
                    "its lock ends a second run on the same host, and nothing does on another one",
                    "name one path to each drive in the fleet file",
                )
            seen.setdefault(serial, f"slot {name} of {host}")
