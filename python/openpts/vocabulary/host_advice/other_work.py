"""What is advised for everything else that a machine does."""

import re
from typing import Final

from openpts.vocabulary.host_advice.advice import (
    BOTH,
    NEITHER,
    SHIPPED,
    Advice,
    Group,
    Suits,
    either,
    first_number,
    starts_with,
)

_IDLE_LOAD: Final = 1.0
_IDLE_PRESSURE_PCT: Final = 1.0
_NO_OTHER_WORK: Final = "no other work"
_NONE_SEEN: Final = {"none seen": BOTH}


def _load(value: str) -> Suits | None:
    load = first_number(value)
    return None if load is None else BOTH if load < _IDLE_LOAD else NEITHER


def _pressure(value: str) -> Suits:
    shares = [float(found) for found in re.findall(r"(\d+(?:\.\d+)?) %", value)]
    return BOTH if all(share < _IDLE_PRESSURE_PCT for share in shares) else NEITHER


OTHER_WORK: Final = (
    Advice(
        "load",
        Group.OTHER_WORK,
        "Load average",
        f"below {_IDLE_LOAD:g}",
        f"below {_IDLE_LOAD:g}",
        _NO_OTHER_WORK,
        _load,
        is_state=True,
    ),
    Advice(
        "pressure",
        Group.OTHER_WORK,
        "Waiting tasks (PSI)",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        _NO_OTHER_WORK,
        _pressure,
        is_state=True,
    ),
    Advice(
        "trim_timer",
        Group.OTHER_WORK,
        "Trim by a timer (fstrim)",
        "stopped during a test",
        "stopped during a test",
        "it trims drives that are mounted, and a drive under test shares their way",
        starts_with("stopped"),
        ("SOL-OS-14", "SOL-GEN-09"),
    ),
    Advice(
        "updates",
        Group.OTHER_WORK,
        "Updates",
        "stopped during a test",
        "stopped during a test",
        "they come seldom and hit hard",
        starts_with("stopped"),
        ("SOL-OS-15", "SOL-OS-16", "SOL-GEN-09"),
    ),
    Advice(
        "maintenance",
        Group.OTHER_WORK,
        "Timers of maintenance",
        "stopped during a test",
        "stopped during a test",
        "checks of arrays and file systems read whole drives",
        starts_with("stopped"),
        ("SOL-OS-09", "SOL-OS-14", "SOL-OS-16", "SOL-GEN-09"),
    ),
    Advice(
        "cron",
        Group.OTHER_WORK,
        "Jobs by cron",
        "none due",
        "none due",
        "they start in the middle of a test",
        either(SHIPPED, **{"not running": BOTH}),
        ("SOL-OS-16",),
        is_minor=True,
    ),
    Advice(
        "indexers",
        Group.OTHER_WORK,
        "Indexing of files",
        "not running",
        "not running",
        "it reads drives and takes processor time",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-07",),
        is_state=True,
    ),
    Advice(
        "scanners",
        Group.OTHER_WORK,
        "Virus scanners",
        "not running",
        "not running",
        "they look at files as they are opened",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-02", "SOL-OS-18"),
        is_state=True,
    ),
    Advice(
        "scans",
        Group.OTHER_WORK,
        "Scans of drives and arrays",
        "not running",
        "not running",
        "resync, scrub and balance read and write whole drives",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-14", "SOL-GEN-09"),
        is_state=True,
    ),
    Advice(
        "self_test",
        Group.OTHER_WORK,
        "Self-test of the drive",
        "none",
        "none",
        "the drive reads its own media beside the test",
        starts_with("none"),
        is_state=True,
    ),
    Advice(
        "drive_monitor",
        Group.OTHER_WORK,
        "Watching of drives (smartd)",
        "not running",
        "not running",
        "it sends commands to drives and may start self-tests",
        either(SHIPPED, **_NONE_SEEN),
        is_state=True,
        is_minor=True,
    ),
    Advice(
        "tuning_services",
        Group.OTHER_WORK,
        "Services that set power by themselves",
        "told",
        "none",
        "they may undo settings during a test",
        either(SHIPPED, **_NONE_SEEN),
        is_state=True,
        is_minor=True,
    ),
)
