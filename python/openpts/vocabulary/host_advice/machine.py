"""What is advised for memory, power supply and environment of the machine."""

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
)

_KNOWN_CLOCKS: Final = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})


def _swap(value: str) -> Suits:
    return BOTH if value == "none" else SHIPPED if value.startswith("0.0 GB") else NEITHER


def _thermal(value: str) -> Suits:
    return NEITHER if "hot" in value or "throttled" in value else BOTH


def _sleep(value: str) -> Suits:
    return SHIPPED if value.startswith("may") else BOTH


MEMORY: Final = (
    Advice(
        "thp",
        Group.MEMORY,
        "Transparent huge pages (THP)",
        "default",
        "madvise or never",
        "the kernel stops threads to put pages together",
        either(madvise=BOTH, never=TUNED),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
    Advice(
        "numa_balancing",
        Group.MEMORY,
        "Moving of pages (NUMA balancing)",
        "default",
        "0",
        "the kernel takes buffers away to see who uses them",
        either(**{"0": BOTH}),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
    Advice(
        "swap",
        Group.MEMORY,
        "Swap",
        "none in use",
        "none",
        "paging is I/O that nobody asked for",
        _swap,
        ("SOL-OS-12",),
        is_state=True,
        is_minor=True,
    ),
    Advice(
        "swappiness",
        Group.MEMORY,
        "Swappiness",
        "told",
        "told",
        "how soon the kernel pages, where there is swap",
        requirements=("SOL-OS-12",),
    ),
)
MACHINE: Final = (
    Advice(
        "power_supply",
        Group.MACHINE,
        "Power supply",
        "mains",
        "mains",
        "on a battery firmware slows processor and drive",
        starts_with("mains"),
        ("SOL-PWR-01",),
    ),
    Advice(
        "power_profile",
        Group.MACHINE,
        "Power profile of the firmware",
        "balanced",
        "performance",
        "it sets fans, and how much power the processor may take",
        either(SHIPPED, performance=TUNED),
        ("SOL-PWR-03", "SOL-PWR-12"),
        is_minor=True,
    ),
    Advice(
        "sleep",
        Group.MACHINE,
        "Sleep and hibernation",
        "never during a test",
        "never during a test",
        "a machine that falls asleep ends the test",
        _sleep,
        ("SOL-PWR-02", "SOL-PWR-05", "SOL-PWR-07", "SOL-PWR-08"),
        is_minor=True,
    ),
    Advice(
        "display",
        Group.MACHINE,
        "Display",
        "told",
        "told",
        "a drive does not feel it; memory bandwidth of a graphics unit may",
        requirements=("SOL-OS-08", "SOL-PWR-02", "SOL-PWR-06"),
    ),
    Advice(
        "thermal",
        Group.MACHINE,
        "Heat of the machine",
        "below its limits",
        "below its limits",
        "a hot processor slows down by itself",
        _thermal,
        ("SOL-PWR-12", "SOL-BMK-06"),
        is_state=True,
    ),
    Advice(
        "virtualization",
        Group.MACHINE,
        "Virtual machine",
        "none",
        "none",
        "its host's own work is in every response time",
        either(NEITHER, **{"none seen": BOTH}),
    ),
    Advice(
        "container",
        Group.MACHINE,
        "Container",
        "none",
        "none",
        "limits of its host hold, and parts of the machine can't be seen",
        either(SHIPPED, **{"none seen": BOTH}),
        is_minor=True,
    ),
    Advice(
        "cpu_limit",
        Group.MACHINE,
        "Processor limit of a control group",
        "none",
        "none",
        "threads stand still when their share is used up",
        either(NEITHER, none=BOTH),
    ),
    Advice(
        "clock_source",
        Group.MACHINE,
        "Kernel's clock",
        "tsc",
        "tsc",
        "a slow one costs each look at the time",
        lambda value: BOTH if value in _KNOWN_CLOCKS else NEITHER,
    ),
    Advice(
        "clock_sync",
        Group.MACHINE,
        "Time of day",
        "synchronized",
        "synchronized",
        "so that dates match those of other logs",
        # no figure depends on it
        lambda value: BOTH if value == "synchronized" else None,
        ("SOL-GEN-07",),
    ),
)
