"""Runs pytest where little is as its author has it: as root, python -m tests.support.anywhere ARGUMENTS.

User 1000 with umask 077 and no environment but TERM=dumb and LANG=C; this checkout at a path with a blank
below /tmp; no io_uring; a root that is an overlay over itself, as of live systems, without terminals (devpts)
and loop devices. What is written there is in memory and goes with the last process.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests import ROOT
from tests.support.machine import forbid_io_uring

_CHECKOUT: Final = ROOT
_CLONE: Final = Path("/tmp/a clone")
_ANYBODY: Final = 1000
_NODES: Final = {"null": "1 3", "zero": "1 5", "full": "1 7", "random": "1 8", "urandom": "1 9", "tty": "5 0"}
_MOUNTED: Final = f"""
mount -t tmpfs -o size=90% none /mnt
mkdir /mnt/upper /mnt/work /mnt/root /mnt/clone /mnt/cloned
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
mkdir -p '/mnt/root{_CLONE}'
mount -t overlay -o 'lowerdir={_CHECKOUT},upperdir=/mnt/clone,workdir=/mnt/cloned' overlay '/mnt/root{_CLONE}'
cd /mnt/root
mount -t proc none proc
mount -t sysfs none sys
mount -t tmpfs -o mode=755 none dev
{"; ".join(f"mknod -m 666 dev/{name} c {numbers}" for name, numbers in _NODES.items())}
mkdir -m 1777 dev/shm
mount -t tmpfs none dev/shm
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 none run
mkdir -p run/before
pivot_root . run/before
umount --lazy /run/before
"""


def _own_clone() -> None:
    """The virtual environment names the place in which it was made."""
    for parent in Path(sys.executable).resolve().parents:
        parent.chmod(parent.stat().st_mode | 0o011)
    for file in Path(".venv/lib").glob("python*/site-packages/openpts*.pth"):
        file.write_text(file.read_text().replace(str(_CHECKOUT), str(_CLONE)))
    os.chown(".", _ANYBODY, _ANYBODY)


def main() -> None:
    if os.geteuid() != 0:
        sys.exit("needs root, to mount another root and leave it at once: sudo make test-anywhere")
    if sys.argv[1] != "--inside":
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        command = [sys.executable, "-m", "tests.support.anywhere", "--inside", *sys.argv[1:]]
        sys.exit(subprocess.run([*namespaces, *command], check=False).returncode)
    subprocess.run(["sh", "-ec", _MOUNTED], check=True)
    os.chdir(_CLONE)
    _own_clone()
    if tests := os.fork():  # as the first process of its namespace it gets the children that others leave
        while (ended := os.wait())[0] != tests:
            pass
        sys.exit(os.waitstatus_to_exitcode(ended[1]))
    os.setgroups([])
    os.setgid(_ANYBODY)
    os.setuid(_ANYBODY)
    os.umask(0o077)
    forbid_io_uring()
    python = str(_CLONE / ".venv/bin/python")
    os.execve(python, [python, "-m", "pytest", *sys.argv[2:]], {"TERM": "dumb", "LANG": "C"})


if __name__ == "__main__":
    main()
