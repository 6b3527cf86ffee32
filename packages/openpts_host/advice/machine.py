"""The settings of the machine: processors, memory, power supply and environment."""

import re
from typing import Final

from openpts_host.advice.advice import (
    BOTH,
    COMMAND_LINE,
    END_IT,
    NEITHER,
    RECORDED,
    SHIPPED,
    TUNED,
    Advice,
    Group,
    Suits,
    either,
    starts_with,
)

SHALLOW_US: Final = 2
"""Sleep states with this wake-up time or less are as good as none."""

DEEPER_OFF: Final = "deeper states are off"
HELD: Final = "held there by a limit of"
"""Why deeper sleep states are not used."""

_CLOCKS: Final = re.compile(r"([\d,]+)(?: to ([\d,]+))? MHz of [\d,]+ to ([\d,]+) MHz")


def _c_states(value: str) -> Suits:
    """Shallow states suit a synthetic run, and a real-world one if the machine has no others."""
    latencies = [int(found) for found in re.findall(r"(\d+) us to wake", value)]
    if not latencies or max(latencies) > SHALLOW_US:
        return SHIPPED
    return TUNED if DEEPER_OFF in value or HELD in value else BOTH


def _p_states(value: str) -> Suits | None:
    """A ceiling below the processor's maximum suits neither; a clock held at it suits a synthetic run."""
    clocks = [
        (int(low), int(high), int(most))
        for low, high, most in (
            tuple(text.replace(",", "") for text in (found[1], found[2] or found[1], found[3]))
            for found in _CLOCKS.finditer(value)
        )
    ]
    if not clocks:
        return None
    if any(high < most for _, high, most in clocks):
        return NEITHER
    return TUNED if all(low == high for low, high, _ in clocks) else SHIPPED


PROCESSOR: Final = (
    Advice(
        "governor",
        Group.PROCESSOR,
        "Frequency governor",
        "default",
        "performance",
        "a low clock lengthens each I/O",
        either(performance=TUNED),
        ("SOL-BIOS-02", "SOL-BIOS-06", "SOL-PWR-03"),
    ),
    Advice(
        "energy_preference",
        Group.PROCESSOR,
        "Energy preference (EPP)",
        "default",
        "performance",
        "lets the clock drop between I/Os",
        either(performance=TUNED),
        ("SOL-PWR-03",),
    ),
    Advice(
        "p_states",
        Group.PROCESSOR,
        "Clock range (P-states)",
        "up to the processor's maximum",
        "held at the maximum",
        "the first I/Os are slow until the clock has risen",
        _p_states,
        ("SOL-BIOS-02", "SOL-BIOS-06", "SOL-PWR-11"),
        is_minor=True,
    ),
    Advice(
        "turbo",
        Group.PROCESSOR,
        "Turbo",
        "on",
        "on",
        "off: the processor is slower than users run it",
        either(NEITHER, on=BOTH),
        ("SOL-BIOS-03",),
    ),
    Advice(
        "smt",
        Group.PROCESSOR,
        "Threads per core (SMT)",
        "on",
        "on",
        "off: fewer processors submit and complete I/Os",
        lambda value: NEITHER if value == "off" else BOTH,
        ("SOL-BIOS-01",),
        remedy="set it in the firmware (it changes the number of processors)",
    ),
    Advice(
        "c_states",
        Group.PROCESSOR,
        "Sleep states (C-states)",
        "default",
        "none with a slow wake-up",
        "waking the processor adds to the response time",
        _c_states,
        ("SOL-BIOS-05", "SOL-GEN-10"),
    ),
    Advice(
        "mitigations",
        Group.PROCESSOR,
        "Mitigations",
        "on",
        "on, or off and reported",
        "add processor time to each system call",
        starts_with("on", otherwise=TUNED),
        ("SOL-SYS-04",),
        remedy=COMMAND_LINE,
    ),
    Advice(
        "irqbalance",
        Group.PROCESSOR,
        "Interrupt balancing (irqbalance)",
        "default",
        "not running",
        "moves interrupts between processors during a test, except those of NVMe queues",
        starts_with("not running", otherwise=SHIPPED),
        ("SOL-GEN-08",),
        is_minor=True,
        remedy=END_IT,
    ),
)


_KNOWN_CLOCKS: Final = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})


MEMORY: Final = (
    Advice(
        "thp",
        Group.MEMORY,
        "Transparent huge pages (THP)",
        "default",
        "madvise or never",
        "the kernel stops threads while it assembles huge pages",
        either(madvise=BOTH, never=TUNED),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
    Advice(
        "numa_balancing",
        Group.MEMORY,
        "Page migration (NUMA balancing)",
        "default",
        "0",
        "the kernel unmaps buffers to see which node uses them; the next access is slow",
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
        "paging adds I/O that is not part of the test",
        lambda value: BOTH if value == "none" else SHIPPED if value.startswith("0.0 GB") else NEITHER,
        ("SOL-OS-12",),
        is_state=True,
        is_minor=True,
        remedy="turn it off with swapoff --all, which may take long and end programs",
    ),
    Advice(
        "swappiness",
        Group.MEMORY,
        "Swappiness",
        RECORDED,
        RECORDED,
        "sets how early the kernel pages, if there is swap",
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
        "on battery, firmware slows the processor and the drive",
        starts_with("mains"),
        ("SOL-PWR-01",),
        remedy="connect it to mains",
    ),
    Advice(
        "power_profile",
        Group.MACHINE,
        "Power profile of the firmware",
        "balanced",
        "performance",
        "sets the fans and the power limit of the processor",
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
        "a machine that goes to sleep ends the test",
        lambda value: SHIPPED if value.startswith("may") else BOTH,
        ("SOL-PWR-02", "SOL-PWR-05", "SOL-PWR-07", "SOL-PWR-08"),
        is_minor=True,
        remedy="run with --tune, which inhibits it during the run",
    ),
    Advice(
        "display",
        Group.MACHINE,
        "Display",
        RECORDED,
        RECORDED,
        "does not affect the drive; a graphics unit may use memory bandwidth",
        requirements=("SOL-OS-08", "SOL-PWR-02", "SOL-PWR-06"),
    ),
    Advice(
        "thermal",
        Group.MACHINE,
        "Temperature of the machine",
        "below its limits",
        "below its limits",
        "a hot processor lowers its clock",
        lambda value: NEITHER if "hot" in value or "throttled" in value else BOTH,
        ("SOL-PWR-12", "SOL-BMK-06"),
        is_state=True,
        remedy="cool the machine",
    ),
    Advice(
        "virtualization",
        Group.MACHINE,
        "Virtual machine",
        "none",
        "none",
        "work of the host of the virtual machine adds to each response time",
        either(NEITHER, **{"none seen": BOTH}),
        remedy="use another machine",
    ),
    Advice(
        "container",
        Group.MACHINE,
        "Container",
        "none",
        "none",
        "limits of the container apply, and parts of the machine are hidden",
        either(SHIPPED, **{"none seen": BOTH}),
        is_minor=True,
        remedy="run openpts outside the container",
    ),
    Advice(
        "cpu_limit",
        Group.MACHINE,
        "Processor limit of a control group",
        "none",
        "none",
        "threads are stopped when their share is used up",
        either(NEITHER, none=BOTH),
        remedy="change the limit of the control group",
    ),
    Advice(
        "clock_source",
        Group.MACHINE,
        "Kernel clock source",
        "tsc",
        "tsc",
        "a slow clock adds processor time to each I/O",
        lambda value: BOTH if value in _KNOWN_CLOCKS else NEITHER,
        remedy="the kernel found faster clocks of this machine unreliable",
    ),
    Advice(
        "clock_sync",
        Group.MACHINE,
        "Time of day",
        "synchronized",
        "synchronized",
        "otherwise dates do not match those of other logs",
        # no figure depends on it
        lambda value: BOTH if value == "synchronized" else None,
        ("SOL-GEN-07",),
        remedy="start a service that synchronizes it",
    ),
)
