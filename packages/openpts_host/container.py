"""Whether this process runs in a container, and what control groups (v1, v2) limit: I/O, processor time."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, printable, read_bytes, read_lines, read_text
from openpts.vocabulary.facts import Fact, Facts

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
    text = " ".join(read_lines(roots.proc / groups))
    if maker := next((name for name in _MAKERS if name in text), ""):
        return Fact(f"container ({maker})", f"{roots.proc}/{groups}")
    lines = read_lines(roots.proc / mounts)
    if any(_OWN_FILES.search(line) for line in lines):
        return Fact("container", f"{roots.proc}/{mounts}")
    if not lines:
        return Fact(None, f"{source}: can't be read")
    return Fact("none seen", source)


def _from_environment(roots: SystemRoots) -> str:
    """What a container's maker sets for the first process; only root may read it."""
    for variable in (read_bytes(roots.proc / "1/environ") or b"").split(b"\0"):
        if variable.startswith(b"container="):
            return printable(variable.removeprefix(b"container=").decode(errors="replace"))
    return ""


_V1_LIMITS = tuple(
    f"blkio.throttle.{direction}_{unit}_device" for direction in ("read", "write") for unit in ("bps", "iops")
)


def control_group_limits(roots: SystemRoots, device_number: str | None = None) -> Facts:
    """Limits of our group and of all above it, under the keys of the host audit.

    ``device_number`` is ``major:minor`` of the disk whose limits count; None: those of any.
    """
    groups = control_groups(roots)
    source = f"{roots.proc}/self/cgroup, {roots.sys}/fs/cgroup"
    if not groups:
        reason = f"{source}: no control groups are to be seen"
        return {"io_limit": Fact(None, reason), "cpu_limit": Fact(None, reason)}
    io_limits = [text for group in groups for text in _io_limits(group, device_number)]
    cpu_limits = [text for group in groups for text in _cpu_limits(group)]
    return {
        "io_limit": Fact("; ".join(dict.fromkeys(io_limits)) or "none", f"{source}: io.max, io.latency"),
        "cpu_limit": Fact("; ".join(dict.fromkeys(cpu_limits)) or "none", f"{source}: cpu.max, cpuset"),
    }


def control_groups(roots: SystemRoots) -> tuple[Path, ...]:
    """Folders of our groups and of all above them, in every hierarchy that is mounted in the usual place."""
    mounted = roots.sys / "fs/cgroup"
    found: list[Path] = []
    for line in read_lines(roots.proc / "self/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        places = (
            [mounted / controllers.removeprefix("name=")] if controllers else [mounted, mounted / "unified"]
        )
        for top in places:
            group = top / path.strip("/")
            # in a container the path is that of the host, of which only the lowest part is mounted
            own = group if group.is_dir() else top
            found += [own, *(parent for parent in own.parents if parent.is_relative_to(top))]
    return tuple(dict.fromkeys(group for group in found if group.is_dir()))


def _io_limits(group: Path, device_number: str | None) -> Iterator[str]:
    for name in ("io.max", "io.latency", *_V1_LIMITS):
        for line in read_lines(group / name):
            number, _, limits = line.partition(" ")
            bounded = " ".join(one for one in limits.split() if not one.endswith("=max"))
            if bounded and device_number in {None, number}:
                yield f"{name.removeprefix('blkio.throttle.')} {number} {bounded} ({group.name})"


def cpu_quota(roots: SystemRoots) -> float | None:
    """How many processors' time our groups may use at most; None if they may use any."""
    quotas = []
    for group in control_groups(roots):
        fields = (read_text(group / "cpu.max") or "").split()
        if len(fields) != 2:
            v1 = (read_text(group / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
            fields = list(v1)
        if all(field.isdecimal() and int(field) for field in fields):
            quotas.append(int(fields[0]) / int(fields[1]))
    return min(quotas, default=None)


def _cpu_limits(group: Path) -> Iterator[str]:
    quota = read_text(group / "cpu.max") or ""
    if quota and not quota.startswith("max"):
        yield f"cpu.max {quota} ({group.name})"
    microseconds = read_text(group / "cpu.cfs_quota_us") or ""
    if microseconds.isdecimal() and microseconds != "0":
        yield f"cpu.cfs_quota_us {microseconds} ({group.name})"
    processors = read_text(group / "cpuset.cpus")
    if processors and not _is_all(processors, group):
        yield f"cpuset.cpus {processors} ({group.name})"


def _is_all(processors: str, group: Path) -> bool:
    """Whether a set is that of its top: version 1 writes all processors there."""
    top = next((parent for parent in group.parents if parent.name == "cpuset"), group)
    return processors == read_text(top / "cpuset.cpus") and top.name == "cpuset"
