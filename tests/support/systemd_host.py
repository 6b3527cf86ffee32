"""Hosts for tests: a systemd as first process of namespaces of its own, with an OpenSSH server and a link.

The file system is the machine's, but for /run and what a test mounts; processes, cgroups, network, name and
boot ID are the host's own. A kill of its systemd takes all its processes along, as a power cut does.
"""

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from openpts.errors import FleetError
from openpts_many.fleet.configuration import Host, Slot
from openpts_many.fleet.remote import Remote

SYSTEMD = Path("/lib/systemd/systemd")
PROGRAMS = ("setpriv", "unshare", "ip", "sshd", "ssh", "ssh-keygen", "systemd-run")
READY_S = 60
AUTHORIZED = Path("/run/authorized_keys")  # where all users can read it
START = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
cp {key}.pub {authorized}
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
mount --bind {boot_id} /proc/sys/kernel/random/boot_id
export container=openpts SYSTEMD_UNIT_PATH={units}
exec {systemd} --system --show-status=0 --log-target=console
"""
SSH_UNIT = """
[Service]
RuntimeDirectory=sshd
ExecStart={sshd} -D -e -f {config}
StandardOutput=append:{log}
StandardError=append:{log}
"""
SSHD = """
HostKey {key}
AuthorizedKeysFile {authorized}
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
"""


def missing() -> str:
    """Why there can be no such host here; empty if there can."""
    if os.geteuid() != 0:
        return "not root: namespaces need it"
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"no {', '.join(lacking)} here"
    if not SYSTEMD.exists():
        return "no systemd here"
    return "" if cgroup2() else "no cgroup2 here"


def cgroup2() -> Path | None:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4])
    return None


@dataclass
class SystemdHost:
    """``host`` is how a fleet reaches it. ``script`` starts it; ``ours`` is our end of its link."""

    host: Host
    folder: Path
    group: Path
    script: str
    link: str
    ours: str
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def log(self) -> Path:
        return self.folder / "sshd.log"

    def boot(self) -> None:
        """Return when it answers on ssh."""
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        self.group.mkdir()
        words = ("--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--cgroup", "--uts", "--ipc")
        with (self.folder / "systemd.log").open("ab") as output:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *words, "--net", "sh", "-c", self.script],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=lambda: (self.group / "cgroup.procs").write_text("0") and None,  # noqa: PLW1509 alone
            )
        _connect(self)
        _wait_for(self.host)

    def lose_power(self) -> None:
        """All its processes at once; what they wrote stays."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        with suppress(subprocess.CalledProcessError):
            subprocess.run(["ip", "link", "del", self.link], check=True, capture_output=True)
        _remove(self.group)

    def cut(self) -> None:
        subprocess.run(["ip", "link", "set", self.link, "down"], check=True)

    def join(self) -> None:
        subprocess.run(["ip", "link", "set", self.link, "up"], check=True)

    def inside(self, *words: str) -> str:
        """What a command on the host prints, without ssh."""
        command = ["nsenter", "-t", str(self.first_process), "-a", "--", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    @property
    def first_process(self) -> int:
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])


def client_options(key: Path, known: Path) -> tuple[str, ...]:
    """Words for ssh that make it independent of who uses it."""
    options = f"-oUserKnownHostsFile={known}", "-oStrictHostKeyChecking=accept-new"
    return "-F", "none", "-i", str(key), *options


@contextmanager
def systemd_host(folder: Path, number: int, slots: dict[str, Slot], program: str) -> Iterator[SystemdHost]:
    """A host that answers on ssh, with its folder of runs below ``folder``."""
    name = f"h{number}"
    units, runs = folder / "units", folder / "runs"
    key, host_key, config = folder / "key", folder / "host-key", folder / "sshd_config"
    for made in (units, runs):
        made.mkdir(parents=True)
    for made in (key, host_key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", made], check=True)
    config.write_text(SSHD.format(key=host_key, authorized=AUTHORIZED))
    ssh_unit = SSH_UNIT.format(sshd=shutil.which("sshd"), config=config, log=folder / "sshd.log")
    (units / "ssh.service").write_text(ssh_unit)
    (units / "default.target").write_text("[Unit]\nWants=ssh.service\n")
    for target in ("sysinit", "basic", "shutdown", "umount", "final", "exit"):
        (units / f"{target}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    group = (cgroup2() or Path()) / f"openpts-{os.getpid()}-{name}"
    link, subnet = f"op{os.getpid() % 10**7}h{number}", f"10.213.{os.getpid() % 250}"
    ours, theirs = f"{subnet}.{4 * number + 1}", f"{subnet}.{4 * number + 2}"
    start = START.format(
        units=units, systemd=SYSTEMD, key=key, authorized=AUTHORIZED, boot_id=folder / "boot_id"
    )
    host = Host(
        name=name,
        address=theirs,
        user="root",
        ssh_options=client_options(key, folder / "known"),
        runs=runs,
        program=program,
        housekeeping=(),
        slots=slots,
        fleet_file=folder.parent / "fleet.toml",
    )
    made = SystemdHost(host, folder, group, start, link, ours)
    try:
        made.boot()
        yield made
    finally:
        made.lose_power()


def _connect(host: SystemdHost) -> None:
    for words in (
        ("ip", "link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", str(_fork(host))),
        ("ip", "address", "add", f"{host.ours}/30", "dev", host.link),
        ("ip", "link", "set", host.link, "up"),
    ):
        subprocess.run(words, check=True)
    host.inside("hostname", host.host.name)  # systemd has set that of the machine
    host.inside("ip", "address", "add", f"{host.host.address}/30", "dev", "eth0")
    host.inside("ip", "link", "set", "eth0", "up")


def _fork(host: SystemdHost) -> int:
    """The first process of the host, once it is there."""
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s:
        with suppress(IndexError, OSError):
            return host.first_process
        time.sleep(0.02)
    raise TimeoutError("no namespaces")


def _wait_for(host: Host) -> None:
    deadline_s = time.monotonic() + READY_S
    while True:
        try:
            Remote(host).ask(["true"])
        except FleetError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)
        else:
            return


def _remove(group: Path) -> None:
    """The kernel takes a moment to let go of processes that were killed."""
    deadline_s = time.monotonic() + READY_S
    while group.exists() and time.monotonic() < deadline_s:
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.05)
