"""A host for tests: a systemd as first process of namespaces of its own.

The file system is the machine's, but for /run; processes and cgroups are the host's own. A kill of its
systemd takes all its processes along.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SYSTEMD = Path("/lib/systemd/systemd")
PROGRAMS = ("setpriv", "unshare", "systemd-run")
READY_S = 60
START = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
export container=openpts SYSTEMD_UNIT_PATH={units}
exec {systemd} --system --show-status=0 --log-target=console
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
    """``script`` starts it; ``group`` is its part of the machine's control groups."""

    folder: Path
    group: Path
    script: str
    process: "subprocess.Popen[bytes] | None" = None

    def boot(self) -> None:
        """Return when its systemd answers."""
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
        deadline_s = time.monotonic() + READY_S
        while time.monotonic() < deadline_s:
            with suppress(IndexError, OSError, subprocess.CalledProcessError):
                self.inside("systemctl", "list-units")
                return
            time.sleep(0.1)
        raise TimeoutError("no systemd")

    def end(self) -> None:
        """All its processes at once; what they wrote stays."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        _remove(self.group)

    def inside(self, *words: str) -> str:
        """What a command on the host prints."""
        command = ["nsenter", "-t", str(self.first_process), "-a", "--", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    @property
    def first_process(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])


@contextmanager
def systemd_host(folder: Path) -> Iterator[SystemdHost]:
    """A host whose units are below ``folder``."""
    units = folder / "units"
    units.mkdir(parents=True)
    for target in ("default", "sysinit", "basic", "shutdown", "umount", "final", "exit"):
        (units / f"{target}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    group = (cgroup2() or Path()) / f"openpts-{os.getpid()}"
    made = SystemdHost(folder, group, START.format(units=units, systemd=SYSTEMD))
    try:
        made.boot()
        yield made
    finally:
        made.end()


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
