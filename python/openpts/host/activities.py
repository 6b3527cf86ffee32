"""Programs and kernel work that use drives or processors beside a test, seen in one look over /proc."""

from collections.abc import Collection
from typing import Final

from openpts.system_files import SystemRoots, read_text
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


def _seen(names: Collection[str], wanted: Collection[str]) -> str:
    return ", ".join(sorted(set(names) & set(wanted))) or "none seen"


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
