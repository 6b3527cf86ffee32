"""What is advised for each setting of the host, and for which kind of measurement a value is right.

Two kinds: a host *as shipped* tells what its users will see; a *synthetic* measurement wants nothing of the
host to hide the drive. A value may suit both, one, or none; of some only the value is told.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

AS_SHIPPED: Final = "as shipped"
SYNTHETIC: Final = "synthetic"

Suits = tuple[str, ...]
BOTH: Final[Suits] = (AS_SHIPPED, SYNTHETIC)
_SHIPPED: Final[Suits] = (AS_SHIPPED,)
_TUNED: Final[Suits] = (SYNTHETIC,)
NEITHER: Final[Suits] = ()

# Sleep states that cost less than this to leave are as good as none.
_SHALLOW_US: Final = 2
_LARGEST_BLOCK_KIB: Final = 1024
_IDLE_LOAD: Final = 1.0
_IDLE_PRESSURE_PCT: Final = 1.0
NUMA_NODE: Final = "numa_node"
THREADS: Final = "; threads: "
"""Between the node of the drive and the processors of the engine's threads."""
_PROCESSORS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_KNOWN_CLOCKS: Final = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of the audit; ``suits`` is None where a value is only told.

    ``is_state``: it changes by itself, and the value before the run counts.
    """

    key: str
    title: str
    as_shipped: str
    synthetic: str
    reason: str
    suits: Callable[[str], Suits | None] | None = None
    is_state: bool = False


def _either(**kinds: Suits) -> Callable[[str], Suits]:
    """By the value itself; others are what somebody chose, which is as shipped at best."""
    return lambda value: kinds.get(value, _SHIPPED)


def _first_number(value: str) -> float | None:
    match = re.match(r"\d+(?:\.\d+)?", value)
    return float(match[0]) if match else None


def _c_states(value: str) -> Suits:
    latencies = [int(found) for found in re.findall(r"(\d+) us to wake", value)]
    return _TUNED if latencies and max(latencies) <= _SHALLOW_US else _SHIPPED


def _turbo(value: str) -> Suits:
    return BOTH if value == "on" else NEITHER


def _smt(value: str) -> Suits:
    return NEITHER if value == "off" else BOTH


def _mitigations(value: str) -> Suits:
    return BOTH if value.startswith("on") else _TUNED


def _load(value: str) -> Suits | None:
    load = _first_number(value)
    return None if load is None else BOTH if load < _IDLE_LOAD else NEITHER


def _pressure(value: str) -> Suits:
    shares = [float(found) for found in re.findall(r"(\d+(?:\.\d+)?) %", value)]
    return BOTH if all(share < _IDLE_PRESSURE_PCT for share in shares) else NEITHER


def _swap(value: str) -> Suits:
    return BOTH if value == "none" else _SHIPPED if value.startswith("0.0 GB") else NEITHER


def _virtualization(value: str) -> Suits:
    return BOTH if value == "none seen" else NEITHER


def _max_sectors(value: str) -> Suits | None:
    most_kib = _first_number(value)
    return None if most_kib is None else BOTH if most_kib >= _LARGEST_BLOCK_KIB else NEITHER


def _link(value: str) -> Suits:
    current, _, most = value.partition(" of ")
    return BOTH if current == most else NEITHER


def _aspm(value: str) -> Suits:
    if "on:" in value:
        return _SHIPPED
    return _TUNED if "policy performance" in value else BOTH


def _apst(value: str) -> Suits:
    return _TUNED if value == "off" else _SHIPPED


def _power_state(value: str) -> Suits:
    return BOTH if value == "D0, kept awake" else _SHIPPED


def _iommu(value: str) -> Suits:
    return _SHIPPED if value.startswith("translates") else BOTH


def _aer(value: str) -> Suits:
    return NEITHER if any(int(count) for count in re.findall(r"\d+", value)) else BOTH


def _numa_node(value: str) -> Suits | None:
    """Right where the threads ran on the drive's own node, and where there is only one."""
    node, _, threads = value.partition(THREADS)
    if "one node" in node or " of 1" in node:
        return BOTH
    near, used = _processors(node.partition("processors ")[2]), _processors(threads)
    if not near:
        return None
    if not used:
        return _SHIPPED
    return BOTH if used <= near else NEITHER


def _processors(text: str) -> set[int]:
    """The processors of a list such as ``0-3,8``; none where it is no list."""
    processors: set[int] = set()
    for part in text.split(","):
        if (match := _PROCESSORS.fullmatch(part.strip())) is None:
            return set()
        processors |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return processors


_NO_OTHER_WORK: Final = "no other work"

ADVICE: Final = (
    Advice(
        "governor",
        "Frequency governor",
        "default",
        "performance",
        "a slow clock lengthens each I/O",
        _either(performance=_TUNED),
    ),
    Advice(
        "energy_preference",
        "Energy preference",
        "default",
        "performance",
        "it lets the clock fall between I/Os",
        _either(performance=_TUNED),
    ),
    Advice("turbo", "Turbo", "on", "on", "without it no user runs this processor", _turbo),
    Advice("smt", "Threads of a core (SMT)", "on", "on", "as many processors for all drives", _smt),
    Advice(
        "c_states",
        "Sleep states (C-states)",
        "default",
        "none that is slow to leave",
        "waking up is part of the response time",
        _c_states,
    ),
    Advice(
        "mitigations",
        "Mitigations",
        "on",
        "on, or off and told",
        "they cost processor time in each system call",
        _mitigations,
    ),
    Advice(
        NUMA_NODE,
        "NUMA node of the drive",
        "default",
        "threads on the same node",
        "from another node I/O crosses sockets",
        _numa_node,
    ),
    Advice(
        "interrupts",
        "Interrupts of the drive",
        "told",
        "one for each processor",
        "shared queues wait for each other",
    ),
    Advice(
        "scheduler",
        "I/O scheduler",
        "default",
        "none",
        "it sorts what the test has ordered",
        _either(none=BOTH),
    ),
    Advice(
        "nomerges",
        "Merging (nomerges)",
        "0",
        "2",
        "merged requests have another block size",
        _either(**{"2": _TUNED}),
    ),
    Advice(
        "max_sectors_kb",
        "Largest request (max_sectors_kb)",
        "1024 or more",
        "1024 or more",
        "the kernel cuts larger I/Os into several",
        _max_sectors,
    ),
    Advice(
        "wbt_lat_usec",
        "Write-back throttling (wbt_lat_usec)",
        "default",
        "0",
        "it slows buffered writes, not direct ones",
        _either(**{"0": BOTH}),
    ),
    Advice(
        "rq_affinity",
        "Completion (rq_affinity)",
        "1",
        "2",
        "2: I/O ends on the processor it began on",
        _either(**{"2": _TUNED, "0": NEITHER}),
    ),
    Advice(
        "iostats",
        "Counting in the kernel (iostats)",
        "1",
        "0",
        "it takes processor time from each I/O",
        _either(**{"0": _TUNED}),
    ),
    Advice(
        "poll_queues",
        "Poll queues",
        "0",
        "0, unless completions are polled",
        "they take queues from all others",
        _either(**{"0": BOTH}),
    ),
    Advice(
        "link",
        "PCIe link",
        "the drive's maximum",
        "the drive's maximum",
        "a slower link limits throughput",
        _link,
    ),
    Advice(
        "aspm",
        "Link power states (ASPM)",
        "default",
        "off",
        "waking the link is part of the response time",
        _aspm,
    ),
    Advice(
        "apst",
        "Drive's power states (APST)",
        "default",
        "off",
        "waking it is part of the response time",
        _apst,
    ),
    Advice(
        "power_state",
        "PCIe power state",
        "D0",
        "D0, kept awake",
        "a suspended drive must wake first",
        _power_state,
    ),
    Advice(
        "iommu",
        "IOMMU",
        "default",
        "off, or passing through",
        "translation takes processor time from each I/O",
        _iommu,
    ),
    Advice(
        "aer",
        "PCIe errors (AER)",
        "none",
        "none",
        "they are repaired by repeating",
        _aer,
        is_state=True,
    ),
    Advice(
        "load",
        "Load average",
        f"below {_IDLE_LOAD:g}",
        f"below {_IDLE_LOAD:g}",
        _NO_OTHER_WORK,
        _load,
        is_state=True,
    ),
    Advice(
        "pressure",
        "Waiting tasks (PSI)",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        f"below {_IDLE_PRESSURE_PCT:g} %",
        _NO_OTHER_WORK,
        _pressure,
        is_state=True,
    ),
    Advice(
        "swap", "Swap", "none in use", "none", "paging is I/O that nobody asked for", _swap, is_state=True
    ),
    Advice(
        "virtualization",
        "Virtual machine",
        "none",
        "none",
        "its host's own work is in every response time",
        _virtualization,
    ),
    Advice(
        "clock_source",
        "Kernel's clock",
        "tsc",
        "tsc",
        "a slow one costs each look at the time",
        lambda value: BOTH if value in _KNOWN_CLOCKS else NEITHER,
    ),
    Advice(
        "clock_sync",
        "Time of day",
        "synchronized",
        "synchronized",
        "so that dates match those of other logs",
        lambda value: BOTH if value == "synchronized" else NEITHER,
    ),
)
"""All items of the audit, in its order."""
