"""The settings of the machine: processors, memory, power supply and environment."""

import re
from functools import partial
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


_of_processor: Final = partial(Advice, Group.PROCESSOR)

PROCESSOR: Final = (
    _of_processor(
        "governor",
        "Frequency governor",
        "default",
        "performance",
        "a low clock lengthens each I/O",
        either(performance=TUNED),
        ("SOL-BIOS-02", "SOL-BIOS-06", "SOL-PWR-03"),
    ),
    _of_processor(
        "energy_preference",
        "Energy preference (EPP)",
        "default",
        "performance",
        "lets the clock drop between I/Os",
        either(performance=TUNED),
        ("SOL-PWR-03",),
    ),
    _of_processor(
        "p_states",
        "Clock range (P-states)",
        "up to the processor's maximum",
        "held at the maximum",
        "the first I/Os are slow until the clock has risen",
        _p_states,
        ("SOL-BIOS-02", "SOL-BIOS-06", "SOL-PWR-11"),
        is_minor=True,
    ),
    _of_processor(
        "turbo",
        "Turbo",
        "on",
        "on",
        "off: the processor is slower than users run it",
        either(NEITHER, on=BOTH),
        ("SOL-BIOS-03",),
    ),
    _of_processor(
        "smt",
        "Threads per core (SMT)",
        "on",
        "on",
        "off: fewer processors submit and complete I/Os",
        lambda value: NEITHER if value == "off" else BOTH,
        ("SOL-BIOS-01",),
        remedy="set it in the firmware (it changes the number of processors)",
    ),
    _of_processor(
        "c_states",
        "Sleep states (C-states)",
        "default",
        "none with a slow wake-up",
        "waking the processor adds to the response time",
        _c_states,
        ("SOL-BIOS-05", "SOL-GEN-10"),
    ),
    _of_processor(
        "mitigations",
        "Mitigations",
        "on",
        "on, or off and reported",
        "add processor time to each system call",
        starts_with("on", otherwise=TUNED),
        ("SOL-SYS-04",),
        remedy=COMMAND_LINE,
    ),
    _of_processor(
        "irqbalance",
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

_of_memory: Final = partial(Advice, Group.MEMORY)

MEMORY: Final = (
    _of_memory(
        "thp",
        "Transparent huge pages (THP)",
        "default",
        "madvise or never",
        "the kernel stops threads while it assembles huge pages",
        either(madvise=BOTH, never=TUNED),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
    _of_memory(
        "numa_balancing",
        "Page migration (NUMA balancing)",
        "default",
        "0",
        "the kernel unmaps buffers to see which node uses them; the next access is slow",
        either(**{"0": BOTH}),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
    _of_memory(
        "swap",
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
    _of_memory(
        "swappiness",
        "Swappiness",
        RECORDED,
        RECORDED,
        "sets how early the kernel pages, if there is swap",
        requirements=("SOL-OS-12",),
    ),
)
_of_machine: Final = partial(Advice, Group.MACHINE)

MACHINE: Final = (
    _of_machine(
        "power_supply",
        "Power supply",
        "mains",
        "mains",
        "on battery, firmware slows the processor and the drive",
        starts_with("mains"),
        ("SOL-PWR-01",),
        remedy="connect it to mains",
    ),
    _of_machine(
        "power_profile",
        "Power profile of the firmware",
        "balanced",
        "performance",
        "sets the fans and the power limit of the processor",
        either(SHIPPED, performance=TUNED),
        ("SOL-PWR-03", "SOL-PWR-12"),
        is_minor=True,
    ),
    _of_machine(
        "sleep",
        "Sleep and hibernation",
        "never during a test",
        "never during a test",
        "a machine that goes to sleep ends the test",
        lambda value: SHIPPED if value.startswith("may") else BOTH,
        ("SOL-PWR-02", "SOL-PWR-05", "SOL-PWR-07", "SOL-PWR-08"),
        is_minor=True,
        remedy="run with --tune, which inhibits it during the run",
    ),
    _of_machine(
        "display",
        "Display",
        RECORDED,
        RECORDED,
        "does not affect the drive; a graphics unit may use memory bandwidth",
        requirements=("SOL-OS-08", "SOL-PWR-02", "SOL-PWR-06"),
    ),
    _of_machine(
        "thermal",
        "Temperature of the machine",
        "below its limits",
        "below its limits",
        "a hot processor lowers its clock",
        lambda value: NEITHER if "hot" in value or "throttled" in value else BOTH,
        ("SOL-PWR-12", "SOL-BMK-06"),
        is_state=True,
        remedy="cool the machine",
    ),
    _of_machine(
        "virtualization",
        "Virtual machine",
        "none",
        "none",
        "work of the host of the virtual machine adds to each response time",
        either(NEITHER, **{"none seen": BOTH}),
        remedy="use another machine",
    ),
    _of_machine(
        "container",
        "Container",
        "none",
        "none",
        "limits of the container apply, and parts of the machine are hidden",
        either(SHIPPED, **{"none seen": BOTH}),
        is_minor=True,
        remedy="run openpts outside the container",
    ),
    _of_machine(
        "cpu_limit",
        "Processor limit of a control group",
        "none",
        "none",
        "threads are stopped when their share is used up",
        either(NEITHER, none=BOTH),
        remedy="change the limit of the control group",
    ),
    _of_machine(
        "clock_source",
        "Kernel clock source",
        "tsc",
        "tsc",
        "a slow clock adds processor time to each I/O",
        lambda value: BOTH if value in _KNOWN_CLOCKS else NEITHER,
        remedy="the kernel found faster clocks of this machine unreliable",
    ),
    _of_machine(
        "clock_sync",
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
