"""Whether Slurm's configuration suits runs that last for days and must never be started twice.

All is read by Slurm's own commands, as slurmctld has it; `gres.conf` alone is a file, since no command shows
it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.device.link.nearby_cpus import parse_cpu_list
from openpts.programs import Run, run_program
from openpts_many.fleet.check.finding import CLUSTER, Finding, Place, Severity
from openpts_many.fleet.configuration import Fleet, Host
from openpts_many.fleet.slurm import slurm_answer

_ANSWER_S: Final = 30.0
_KILL_WAIT_S: Final = 60
_INTERVAL_S: Final = 5
_NONE: Final = frozenset({"", "(null)", "None", "NONE", "N/A", "none"})
_WORD: Final = re.compile(r"(?:^| )(\w+)=(.*?)(?= \w+=|$)")
_SLOT: Final = re.compile(r"slot:([A-Za-z][^:,()]*)(?::(\d+))?")
_UNUSABLE: Final = ("DOWN", "DRAIN", "FAIL", "INVAL", "NOT_RESPONDING", "UNKNOWN", "*")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A setting of slurm.conf: ``holds`` for values that are right."""

    setting: str
    holds: Callable[[str], bool]
    severity: Severity
    reason: str
    remedy: str


def _seconds(value: str) -> int:
    """Of a value such as ``300 sec``; 0 where there is none."""
    found = re.match(r"\d+", value)
    return 0 if found is None else int(found[0])


def _interval_is_short(value: str) -> bool:
    found = re.search(r"bf_interval=(\d+)", value)
    return found is not None and int(found[1]) <= _INTERVAL_S


_RULES: Final = (
    _Rule(
        "SlurmdTimeout",
        lambda value: _seconds(value) == 0,
        Severity.ERROR,
        "the jobs of a host that is silent for so long count as failed, while its runs write on",
        "SlurmdTimeout=0",
    ),
    _Rule(
        "JobRequeue",
        lambda value: value == "0",
        Severity.ERROR,
        "Slurm starts jobs again by itself; openpts refuses that, but the run counts as failed",
        "JobRequeue=0",
    ),
    _Rule(
        "PreemptMode",
        lambda value: value.startswith("OFF"),
        Severity.ERROR,
        "a job of more priority stops a run in its middle",
        "PreemptMode=OFF",
    ),
    _Rule(
        "ProctrackType",
        lambda value: value == "proctrack/cgroup",
        Severity.ERROR,
        "processes that leave their session, as those of fio do, outlive a job and write on",
        "ProctrackType=proctrack/cgroup",
    ),
    _Rule(
        "SelectType",
        lambda value: value == "select/cons_tres",
        Severity.ERROR,
        "slots are not allotted by name, or jobs get whole hosts",
        "SelectType=select/cons_tres",
    ),
    _Rule(
        "GresTypes",
        lambda value: "slot" in value.split(","),
        Severity.ERROR,
        "no job can ask for the drive in a slot",
        "GresTypes=slot",
    ),
    _Rule(
        "SchedulerParameters",
        lambda value: "bf_continue" in value.split(","),
        Severity.WARNING,
        "a job that waits for a busy slot holds up jobs for idle hosts",
        f"SchedulerParameters=bf_interval={_INTERVAL_S},bf_continue",
    ),
    _Rule(
        "SchedulerParameters",
        _interval_is_short,
        Severity.WARNING,
        "jobs for idle hosts wait up to 30 s behind one that waits for a busy slot",
        f"SchedulerParameters=bf_interval={_INTERVAL_S},bf_continue",
    ),
    _Rule(
        "KillWait",
        lambda value: _seconds(value) >= _KILL_WAIT_S,
        Severity.WARNING,
        "a cancelled run is killed before it has ended its load and closed its record",
        f"KillWait={_KILL_WAIT_S}",
    ),
)


def slurm_findings(fleet: Fleet, run: Run = run_program) -> tuple[Finding, ...]:
    """All that Slurm's own commands show. Raises FleetError if they are missing, or slurmctld is silent."""
    settings = _settings(_told(run, "config"))
    nodes = {node["NodeName"]: node for node in _objects(_told(run, "node", "--oneliner"))}
    partitions = _objects(_told(run, "partition", "--oneliner"))
    in_file = _slots_of_gres_conf(Path(settings.get("SLURM_CONF", "")).with_name("gres.conf"))
    return (
        *_of_settings(settings),
        *_of_partitions(partitions),
        *(found for host in fleet.hosts.values() for found in _of_node(host, nodes.get(host.name))),
        *(_of_gres_conf(fleet, in_file) if in_file is not None else ()),
    )


def jobs_by_host(run: Run = run_program) -> dict[str, str]:
    """Names of the jobs that run, by the hosts that they run on. Raises FleetError."""
    jobs: dict[str, str] = {}
    told = slurm_answer(["squeue", "--noheader", "--states=running", "--format=%N|%j"], _ANSWER_S, run)
    for host, _, name in (line.partition("|") for line in told.splitlines()):
        jobs[host] = f"{jobs[host]} {name}" if host in jobs else name
    return jobs


def _told(run: Run, what: str, *options: str) -> str:
    return slurm_answer(["scontrol", *options, "show", what], _ANSWER_S, run)


def _settings(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _objects(text: str) -> list[dict[str, str]]:
    """One for each line of ``Name=value`` words; a value may have blanks, as a reason has."""
    found = (_WORD.findall(line) for line in text.splitlines() if "=" in line)
    return [{name: value.strip() for name, value in words} for words in found]


def _of_settings(settings: Mapping[str, str]) -> Iterator[Finding]:
    for rule in _RULES:
        value = settings.get(rule.setting, "")
        if not rule.holds("" if value in _NONE else value):
            found = f"{rule.setting}={value}"
            yield Finding(
                rule.severity, CLUSTER.where, rule.setting, found, rule.reason, f"slurm.conf: {rule.remedy}"
            )
    logs = [settings.get(name, "") for name in ("JobCompType", "AccountingStorageType")]
    if all(log in _NONE or log.endswith("/none") for log in logs):
        yield CLUSTER.warning(
            "JobCompType",
            "no log of ended jobs",
            f"what became of a job is forgotten after MinJobAge, {settings.get('MinJobAge', '300 sec')}",
            "slurm.conf: JobCompType=jobcomp/filetxt, or a slurmdbd",
        )


def _of_partitions(partitions: list[dict[str, str]]) -> Iterator[Finding]:
    """Runs are submitted to the default partition, without a time limit of their own."""
    default = next((one for one in partitions if one.get("Default") == "YES"), None)
    if default is None:
        yield CLUSTER.error(
            "PartitionName",
            "no default partition",
            "runs are submitted without naming one",
            "slurm.conf: Default=YES for the partition with the hosts of the fleet",
        )
        return
    for setting in ("MaxTime", "DefaultTime"):
        limit = default.get(setting, "")
        if limit not in {"UNLIMITED", "INFINITE", *_NONE}:
            yield CLUSTER.warning(
                setting,
                f"{setting}={limit} in partition {default['PartitionName']}",
                "longer runs are killed; a test of a large drive takes days",
                f"slurm.conf: {setting}={'INFINITE' if setting == 'MaxTime' else 'NONE'}",
            )


def _of_node(host: Host, node: Mapping[str, str] | None) -> Iterator[Finding]:
    at, declared = Place(host.name), ",".join(f"slot:{name}:1" for name in host.slots)
    if node is None:
        yield at.error(
            "NodeName",
            "Slurm has no such node",
            "nothing can be submitted to it",
            f"slurm.conf: NodeName={host.name} Gres={declared}",
        )
        return
    if any(word in node.get("State", "") for word in _UNUSABLE):
        reason = node.get("Reason", "")
        yield at.error(
            "State",
            f"{node['State']}{f', {reason}' if reason else ''}",
            "no run is started there",
            f"see the reason, then scontrol update nodename={host.name} state=resume",
        )
    yield from _of_slots(host, node.get("Gres", ""), declared)
    yield from _of_processors(host, node.get("CPUSpecList", node.get("CpuSpecList", "")))


def _of_slots(host: Host, gres: str, declared: str) -> Iterator[Finding]:
    at, slots = Place(host.name), {name: int(count or 1) for name, count in _SLOT.findall(gres)}
    remedy = f"slurm.conf: NodeName={host.name} Gres={declared}"
    if missing := [name for name in host.slots if name not in slots]:
        yield at.error(
            "Gres",
            f"no {', '.join(missing)} in {gres if gres not in _NONE else 'none at all'}",
            "jobs for these slots are refused; all are declared once, filled or empty, since a changed list "
            "ends the runs on the host",
            remedy,
        )
    if unknown := [name for name in slots if name not in host.slots]:
        yield at.warning(
            "Gres",
            f"{', '.join(unknown)}, which the fleet file has not",
            "if these are serial numbers, the list changes with each drive, which ends the runs on the host",
            f"name slots by their place: {remedy}",
        )
    if several := [f"{name}:{count}" for name, count in slots.items() if count != 1]:
        yield at.error(
            "Gres",
            ", ".join(several),
            "several jobs get the slot at once; the drive's lock then ends all but one",
            remedy,
        )


def _of_processors(host: Host, reserved: str) -> Iterator[Finding]:
    at, wanted = Place(host.name), ",".join(map(str, host.housekeeping))
    try:
        kept = () if reserved in _NONE else parse_cpu_list(reserved)
    except ValueError:
        kept = ()
    if wanted and set(kept) != set(host.housekeeping):
        yield at.warning(
            "CpuSpecList",
            f"CpuSpecList={reserved}" if kept else "no CpuSpecList",
            f"slurmd and steps share processors with measurements; the fleet file keeps {wanted} for them",
            f"slurm.conf: CpuSpecList={wanted} for the node, TaskPluginParam=SlurmdOffSpec",
        )
    if kept and not wanted:
        yield at.warning(
            "housekeeping",
            f"CpuSpecList={reserved}, and the fleet file keeps no processors",
            "what openpts does on the host beside a run takes any processor",
            f'fleet file: housekeeping = "{reserved}" for the host',
        )


def _slots_of_gres_conf(path: Path) -> frozenset[str] | None:
    """The types of slots that a file names for any node; None if it can't be read, or detects them."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    words = [dict(re.findall(r"(\w+)=(\S+)", line.partition("#")[0])) for line in lines]
    if any(line.strip().lower().startswith("include") for line in lines):
        return None
    return frozenset(one["Type"] for one in words if one.get("Name") == "slot" and "Type" in one)


def _of_gres_conf(fleet: Fleet, named: frozenset[str]) -> Iterator[Finding]:
    slots = dict.fromkeys(name for host in fleet.hosts.values() for name in host.slots)
    if missing := [name for name in slots if name not in named]:
        yield CLUSTER.error(
            "gres.conf",
            f"no {', '.join(missing)}",
            "slurmd reports fewer slots than slurm.conf has, for which Slurm drains the node",
            "gres.conf: " + "; ".join(f"Name=slot Type={name} Count=1" for name in missing),
        )
