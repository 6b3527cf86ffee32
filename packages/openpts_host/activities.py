"""What else the machine does beside a test: load, pressure, swap, and programs and kernel work."""

from collections.abc import Collection
from typing import Final

from openpts.system_files import SystemRoots, read_lines, read_text
from openpts.units import GB
from openpts.vocabulary.facts import Fact, Facts

# Names as the kernel has them: fifteen characters at most.
_INDEXERS: Final = frozenset(
    {
        "baloo_file",
        "baloo_file_extr",
        "localsearch-3",
        "localsearch-ext",
        "locate",
        "mlocate",
        "plocate-build",
        "recollindex",
        "tracker-extract",
        "tracker-miner-f",
        "updatedb",
        "updatedb.mlocat",
        "updatedb.plocat",
    }
)
_SCANNERS: Final = frozenset(
    {
        "clamd",
        "clamdscan",
        "clamonacc",
        "clamscan",
        "esets_daemon",
        "falcon-sensor",
        "falcon-sensor-b",
        "freshclam",
        "mdatp",
        "rkhunter",
        "savd",
        "sentinelone-age",
        "wdavdaemon",
    }
)
_UPDATERS: Final = frozenset(
    {
        "apt",
        "apt-get",
        "apt.systemd.dai",
        "aptitude",
        "dnf",
        "dpkg",
        "dpkg-deb",
        "fwupdmgr",
        "pacman",
        "rpm",
        "unattended-upgr",
        "yum",
        "zypper",
    }
)
_SCANS: Final = frozenset({"btrfs", "e2scrub", "e4defrag", "fsck", "fstrim", "xfs_fsr", "xfs_scrub", "zpool"})
_TUNERS: Final = frozenset(
    {"auto-cpufreq", "laptop_mode", "power-profiles-", "powertop", "thermald", "tlp", "tuned", "tuned-ppd"}
)
_CRON: Final = frozenset({"anacron", "atd", "cron", "crond", "fcron"})
_MONITORS: Final = frozenset({"smartd"})
_BALANCERS: Final = frozenset({"irqbalance"})


def activity_facts(roots: SystemRoots) -> Facts:
    """What runs, under the keys of the host audit; all None where no process is to be seen."""
    names = _processes(roots)
    source = f"{roots.proc}/*/comm"
    if not names:
        keys = ("indexers", "scanners", "drive_monitor", "tuning_services", "cron", "irqbalance", "scans")
        return {key: Fact(None, f"{source}: no process is to be seen") for key in keys}
    return {
        "indexers": Fact(_seen(names, _INDEXERS), source),
        "scanners": Fact(_seen(names, _SCANNERS), source),
        "drive_monitor": Fact(_seen(names, _MONITORS), source),
        "tuning_services": Fact(_seen(names, _TUNERS), source),
        "cron": _cron(names, roots),
        "irqbalance": Fact("running" if names & _BALANCERS else "not running", source),
        "scans": _scans(names, roots),
    }


def running_updaters(roots: SystemRoots) -> tuple[str, ...]:
    """Programs that install software at this moment."""
    return tuple(sorted(_processes(roots) & _UPDATERS))


def _processes(roots: SystemRoots) -> frozenset[str]:
    """Names of all processes; of a kernel thread as well."""
    return frozenset(name for path in roots.proc.glob("[0-9]*/comm") if (name := read_text(path)) is not None)


def _seen(names: Collection[str], expected: Collection[str]) -> str:
    return ", ".join(sorted(set(names) & set(expected))) or "none seen"


def _cron(names: frozenset[str], roots: SystemRoots) -> Fact:
    source = f"{roots.proc}/*/comm, {roots.etc}/{{crontab,cron.d,cron.daily,cron.weekly,cron.monthly}}"
    running = sorted(names & _CRON)
    if not running:
        return Fact("not running", source)
    folders = ("cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly")
    jobs = [
        job for folder in folders for job in (roots.etc / folder).glob("*") if not job.name.startswith(".")
    ]
    return Fact(f"{', '.join(running)} with {len(jobs)} jobs of the system", source)


def _scans(names: frozenset[str], roots: SystemRoots) -> Fact:
    """Programs that go over whole drives, arrays that are being repaired, file systems being rearranged."""
    found = sorted(names & _SCANS)
    for action in sorted((roots.sys / "block").glob("md*/md/sync_action")):
        if (text := read_text(action)) not in {None, "idle", "frozen"}:
            found.append(f"{action.parents[1].name} {text}{_progress(roots, action.parents[1].name)}")
    for operation in sorted((roots.sys / "fs/btrfs").glob("*/exclusive_operation")):
        if (text := read_text(operation)) not in {None, "none"}:
            found.append(f"btrfs {text}")
    source = f"{roots.proc}/*/comm, md/sync_action, btrfs exclusive_operation"
    return Fact(", ".join(found) or "none seen", source)


def _progress(roots: SystemRoots, array: str) -> str:
    words = (read_text(roots.sys / "block" / array / "md/sync_completed") or "").split(" / ")
    if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
        return f" {100 * int(words[0]) / int(words[1]):.0f} %"
    return ""


_BYTES_PER_KB = 1024  # of meminfo, whatever it writes
_RESOURCES = ("cpu", "io", "memory")


def load_facts(roots: SystemRoots) -> Facts:
    """Load averages, pressure stall information and swap in use, under the keys of the host audit."""
    return {"load": _load(roots), "pressure": _pressure(roots), "swap": _swap(roots)}


def _load(roots: SystemRoots) -> Fact:
    path = roots.proc / "loadavg"
    fields = (read_text(path) or "").split()
    return Fact(" ".join(fields[:3]) if len(fields) >= 3 else None, f"{path}: 1, 5, 15 min")


def _pressure(roots: SystemRoots) -> Fact:
    """Share of the last 10 s in which some task waited for each resource."""
    folder = roots.proc / "pressure"
    shares = []
    for resource in _RESOURCES:
        words = next((line.split() for line in read_lines(folder / resource) if line[:5] == "some "), [])
        average = next((word.removeprefix("avg10=") for word in words if word.startswith("avg10=")), None)
        if average is not None:
            shares.append(f"{resource} {average} %")
    return Fact(", ".join(shares) or None, f"{folder}: some, 10 s")


def _swap(roots: SystemRoots) -> Fact:
    path = roots.proc / "meminfo"
    sizes = {
        fields[0]: int(fields[1]) * _BYTES_PER_KB
        for line in read_lines(path)
        if len(fields := line.split()) == 3 and fields[1].isdecimal()
    }
    total, free = sizes.get("SwapTotal:"), sizes.get("SwapFree:")
    if total is None or free is None:
        return Fact(None, f"{path} has no SwapTotal and SwapFree")
    text = f"{(total - free) / GB:,.1f} GB in use of {total / GB:,.1f} GB" if total else "none"
    return Fact(text, path.as_posix())
