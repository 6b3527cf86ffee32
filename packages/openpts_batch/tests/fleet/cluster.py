"""A cluster on this machine: Slurm of the distribution on a head and on hosts, each in namespaces of its own.

A host has its own network with a cable to a bridge, processes, names, mounts and boot ID. Its drives are loop
devices on sparse files, with model and serial number in its view of sysfs; its slots are links to their
nodes, so that a drive can be put into another slot. All processes of a host end with the first of them, that
one with the process that made the cluster, and with its processes go its network and its mounts.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openpts_batch.tests.fleet.first_process import processes_of
from tests.support.processes import until

HOSTS: Final = ("h1", "h2", "h3")
SLOTS: Final = ("s00", "s01")
HEAD: Final = "head"
DRIVE_BYTES: Final = 16 * 2**20
_NEEDED: Final = ("slurmctld", "slurmd", "munged", "squeue", "ip", "nsenter", "unshare", "losetup")
_TIMEOUT_S: Final = 180.0
_FIRST: Final = Path(__file__).with_name("first_process.py")
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

SLURM_CONF: Final = """\
ClusterName=openpts
SlurmctldHost={head}(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=/run/munge/munge.socket.2
StateSaveLocation={folder}/head/state
SlurmdSpoolDir={folder}/%n/spool
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/head/slurmctld.log
SlurmdLogFile={folder}/%n/slurmd.log
SlurmdTimeout=0
JobRequeue=0
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=slot
SchedulerParameters=bf_interval=5,bf_continue
KillWait=60
MpiDefault=none
ReturnToService=2
MailProg=/bin/true
SlurmdParameters=config_overrides
{nodes}
PartitionName=drives Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there can be no cluster here, or nothing."""
    absent = [name for name in _NEEDED if shutil.which(name, path=_PATH) is None]
    if absent:
        return f"needs {', '.join(absent)}: apt-get install slurmctld slurmd slurm-client munge iproute2"
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        return "needs root and loop devices"
    return ""


def call(*words: object, check: bool = True, timeout_s: float = _TIMEOUT_S) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=os.environ | {"PATH": _PATH},
    )
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout.strip()


@dataclass
class Drive:
    """A loop device; ``serial`` is on the medium as well, and tells whose writes these are."""

    node: Path
    serial: str
    backing: Path


@dataclass
class Machine:
    """A host, or the head, as long as its first process lives."""

    name: str
    number: int
    folder: Path
    drives: list[Drive] = field(default_factory=list)
    first: "subprocess.Popen[str] | None" = None
    is_on: bool = False

    @property
    def pid(self) -> int:
        assert self.first is not None
        return self.first.pid

    @property
    def slots(self) -> Path:
        return self.folder / "slots"

    def boot(self) -> None:
        """Start its first process, with its own names, mounts and boot ID, and plug in its cable."""
        for name in ("state", "spool", "slots", "runs", "munge"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        nodes = [str(drive.node) for drive in self.drives]
        self.first = subprocess.Popen(
            ["unshare", "--mount", "--net", "--uts", sys.executable, "-P", str(_FIRST), *nodes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PATH": _PATH},
            start_new_session=True,
        )
        assert self.first.stdout is not None
        assert self.first.stdout.readline() == "up\n"
        script = [
            f"hostname {self.name}",
            "mount -t tmpfs none /run",
            "mkdir /run/munge",
            "mkdir -p /dev/openpts",
            "mount -t tmpfs none /dev/openpts",
            f"mount --bind {self.folder}/boot_id /proc/sys/kernel/random/boot_id",
            "ip link set lo up",
            *map(self._labeled, self.drives),
        ]
        self.run("sh", "-ec", "\n".join(script))

    def _labeled(self, drive: Drive) -> str:
        label = self.folder / "labels" / drive.node.name
        (label / "device").mkdir(parents=True, exist_ok=True)
        (label / "serial").write_text(f"{drive.serial}\n")
        (label / "device/model").write_text("Loop drive\n")
        place = f"/sys/devices/virtual/block/{drive.node.name}"
        return f"mount -t overlay overlay -o lowerdir={label}:{place} {place}"

    @property
    def enter(self) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-m", "-n", "-u"]

    def run(self, *words: object, check: bool = True, timeout_s: float = _TIMEOUT_S) -> str:
        return call(*self.enter, *words, check=check, timeout_s=timeout_s)

    def pids(self, command: str) -> list[int]:
        """Processes of this machine that run a program, by their numbers outside."""
        return [pid for pid in self.all_pids() if command in _comm(pid)]

    def all_pids(self) -> list[int]:
        """All but the first; none while it is off."""
        first = self.first
        if first is None:
            return []
        try:
            network = Path(f"/proc/{first.pid}/ns/net").readlink()
        except OSError:
            return []
        return [pid for pid in processes_of(network) if pid != first.pid]

    def spawn(self, line: str) -> None:
        """Have the first process start something by the shell, and be its parent."""
        assert self.first is not None
        assert self.first.stdin is not None
        self.first.stdin.write(f"{line}\n")
        self.first.stdin.flush()

    def kill(self, command: str) -> bool:
        """Whether there was one; all are gone when this returns, so that another may be started."""
        pids = self.pids(command)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(command in _comm(pid) for pid in pids), f"{command} of {self.name} is gone")
        return bool(pids)

    def put(self, slot: str, drive: Drive | None) -> None:
        """Put a drive into a slot, or take out what is there; as udev does with its links."""
        link, new = self.slots / slot, self.slots / f".{slot}"
        if drive is None:
            link.unlink(missing_ok=True)
            return
        new.symlink_to(drive.node)
        new.replace(link)

    def in_slot(self, slot: str) -> Drive | None:
        link = self.slots / slot
        return next((d for d in self.drives if link.is_symlink() and link.readlink() == d.node), None)

    def power_off(self) -> None:
        """All at once: nothing gets to end properly."""
        if self.first is None:
            return
        assert self.first.stdin is not None
        assert self.first.stdout is not None
        while pids := self.all_pids():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.first.kill()
        self.first.wait()
        self.first.stdin.close()
        self.first.stdout.close()
        self.first = None


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


@dataclass
class Cluster:
    """``fleet_file`` is what openpts reads of it, ``openpts`` the program that hosts and head start."""

    folder: Path
    head: Machine
    hosts: dict[str, Machine]

    @property
    def fleet_file(self) -> Path:
        return self.folder / "fleet.toml"

    @property
    def program(self) -> Path:
        return self.folder / "openpts"

    def start(self) -> None:
        self._write_files()
        for machine in (self.head, *self.hosts.values()):
            self.boot(machine)
        until(self.is_ready, "all hosts are idle")

    def _write_files(self) -> None:
        self.program.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={os.pathsep.join(filter(None, sys.path))} "
            f"OPENPTS_STATE={self.folder}/$(hostname)/openpts\n"
            f'exec {sys.executable} -c "from openpts.cli.main import main; main()" "$@"\n'
        )
        self.program.chmod(0o755)
        (self.folder / "munge.key").write_bytes(secrets.token_bytes(64))
        (self.folder / "munge.key").chmod(0o400)
        slots = ",".join(f"slot:{name}:1" for name in SLOTS)
        nodes = "\n".join(
            f"NodeName={name} NodeAddr=10.77.0.{host.number} CPUs=8 RealMemory=16000 Gres={slots} "
            "State=UNKNOWN"
            for name, host in self.hosts.items()
        )
        conf = SLURM_CONF.format(head=HEAD, folder=self.folder, nodes=nodes)
        (self.folder / "slurm.conf").write_text(conf)
        gres = "".join(f"Name=slot Type={name} Count=1\n" for name in SLOTS)
        (self.folder / "gres.conf").write_text(gres)
        lines = [f'program = "{self.program}"']
        for name, host in self.hosts.items():
            lines += [f"[hosts.{name}]", f'runs = "{host.folder}/runs"', f"[hosts.{name}.slots]"]
            lines += [f'{slot} = "{host.slots / slot}"' for slot in SLOTS]
        self.fleet_file.write_text("\n".join(lines) + "\n")

    def boot(self, machine: Machine) -> None:
        """Switch a machine on: its network, munged, and the daemon of Slurm that it runs."""
        machine.is_on = False
        machine.boot()
        address = f"10.77.0.{machine.number}/24"
        if machine is self.head:
            machine.run(
                "sh", "-ec", f"ip link add br0 type bridge\nip addr add {address} dev br0\nip link set br0 up"
            )
        else:
            cable = f"otv{machine.number}"
            # what is left of a host goes away some time after its last process
            self.head.run("ip", "link", "delete", cable, check=False)
            call("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", machine.pid)
            call("ip", "link", "set", cable, "netns", self.head.pid)
            self.head.run("ip", "link", "set", cable, "master", "br0", "up")
            machine.run("sh", "-ec", f"ip addr add {address} dev eth0\nip link set eth0 up")
        machine.is_on = True
        for daemon in ("munged", "slurmctld") if machine is self.head else ("munged", "slurmd"):
            self.ensure(machine, daemon)

    def ensure(self, machine: Machine, daemon: str) -> None:
        """Start a daemon if it does not run, as its service would."""
        if machine.pids(daemon) or not machine.is_on:
            return
        folder = machine.folder
        commands = {
            "munged": (
                f"munged --force --num-threads=1 --key-file={self.folder}/munge.key "
                f"--log-file={folder}/munge/log "
                f"--seed-file={folder}/munge/seed --pid-file=/run/munge/pid 2>/dev/null"
            ),
            "slurmctld": f"slurmctld -f {self.folder}/slurm.conf",
            "slurmd": f"slurmd -f {self.folder}/slurm.conf -N {machine.name}",
        }
        machine.spawn(commands[daemon])
        until(lambda: bool(machine.pids(daemon)), f"{daemon} runs on {machine.name}", 60)

    def cut(self, host: Machine, *, up: bool = False) -> None:
        self.head.run("ip", "link", "set", f"otv{host.number}", "up" if up else "down")

    def slurm(self, *words: object, check: bool = True, timeout_s: float = _TIMEOUT_S) -> str:
        """A command of Slurm on the head."""
        return self.head.run(
            "env", f"SLURM_CONF={self.folder}/slurm.conf", *words, check=check, timeout_s=timeout_s
        )

    def openpts(self, *words: object, timeout_s: float = 120) -> "subprocess.CompletedProcess[str]":
        """openpts on the head, where fleets are commanded from."""
        return subprocess.run(
            [*self.command(), *map(str, words)],
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    def command(self) -> list[str]:
        conf = f"SLURM_CONF={self.folder}/slurm.conf"
        return [*self.head.enter, "env", conf, f"OPENPTS_FLEET={self.fleet_file}", str(self.program)]

    def is_ready(self) -> bool:
        states = self.slurm("sinfo", "-h", "-N", "-o", "%T", check=False).split()
        return len(states) == len(self.hosts) and all(
            state in {"idle", "mixed", "allocated"} for state in states
        )

    def end(self) -> None:
        for machine in (*self.hosts.values(), self.head):
            machine.power_off()
        for machine in self.hosts.values():
            for drive in machine.drives:
                call("losetup", "--detach", drive.node, check=False)


@contextmanager
def slurm_cluster() -> Iterator[Cluster]:
    """A cluster that is idle; at the end nothing of it is left, and its folder only if the block fails."""
    folder = Path(tempfile.mkdtemp(prefix="openpts-fleet-", dir="/tmp"))
    folder.chmod(0o755)
    head = Machine(HEAD, 1, folder / HEAD)
    hosts = {name: Machine(name, 11 + at, folder / name) for at, name in enumerate(HOSTS)}
    cluster = Cluster(folder, head, hosts)
    try:
        for host in hosts.values():
            for slot in SLOTS:
                drive = new_drive(host, f"SN-{host.name}-{slot}")
                host.slots.mkdir(parents=True, exist_ok=True)
                host.put(slot, drive)
        cluster.start()
        yield cluster
    finally:
        cluster.end()
    shutil.rmtree(folder)


def new_drive(host: Machine, serial: str) -> Drive:
    backing = host.folder / f"{serial}.drive"
    backing.parent.mkdir(parents=True, exist_ok=True)
    backing.touch()
    os.truncate(backing, DRIVE_BYTES)
    node = Path(call("losetup", "--find", "--show", backing))
    drive = Drive(node, serial, backing)
    host.drives.append(drive)
    return drive
