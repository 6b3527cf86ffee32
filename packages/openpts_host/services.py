"""What else the machine does beside a test: load, pressure, swap, programs, timers and services of systemd.

And who forbids it to sleep: a run does, too, while its process lives (SOL-PWR-02, SOL-PWR-05).
"""

import json
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from openpts.programs import ProgramError, ProgramRunner, find_program, run_program
from openpts.system_files import SystemRoots, printable, read_lines, read_text
from openpts.units import GB
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.setting_file import HostSettingError

# Names as the kernel has them: fifteen characters at most.
_INDEXERS: Final = frozenset({
    "baloo_file", "baloo_file_extr", "localsearch-3", "localsearch-ext", "locate", "mlocate", "plocate-build",
    "recollindex", "tracker-extract", "tracker-miner-f", "updatedb", "updatedb.mlocat", "updatedb.plocat",
})  # fmt: skip
_SCANNERS: Final = frozenset({
    "clamd", "clamdscan", "clamonacc", "clamscan", "esets_daemon", "falcon-sensor", "falcon-sensor-b",
    "freshclam", "mdatp", "rkhunter", "savd", "sentinelone-age", "wdavdaemon",
})  # fmt: skip
_UPDATERS: Final = frozenset({
    "apt", "apt-get", "apt.systemd.dai", "aptitude", "dnf", "dpkg", "dpkg-deb", "fwupdmgr", "pacman", "rpm",
    "unattended-upgr", "yum", "zypper",
})  # fmt: skip
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
    counts = (read_text(roots.sys / "block" / array / "md/sync_completed") or "").split(" / ")
    if len(counts) == 2 and all(count.isdecimal() for count in counts) and int(counts[1]):
        return f" {100 * int(counts[0]) / int(counts[1]):.0f} %"
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
        fields = next((line.split() for line in read_lines(folder / resource) if line[:5] == "some "), [])
        average = next((one.removeprefix("avg10=") for one in fields if one.startswith("avg10=")), None)
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


_TIMEOUT_S: Final = 5.0
_LOGIND: Final = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")

TRIM_UNITS: Final = ("fstrim.timer",)
UPDATE_UNITS: Final = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dnf-automatic.timer", "dnf-makecache.timer",
    "fwupd-refresh.timer", "packagekit.service", "snapd.refresh.timer", "unattended-upgrades.service",
    "update-notifier-download.timer",
)  # fmt: skip
MAINTENANCE_UNITS: Final = (
    "btrfs-balance.timer", "btrfs-scrub.timer", "btrfs-trim.timer", "btrbk.timer", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "logrotate.timer", "man-db.timer", "mdcheck_continue.timer", "mdcheck_start.timer",
    "mdmonitor-oneshot.timer", "mlocate-updatedb.timer", "plocate-updatedb.timer", "raid-check.timer",
    "snapper-cleanup.timer", "snapper-timeline.timer", "systemd-tmpfiles-clean.timer", "updatedb.timer",
    "xfs_scrub_all.timer", "zfs-scrub-monthly.timer", "zfs-trim-monthly.timer",
)  # fmt: skip


def service_facts(roots: SystemRoots, run: ProgramRunner = run_program) -> Facts:
    """Timers and services under the keys of the host audit; without systemd nothing can start so."""
    active, source = active_units((*TRIM_UNITS, *UPDATE_UNITS, *MAINTENANCE_UNITS), roots, run)
    updaters = running_updaters(roots)
    return {
        "trim_timer": _units_fact(TRIM_UNITS, active, source),
        "updates": _units_fact(UPDATE_UNITS, active, source, updaters),
        "maintenance": _units_fact(MAINTENANCE_UNITS, active, source),
    }


def active_units(
    units: Sequence[str], roots: SystemRoots, run: ProgramRunner = run_program
) -> tuple[tuple[str, ...] | None, str]:
    """The active ones of ``units``, with the source; None if unknown."""
    if not _runs_systemd(roots):
        return (), f"{roots.proc}/1/comm: systemd does not run this machine"
    command = ("systemctl", "show", "--property=Id,ActiveState", *units)
    try:
        answer = run(command, _TIMEOUT_S)
    except ProgramError as error:
        return None, str(error)
    if answer.returncode:
        return None, f"systemctl: {answer.complaint}"
    blocks = answer.stdout.split("\n\n")
    states = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in blocks]
    active = {state.get("Id", "") for state in states if state.get("ActiveState") in {"active", "activating"}}
    return tuple(unit for unit in units if unit in active), "systemctl show"


def _runs_systemd(roots: SystemRoots) -> bool:
    """Whether the first process is systemd."""
    return read_text(roots.proc / "1/comm") == "systemd"


def sleep_inhibitors(roots: SystemRoots, run: ProgramRunner = run_program) -> Mapping[str, str] | None:
    """Who forbids the machine to sleep, with why; None where there is no list of them.

    logind answers with structures of what, who, why, mode, user and process (org.freedesktop.login1).
    """
    if not _runs_systemd(roots):
        return None
    try:
        answer = run(("busctl", "--json=short", "call", *_LOGIND, "ListInhibitors"), _TIMEOUT_S)
        (listed,) = json.loads(answer.stdout)["data"]
        blocking = [
            (str(who), str(why))
            for what, who, why, mode, *_ in listed
            if mode == "block" and "sleep" in what.split(":")
        ]
    except (ProgramError, ValueError, KeyError, TypeError):
        return None
    return {printable(who): printable(why) for who, why in blocking}


def _units_fact(
    units: Sequence[str], active: Sequence[str] | None, source: str, running: Sequence[str] = ()
) -> Fact:
    if active is None and not running:
        return Fact(None, source)
    found = [*running, *(unit for unit in units if unit in (active or ()))]
    return Fact(f"active: {', '.join(found)}" if found else "stopped, or not there", source)


_PROGRAM: Final = "systemd-inhibit"
_END_S: Final = 5.0


@contextmanager
def no_sleep(roots: SystemRoots) -> Iterator[None]:
    """logind holds the inhibition until the program started here ends, which waits for the end of a pipe.

    The pipe closes when this process ends, also when it is killed. Raises HostSettingError if
    sleep can't be inhibited.
    """
    program = find_program(_PROGRAM)
    if not _runs_systemd(roots):
        raise HostSettingError("cannot inhibit sleep: systemd is not running")
    if program is None:
        raise HostSettingError(f"cannot inhibit sleep: {_PROGRAM} is not installed")
    command = [
        program,
        "--what=sleep:idle:handle-suspend-key:handle-hibernate-key:handle-lid-switch:handle-power-key",
        "--who=openpts",
        "--why=a drive is being measured",
        "--mode=block",
        "sh",
        "-c",
        "echo held; exec cat",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as holder:
        assert holder.stdin is not None and holder.stdout is not None and holder.stderr is not None  # noqa: S101, PT018 pipes
        if holder.stdout.readline() != b"held\n":
            complaint = holder.stderr.read().decode(errors="replace").strip()
            raise HostSettingError(f"{_PROGRAM}: {complaint or 'it ended without a message'}")
        try:
            yield
        finally:
            holder.stdin.close()
            try:
                holder.wait(_END_S)
            except subprocess.TimeoutExpired:
                holder.kill()
