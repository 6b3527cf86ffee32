"""Whether this process runs in a container, with limits set from outside."""

import re
from typing import Final

from openpts.system_files import SystemRoots, printable, read_lines
from openpts.vocabulary.facts import Fact

_MAKERS: Final = ("docker", "kubepods", "libpod", "containerd", "lxc", "crio", "machine.slice/systemd-nspawn")
_OWN_FILES: Final = re.compile(
    r" (\S*/(?:containers|kubelet|overlay-containers)/\S*) /etc/(?:hostname|hosts|resolv\.conf) "
)


def container_fact(roots: SystemRoots) -> Fact:
    """Seen from the first process' environment, our control groups, and where our files come from."""
    environment, groups, mounts = "1/environ", "self/cgroup", "self/mountinfo"
    source = f"{roots.proc}/{{{environment},{groups},{mounts}}}"
    if maker := _from_environment(roots):
        return Fact(f"container ({maker})", f"{roots.proc}/{environment}")
    words = " ".join(read_lines(roots.proc / groups))
    if maker := next((name for name in _MAKERS if name in words), ""):
        return Fact(f"container ({maker})", f"{roots.proc}/{groups}")
    lines = read_lines(roots.proc / mounts)
    if any(_OWN_FILES.search(line) for line in lines):
        return Fact("container", f"{roots.proc}/{mounts}")
    if not lines:
        return Fact(None, f"{source}: can't be read")
    return Fact("none seen", source)


def _from_environment(roots: SystemRoots) -> str:
    """What a container's maker tells the first process; only root may read it."""
    try:
        content = (roots.proc / "1/environ").read_bytes()
    except OSError:
        return ""
    for variable in content.split(b"\0"):
        if variable.startswith(b"container="):
            return printable(variable.removeprefix(b"container=").decode(errors="replace"))
    return ""
