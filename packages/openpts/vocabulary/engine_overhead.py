"""The engine's own share of each latency: its form in the record, and when it is too much."""

from typing import Final

from openpts.vocabulary.facts import Fact, Facts

OWN_LATENCY: Final = "own_latency"
OWN_LATENCY_ASLEEP: Final = "own_latency_asleep"
KERNEL_THREADS: Final = "kernel_threads"
"""The layers of a target whose I/O threads of the kernel carry out."""
NO_KERNEL_THREADS: Final = "none in sysfs"
LIMIT_PCT: Final = 5.0

_AWAKE: Final = "ns of each latency at QD 1 that is answered at once"
_ASLEEP: Final = "ns of each latency at QD 1 for which the thread sleeps"
# paths whose thread polls the device until the answer is there
_NEVER_SLEEP: Final = frozenset({"io_uring-polled", "noop"})


def never_sleeps(engine: Facts) -> bool:
    """Whether the engine's threads ask for completions all the time, and are always at work."""
    path = engine.get("io_path")
    return path is not None and path.value in _NEVER_SLEEP


def own_latency_facts(awake_ns: float, asleep_ns: float) -> Facts:
    """The engine's own latencies: without sleep, and with the interrupt and the wake-up that end it."""
    return {
        OWN_LATENCY: Fact(f"{awake_ns:.0f} {_AWAKE}", "requests that do nothing"),
        OWN_LATENCY_ASLEEP: Fact(f"{asleep_ns:.0f} {_ASLEEP}", "requests that a timer answers"),
    }


def share_text(share_pct: float) -> str:
    """A share of an average; more than all of it if the thread hardly slept for these I/Os."""
    return f"{share_pct:.1f} %" if share_pct <= 100 else "more than 100 %"


def own_latency_ns(engine: Facts) -> float | None:
    """The part of each latency at QD 1 that is not the device's, on the path that was used.

    None where the engine has not measured it: a simulated drive, fio.
    """
    fact = engine.get(OWN_LATENCY if never_sleeps(engine) else OWN_LATENCY_ASLEEP)
    number = "" if fact is None or fact.value is None else fact.value.partition(" ")[0]
    try:
        return float(number)
    except ValueError:
        return None
