"""The table of the host audit, used by the report's page and by `openpts doctor`.

A *real-world* measurement is of the machine as its users have it, a *synthetic* one of the drive alone. A
value may suit both, one or neither; some are recorded and not judged.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from openpts_host.advice.advice import (
    BOTH,
    END_IT,
    NEITHER,
    RECORDED,
    SHIPPED,
    Advice,
    Group,
    Suits,
    either,
    first_number,
    starts_with,
)
from openpts_host.advice.drive import DRIVE_LINK, DRIVE_QUEUE
from openpts_host.advice.machine import MACHINE, MEMORY, PROCESSOR

_IDLE_LOAD: Final = 1.0
_IDLE_PRESSURE_PCT: Final = 1.0
_COMPETES: Final = "other work competes for the processors and the drive"
_NONE_SEEN: Final = {"none seen": BOTH}


def _load(value: str) -> Suits | None:
    load = first_number(value)
    return None if load is None else BOTH if load < _IDLE_LOAD else NEITHER


def _pressure(value: str) -> Suits:
    shares = [float(found) for found in re.findall(r"(\d+(?:\.\d+)?) %", value)]
    return BOTH if all(share < _IDLE_PRESSURE_PCT for share in shares) else NEITHER


_of_other_work: Final = partial(Advice, Group.OTHER_WORK)

OTHER_WORK: Final = (
    _of_other_work(
        "load",
        "Load average",
        f"below {_IDLE_LOAD:g}",
        f"below {_IDLE_LOAD:g}",
        _COMPETES,
        _load,
        is_state=True,
        remedy="end other programs",
    ),
    _of_other_work(
        "pressure",
        "Waiting tasks (PSI)",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        _COMPETES,
        _pressure,
        is_state=True,
        remedy="end other programs",
    ),
    _of_other_work(
        "trim_timer",
        "Periodic trim (fstrim)",
        "stopped during a test",
        "stopped during a test",
        "trims mounted drives, which may share the path to the drive under test",
        starts_with("stopped"),
        ("SOL-OS-14", "SOL-GEN-09"),
    ),
    _of_other_work(
        "updates",
        "Software updates",
        "stopped during a test",
        "stopped during a test",
        "rare, but they load processors and drives heavily",
        starts_with("stopped"),
        ("SOL-OS-15", "SOL-OS-16", "SOL-GEN-09"),
    ),
    _of_other_work(
        "maintenance",
        "Maintenance timers",
        "stopped during a test",
        "stopped during a test",
        "checks of arrays and file systems read whole drives",
        starts_with("stopped"),
        ("SOL-OS-09", "SOL-OS-14", "SOL-OS-16", "SOL-GEN-09"),
    ),
    _of_other_work(
        "cron",
        "Cron jobs",
        "none due",
        "none due",
        "start in the middle of a test",
        either(SHIPPED, **{"not running": BOTH}),
        ("SOL-OS-16",),
        is_minor=True,
        remedy="stop it yourself, if its jobs can wait",
    ),
    _of_other_work(
        "indexers",
        "File indexing",
        "not running",
        "not running",
        "reads drives and uses processor time",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-07",),
        is_state=True,
        remedy=END_IT,
    ),
    _of_other_work(
        "scanners",
        "Virus scanners",
        "not running",
        "not running",
        "inspect files when they are opened",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-02", "SOL-OS-18"),
        is_state=True,
        remedy=END_IT,
    ),
    _of_other_work(
        "scans",
        "Scrubs of drives and arrays",
        "not running",
        "not running",
        "resync, scrub and balance read and write whole drives",
        either(NEITHER, **_NONE_SEEN),
        ("SOL-OS-14", "SOL-GEN-09"),
        is_state=True,
        remedy="wait for the end: interrupting a repair is worse",
    ),
    _of_other_work(
        "self_test",
        "Self-test of the drive",
        "none",
        "none",
        "the drive reads its own media during the test",
        starts_with("none"),
        is_state=True,
        remedy="wait for its end, or abort it: nvme device-self-test -s 0xf, smartctl --abort",
    ),
    _of_other_work(
        "drive_monitor",
        "Drive monitoring (smartd)",
        "not running",
        "not running",
        "sends commands to drives and may start self-tests",
        either(SHIPPED, **_NONE_SEEN),
        is_state=True,
        is_minor=True,
        remedy=END_IT,
    ),
    _of_other_work(
        "tuning_services",
        "Power tuning services",
        RECORDED,
        "none",
        "may undo settings during a test",
        either(SHIPPED, **_NONE_SEEN),
        is_state=True,
        is_minor=True,
        remedy=END_IT,
    ),
)


# SOL-BIOS-01 to 06, SOL-GEN-08 to 10
ADVICE: Final = (*PROCESSOR, *DRIVE_QUEUE, *DRIVE_LINK, *MEMORY, *MACHINE, *OTHER_WORK)
"""All settings of the audit, in its order."""

ADVICE_OF: Final[Mapping[str, Advice]] = {advice.key: advice for advice in ADVICE}
"""Each setting by its key, which is that of its fact."""
