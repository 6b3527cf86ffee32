"""What is advised for the processors."""

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
)

SHALLOW_US: Final = 2
"""Sleep states that cost no more than this to leave are as good as none."""

DEEPER_OFF: Final = "deeper states are off"
HELD: Final = "held there by a limit of"
"""Why a processor sleeps no deeper than it does."""

_CLOCKS: Final = re.compile(r"([\d,]+)(?: to ([\d,]+))? MHz of [\d,]+ to ([\d,]+) MHz")


def _c_states(value: str) -> Suits:
    """Shallow states suit a synthetic run; also a real-world one where the machine has no others."""
    latencies = [int(found) for found in re.findall(r"(\d+) us to wake", value)]
    if not latencies or max(latencies) > SHALLOW_US:
        return SHIPPED
    return TUNED if DEEPER_OFF in value or HELD in value else BOTH


def _p_states(value: str) -> Suits | None:
    """A ceiling below what the processor can do is right for nobody; no room below it is synthetic."""
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


def _smt(value: str) -> Suits:
    return NEITHER if value == "off" else BOTH


PROCESSOR: Final = (
    Advice(
        "governor",
        Group.PROCESSOR,
        "Frequency governor",
        "default",
        "performance",
        "a slow clock lengthens each I/O",
        either(performance=TUNED),
        ("SOL-BIOS-02", "SOL-BIOS-06", "SOL-PWR-03"),
    ),
    Advice(
        "energy_preference",
        Group.PROCESSOR,
        "Energy preference (EPP)",
        "default",
        "performance",
        "it lets the clock fall between I/Os",
        either(performance=TUNED),
        ("SOL-PWR-03",),
    ),
    Advice(
        "p_states",
        Group.PROCESSOR,
        "Clock's range (P-states)",
        "up to the processor's maximum",
        "held at the maximum",
        "a clock that must rise first makes the first I/Os slow",
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
        "without it no user runs this processor",
        either(NEITHER, on=BOTH),
        ("SOL-BIOS-03",),
    ),
    Advice(
        "smt",
        Group.PROCESSOR,
        "Threads of a core (SMT)",
        "on",
        "on",
        "as many processors for all drives",
        _smt,
        ("SOL-BIOS-01",),
    ),
    Advice(
        "c_states",
        Group.PROCESSOR,
        "Sleep states (C-states)",
        "default",
        "none that is slow to leave",
        "waking up is part of the response time",
        _c_states,
        ("SOL-BIOS-05", "SOL-GEN-10"),
    ),
    Advice(
        "mitigations",
        Group.PROCESSOR,
        "Mitigations",
        "on",
        "on, or off and told",
        "they cost processor time in each system call",
        starts_with("on", otherwise=TUNED),
        ("SOL-SYS-04",),
    ),
    Advice(
        "irqbalance",
        Group.PROCESSOR,
        "Moving of interrupts (irqbalance)",
        "default",
        "not running",
        "it moves interrupts between processors during a test; those of NVMe queues stay",
        starts_with("not running", otherwise=SHIPPED),
        ("SOL-GEN-08",),
        is_minor=True,
    ),
)
