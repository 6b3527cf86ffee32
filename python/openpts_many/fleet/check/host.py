"""Whether a host of a fleet can carry out runs: its programs, disk and clock, and the drives in its slots."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Final

import msgspec
from msgspec import Struct

from openpts.device.link.nearby_cpus import parse_cpu_list
from openpts.errors import FleetError
from openpts.programs import Run, run_program
from openpts.record.decoding import decode_json
from openpts.units import GB, format_capacity
from openpts_many.fleet.check.finding import Finding, Place
from openpts_many.fleet.configuration import Engine, Host
from openpts_many.fleet.remote import Remote

_ANSWER_S: Final = 120.0
_CLOCK_S: Final = 1.0
_MUNGE_S: Final = 60.0  # a credential that is older, or not yet made, may be refused
_BYTES_PER_SLOT: Final = GB
_ELSEWHERE: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "ceph", "lustre", "gpfs", "afs", "9p"}
)
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})
# facts by name, a line each
_FACTS: Final = """
program=$1 runs=$2 fleet=$3 user=$4
shift 4
folder=$runs
while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
units=$(systemctl list-units --plain --no-legend 'openpts-*.service' 2>/dev/null | cut -d' ' -f1)
echo "time=$(date +%s.%N)"
echo "systemd=$(test -d /run/systemd/system && command -v systemd-run)"
echo "rsync=$(command -v rsync)"
echo "program=$(command -v "$program")"
echo "version=$("$program" --version 2>&1 | tail -n 1)"
echo "fleet=$(sha256sum 2>/dev/null < "$fleet" | cut -d' ' -f1)"
echo "uid=$(id -u "$user" 2>/dev/null)"
echo "type=$(stat -f -c %T "$folder")"
echo "free=$(df -P -B1 "$folder" | tail -n 1 | awk '{print $4}')"
echo "cpus=$(cat /sys/devices/system/cpu/online)"
echo "units=$(echo $units)"
for target; do echo "at $target=$(readlink -e "$target")"; done
"""


class _Safety(Struct, frozen=True):
    verdict: str
    reason: str | None = None


class _Device(Struct, frozen=True):
    path: str
    model: str | None
    serial: str | None
    safety: _Safety


class _Devices(Struct, frozen=True):
    """Of `openpts devices --json`, what is asked of it here."""

    devices: tuple[_Device, ...]


class _Setting(Struct, frozen=True):
    title: str
    grade: str


class _Audit(Struct, frozen=True):
    """What is read of `openpts doctor --json`."""

    settings: tuple[_Setting, ...]


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """``drives`` are the serial numbers of what is in the slots, as far as it could be looked at."""

    findings: tuple[Finding, ...]
    drives: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HostCheck:
    """A host that is looked at by ssh; ``user`` is who submits runs, with the number ``uid``.

    ``jobs`` are the names of those that Slurm runs there.
    """

    host: Host
    engine: Engine
    user: str
    uid: int
    jobs: str = ""
    run: Run = run_program

    def checked(self) -> CheckedHost:
        """All that is wrong with the host. What would disturb a run that is measured there is left out.

        Raises FleetError if it can't be reached.
        """
        remote = Remote(self.host, self.run)
        targets = [slot.target for slot in self.host.slots.values() if slot.target.startswith("/")]
        given = [self.host.program, str(self.host.runs), str(self.host.fleet_file), self.user, *targets]
        before_s = time.time()
        answer = remote.ask(["sh", "-c", _FACTS, "sh", *given], _ANSWER_S)
        between_s = (before_s, time.time())
        facts = {
            name: value for name, _, value in (line.rpartition("=") for line in answer.stdout.splitlines())
        }
        if "time" not in facts:
            return CheckedHost((self._no_root(answer.complaint),), {})
        found = [*self._of_facts(facts, between_s), *self._of_program(facts)]
        drives: dict[str, _Device] = {}
        if busy := " ".join(filter(None, (facts["units"], self.jobs))):
            found.append(self._busy(busy))
        elif facts["program"]:
            devices = self._told(remote, "devices", _Devices)
            if isinstance(devices, Finding):
                found.append(devices)
            else:
                drives = self._in_slots(devices, facts)
            found += [*self._of_slots(drives), *self._of_settings(remote)]
        return CheckedHost(tuple(found), {name: one.serial for name, one in drives.items() if one.serial})

    @property
    def _at(self) -> Place:
        return Place(self.host.name)

    def unreachable(self, error: FleetError) -> CheckedHost:
        """The check of a host that can't be reached."""
        over_ssh = self.engine is Engine.SSH
        found = (self._at.error if over_ssh else self._at.warning)(
            "ssh",
            str(error).removeprefix(f"host {self.host.name} "),
            "no run can be started there"
            if over_ssh
            else "its folders can't be fetched, and it can't be checked",
            "address, user and ssh_options of the host in the fleet file, and a key without a passphrase",
        )
        return CheckedHost((found,), {})

    def _no_root(self, complaint: str) -> Finding:
        return self._at.error(
            "root",
            complaint,
            "no command runs there as root, which drives, units and run folders need",
            'fleet file: user = "root", or a user who may sudo without a password; housekeeping = processors '
            "that the host has",
        )

    def _busy(self, units: str) -> Finding:
        return self._at.warning(
            "units",
            f"measures for {units.replace('openpts-', '').replace('.service', '')}",
            "its drives and settings were not looked at, which takes processors",
            "check again when the host is idle",
        )

    def _of_facts(self, facts: Mapping[str, str], between_s: tuple[float, float]) -> Iterator[Finding]:
        if self.engine is Engine.SSH and not facts["systemd"]:
            yield self._at.error(
                "systemd",
                "not there",
                "runs are its transient units, which outlive the connection and end with all their processes",
                "install systemd, or use Slurm",
            )
        if not facts["rsync"]:
            yield self._at.warning(
                "rsync",
                "not there",
                "folders can't be fetched",
                "install the package rsync on the host",
            )
        yield from self._of_clock(float(facts["time"]), between_s)
        yield from self._of_disk(facts["type"], int(facts["free"]))
        yield from self._of_processors(set(parse_cpu_list(facts["cpus"])))
        if self.engine is Engine.SLURM and facts["uid"] != str(self.uid):
            yield self._at.error(
                "uid",
                f"{self.user} is {facts['uid'] or 'no user'} there and {self.uid} here",
                "Slurm starts jobs by the number of who has submitted them",
                "give users the same numbers on all hosts",
            )

    def _of_clock(self, there_s: float, between_s: tuple[float, float]) -> Iterator[Finding]:
        """The host's reading lies between ours before and after, unless its clock is off."""
        before_s, after_s = between_s
        off_s = max(before_s - there_s, there_s - after_s, 0.0)
        if off_s > _CLOCK_S:
            at_slurm = self.engine is Engine.SLURM and off_s > _MUNGE_S
            yield (self._at.error if at_slurm else self._at.warning)(
                "clock",
                f"at least {off_s:.1f} s {'behind' if there_s < before_s else 'ahead of'} this machine's",
                "munge refuses what Slurm's daemons tell each other"
                if at_slurm
                else "the order of events on several hosts can't be told",
                "run chrony or systemd-timesyncd on all hosts",
            )

    def _of_disk(self, kind: str, free_bytes: int) -> Iterator[Finding]:
        runs = str(self.host.runs)
        if kind in _ELSEWHERE or kind.startswith("fuse"):
            yield self._at.error(
                "runs",
                f"{runs} is on {kind}",
                "claims and records have to be on the host's own disk: the network stalls a run, and locks "
                "may not hold there",
                "fleet file: runs = a folder on a disk of the host",
            )
        if kind in _IN_MEMORY:
            yield self._at.error(
                "runs",
                f"{runs} is in memory",
                "after a restart a run that was begun looks as if it never was",
                "fleet file: runs = a folder on a disk of the host",
            )
        if free_bytes < (least := _BYTES_PER_SLOT * max(1, len(self.host.slots))):
            yield self._at.warning(
                "runs",
                f"{format_capacity(free_bytes)} free for {runs}",
                f"a record takes up to {format_capacity(_BYTES_PER_SLOT)}, and the host has "
                f"{len(self.host.slots)} slots; runs pause on a full disk",
                f"have {format_capacity(least)} there, or fetch and remove folders",
            )

    def _of_processors(self, online: set[int]) -> Iterator[Finding]:
        kept = set(self.host.housekeeping)
        if kept - online:
            missing = ",".join(map(str, sorted(kept - online)))
            yield self._at.error(
                "housekeeping",
                f"no processor {missing}",
                "what is kept apart is not there",
                "fleet file: housekeeping = processors that the host has",
            )
        elif kept >= online:
            yield self._at.error(
                "housekeeping",
                "all processors of the host",
                "none is left to measure with",
                "fleet file: keep fewer",
            )
        elif not kept and len(online) > 2:
            yield self._at.warning(
                "housekeeping",
                f"none of {len(online)} processors is kept",
                "daemons and commands of the fleet run on processors that measure",
                'fleet file: housekeeping = "0-1" for the host',
            )

    def _of_program(self, facts: Mapping[str, str]) -> Iterator[Finding]:
        ours = version("openpts")
        if not facts["program"]:
            yield self._at.error(
                "program",
                f"no {self.host.program}",
                "nothing can carry out a run there",
                "install openpts on the host, and name it: program = its path in the fleet file",
            )
        elif facts["version"] != f"openpts {ours}":
            yield self._at.error(
                "version",
                f"{facts['version'] or 'none'} there, openpts {ours} here",
                "requests and answers may not be understood, and results of hosts differ by version",
                "install the same version on all hosts",
            )
        if facts["fleet"] != sha256(self.host.fleet_file.read_bytes()).hexdigest():
            yield self._at.error(
                "fleet file",
                f"{'another' if facts['fleet'] else 'no'} {self.host.fleet_file} there",
                "the host finds its slots by its own copy",
                f"copy {self.host.fleet_file} to the host",
            )

    def _of_settings(self, remote: Remote) -> Iterator[Finding]:
        audit = self._told(remote, "doctor", _Audit)
        if isinstance(audit, Finding):
            yield audit
        elif bad := [setting.title for setting in audit.settings if setting.grade == "bad"]:
            yield self._at.warning(
                "settings",
                ", ".join(bad),
                "these settings falsify results",
                f"see openpts doctor on {self.host.name}; --tune sets them for a run",
            )

    def _told(self, remote: Remote, command: str, kind: Any) -> Any:
        """What a command of openpts on the host prints as JSON, or the finding that it does not."""
        try:
            answer = remote.ask([self.host.program, command, "--json"], _ANSWER_S)
            return decode_json(answer.stdout, kind)
        except (FleetError, msgspec.DecodeError) as error:
            return self._at.error(
                command,
                str(error),
                f"openpts {command} does not work on the host",
                f"see openpts {command} on {self.host.name}",
            )

    def _in_slots(self, devices: _Devices, facts: Mapping[str, str]) -> dict[str, _Device]:
        """What is in the slots by their names; one that is empty, or a file or simulated, is left out."""
        by_path = {device.path: device for device in devices.devices}
        found = {
            name: by_path.get(facts.get(f"at {slot.target}", "")) for name, slot in self.host.slots.items()
        }
        return {name: device for name, device in found.items() if device is not None}

    def _of_slots(self, drives: Mapping[str, _Device]) -> Iterator[Finding]:
        for name, device in drives.items():
            expected = self.host.slots[name].model
            if device.serial is None:
                yield self._at.error(
                    f"slot {name}",
                    f"{device.path} reports no serial number",
                    "which drive it is can't be proven, so no run touches it",
                    "use a drive, or a controller, that reports one",
                )
            if expected and device.model != expected:
                yield self._at.error(
                    f"slot {name}",
                    f"{device.model or 'no model'}, serial number {device.serial}",
                    f"the fleet file expects {expected}",
                    "put the drive in its place, or change model in the fleet file",
                )
            if device.safety.verdict == "refused":
                yield self._at.warning(
                    f"slot {name}",
                    f"{device.path}, serial number {device.serial}",
                    f"it can't be tested now: {device.safety.reason}",
                    f"see openpts devices {device.path} on {self.host.name}",
                )
