"""Timers and services that systemd may start in the middle of a test, and who forbids the machine to sleep.

A run forbids it, too, while its process lives (SOL-PWR-02, SOL-PWR-05).
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from openpts.programs import ProgramError, ProgramRunner, find_program, run_program
from openpts.system_files import SystemRoots, printable, read_text
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.activities import running_updaters
from openpts_host.setting_file import HostSettingError

_TIMEOUT_S: Final = 5.0
_LOGIND: Final = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")

TRIM_UNITS: Final = ("fstrim.timer",)
UPDATE_UNITS: Final = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-automatic.timer",
    "dnf-makecache.timer",
    "fwupd-refresh.timer",
    "packagekit.service",
    "snapd.refresh.timer",
    "unattended-upgrades.service",
    "update-notifier-download.timer",
)
MAINTENANCE_UNITS: Final = (
    "btrfs-balance.timer",
    "btrfs-scrub.timer",
    "btrfs-trim.timer",
    "btrbk.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "logrotate.timer",
    "man-db.timer",
    "mdcheck_continue.timer",
    "mdcheck_start.timer",
    "mdmonitor-oneshot.timer",
    "mlocate-updatedb.timer",
    "plocate-updatedb.timer",
    "raid-check.timer",
    "snapper-cleanup.timer",
    "snapper-timeline.timer",
    "systemd-tmpfiles-clean.timer",
    "updatedb.timer",
    "xfs_scrub_all.timer",
    "zfs-scrub-monthly.timer",
    "zfs-trim-monthly.timer",
)


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
        blocking = [(str(who), str(why)) for what, who, why, mode, *_ in listed if _blocks(what, mode)]
    except (ProgramError, ValueError, KeyError, TypeError):
        return None
    return {printable(who): printable(why) for who, why in blocking}


def _blocks(what: str, mode: str) -> bool:
    return mode == "block" and "sleep" in what.split(":")


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
