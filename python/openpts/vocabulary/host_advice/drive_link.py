"""What is advised for the link to a drive and for what saves power on the way."""

import re
from typing import Final

from openpts.vocabulary.host_advice.advice import (
    BOTH,
    NEITHER,
    SHIPPED,
    TUNED,
    Advice,
    Group,
    Suits,
    either,
    starts_with,
    where_there_is_one,
)


def _link(value: str) -> Suits:
    current, _, most = value.partition(" of ")
    return BOTH if current == most else NEITHER


def _aspm(value: str) -> Suits:
    if "on:" in value:
        return SHIPPED
    return TUNED if "policy performance" in value else BOTH


def _aer(value: str) -> Suits:
    return NEITHER if any(int(count) for count in re.findall(r"\d+", value)) else BOTH


DRIVE_LINK: Final = (
    Advice(
        "link",
        Group.LINK,
        "PCIe link",
        "the drive's maximum",
        "the drive's maximum",
        "a slower link limits throughput",
        _link,
        ("SOL-GEN-10",),
    ),
    Advice(
        "aspm",
        Group.LINK,
        "Link power states (ASPM)",
        "default",
        "off",
        "waking the link is part of the response time",
        _aspm,
        ("SOL-BIOS-04", "SOL-PWR-10"),
    ),
    Advice(
        "apst",
        Group.LINK,
        "Drive's power states (APST)",
        "default",
        "off",
        "waking it is part of the response time",
        where_there_is_one(either(off=TUNED)),
        ("SOL-GEN-10",),
    ),
    Advice(
        "power_state",
        Group.LINK,
        "PCIe power state",
        "D0",
        "D0, kept awake",
        "a suspended drive must wake first",
        # kernels before 5.11 do not tell the state
        either(**{"D0, kept awake": BOTH, "kept awake": BOTH}),
        ("SOL-PWR-10",),
    ),
    Advice(
        "sata_power",
        Group.LINK,
        "SATA link power (LPM)",
        "default",
        "max_performance",
        "waking the link is part of the response time",
        where_there_is_one(either(max_performance=TUNED)),
        ("SOL-PWR-04", "SOL-PWR-10"),
    ),
    Advice(
        "disk_suspend",
        Group.LINK,
        "Suspending of the disk",
        "kept awake",
        "kept awake",
        "a suspended disk must wake first",
        where_there_is_one(either(NEITHER, **{"kept awake": BOTH})),
        ("SOL-PWR-04",),
    ),
    Advice(
        "usb_suspend",
        Group.LINK,
        "USB autosuspend",
        "default",
        "kept awake",
        "a suspended bridge must wake first",
        where_there_is_one(either(**{"kept awake": BOTH})),
        ("SOL-PWR-09",),
    ),
    Advice(
        "iommu",
        Group.LINK,
        "IOMMU",
        "default",
        "off, or passing through",
        "translation takes processor time from each I/O",
        starts_with("translates", right=SHIPPED, otherwise=BOTH),
        is_minor=True,
    ),
    Advice(
        "aer",
        Group.LINK,
        "PCIe errors (AER)",
        "none",
        "none",
        "they are repaired by repeating",
        _aer,
        is_state=True,
    ),
)
