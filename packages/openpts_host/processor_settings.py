"""How the processors are set: frequency, turbo, threads, sleep states, mitigations. Read without root."""

import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, read_integer, read_text
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.advice.machine import DEEPER_OFF, HELD

_FORMAT: Final = struct.Struct("=i")  # include/linux/pm_qos.h: s32, microseconds
_NO_LIMIT_US: Final = 2_000_000_000  # PM_QOS_CPU_LATENCY_DEFAULT_VALUE


def _allowed_wake_up_us(path: Path) -> int | None:
    """The longest wake-up that programs allow an idle processor now (PM QoS); None if it can't be read.

    Each limit lasts for as long as the program that set it keeps the file open.
    """
    try:
        # a read answers with the limit; opening the file asks for no limit of our own
        content = path.read_bytes()[: _FORMAT.size]
    except OSError:
        return None
    if len(content) < _FORMAT.size:
        return None
    (limit_us,) = _FORMAT.unpack(content)
    return limit_us if 0 <= limit_us < _NO_LIMIT_US else _NO_LIMIT_US


_KHZ_PER_MHZ: Final = 1000


def processor_settings(roots: SystemRoots) -> Facts:
    """The settings under the keys of the host audit; what differs between processors is counted."""
    cpus = roots.sys / "devices/system/cpu"
    return {
        "governor": _of_all(cpus, "cpufreq/scaling_governor"),
        "energy_preference": _of_all(cpus, "cpufreq/energy_performance_preference"),
        "p_states": _p_states(cpus),
        "turbo": _turbo(cpus),
        "smt": _smt(cpus),
        "c_states": _c_states(cpus, roots),
        "mitigations": _mitigations(cpus / "vulnerabilities"),
    }


def _of_all(cpus: Path, attribute: str) -> Fact:
    texts = (read_text(cpu / attribute) for cpu in sorted(cpus.glob("cpu[0-9]*")))
    return Fact(_counted(text for text in texts if text), f"{cpus}/cpu*/{attribute}")


def _counted(texts: Iterable[str]) -> str | None:
    """``performance``, or where they differ ``performance (6 of 8), powersave (2 of 8)``."""
    counts = Counter(texts)
    if len(counts) <= 1:
        return next(iter(counts), None)
    whole = counts.total()
    return ", ".join(f"{text} ({count} of {whole})" for text, count in sorted(counts.items()))


def _turbo(cpus: Path) -> Fact:
    off = cpus / "intel_pstate/no_turbo"
    if (text := read_text(off)) is not None:
        return Fact({"0": "on", "1": "off"}.get(text), str(off))
    boost = cpus / "cpufreq/boost"
    return Fact({"0": "off", "1": "on"}.get(read_text(boost) or ""), f"{off}, {boost}")


def _smt(cpus: Path) -> Fact:
    """Whether cores run two threads; ``control`` tells why not."""
    control, active = read_text(cpus / "smt/control"), read_text(cpus / "smt/active")
    text = {"0": "off", "1": "on"}.get(active or "")
    if text == "off" and control in {"notsupported", "notimplemented"}:
        text = "none (cores have one thread)"
    return Fact(text, f"{cpus}/smt/{{active,control}}")


# SOL-BIOS-02, SOL-BIOS-06, SOL-PWR-11
def _p_states(cpus: Path) -> Fact:
    """Between which clocks the driver may choose, and which the processor has."""
    texts = [text for cpu in sorted(cpus.glob("cpu[0-9]*/cpufreq")) if (text := _clocks(cpu)) is not None]
    driver = next(
        (d for cpu in cpus.glob("cpu[0-9]*/cpufreq") if (d := read_text(cpu / "scaling_driver"))), ""
    )
    clocks = _counted(texts)
    source = f"{cpus}/cpu*/cpufreq/{{scaling,cpuinfo}}_{{min,max}}_freq"
    return Fact(clocks and (f"{clocks} ({driver})" if driver else clocks), source)


def _clocks(cpufreq: Path) -> str | None:
    ranges = []
    for kind in ("scaling", "cpuinfo"):
        ends = [read_text(cpufreq / f"{kind}_{end}_freq") for end in ("min", "max")]
        mhz = [f"{int(text) // _KHZ_PER_MHZ:,}" for text in ends if text is not None and text.isdecimal()]
        if len(mhz) != len(ends):
            return None
        ranges.append(mhz[0] if mhz[0] == mhz[1] and kind == "scaling" else f"{mhz[0]} to {mhz[1]}")
    return f"{ranges[0]} MHz of {ranges[1]} MHz"


# SOL-BIOS-05
def _c_states(cpus: Path, roots: SystemRoots) -> Fact:
    """The deepest state that idle processors may enter now, with the time to leave it.

    A program that holds a limit on the time to wake up (PM QoS) keeps them out of what takes longer.
    """
    limit = roots.dev / "cpu_dma_latency"
    allowed_us = _allowed_wake_up_us(limit)
    source = f"{cpus}/cpu*/cpuidle/state*/{{name,latency,disable}}, {limit}"
    if allowed_us is None:
        source += " (which root alone may read: a limit that a program holds is not seen)"
    deepest = [
        text for cpu in sorted(cpus.glob("cpu[0-9]*")) if (text := _deepest(cpu, allowed_us)) is not None
    ]
    return Fact(_counted(deepest), source)


def _deepest(cpu: Path, allowed_us: int | None) -> str | None:
    states: list[tuple[int, str]] = []
    off: list[tuple[int, str]] = []
    for state in cpu.glob("cpuidle/state[0-9]*"):
        if (latency_us := read_integer(state / "latency")) is not None:
            kind = states if read_text(state / "disable") == "0" else off
            kind.append((latency_us, read_text(state / "name") or state.name))
    if not states:
        return None
    own = read_text(cpu / "power/pm_qos_resume_latency_us")
    limits = [limit for limit in (allowed_us, _own_limit_us(own)) if limit is not None]
    # whatever the limit, a processor without work polls at least
    allowed = [state for state in states if all(state[0] <= limit for limit in limits)] or [min(states)]
    latency_us, name = max(allowed)
    why = f", {DEEPER_OFF}" if off and max(off) > max(states) else ""
    why += f", {HELD} {min(limits)} us" if max(states) not in allowed else ""
    return f"down to {name}, {latency_us} us to wake{why}"


def _own_limit_us(text: str | None) -> int | None:
    """A processor's own limit: the kernel writes 0 for none and ``n/a`` for a limit of no time at all."""
    if text == "n/a":
        return 0
    return int(text) if text is not None and text.isdecimal() and text != "0" else None


def _mitigations(folder: Path) -> Fact:
    """Weaknesses of the processor, by what the kernel does about them."""
    texts = [text for path in sorted(folder.glob("*")) if (text := read_text(path))]
    if not texts:
        return Fact(None, str(folder))
    mitigated = sum("Mitigation" in text for text in texts)
    vulnerable = sum(text.startswith("Vulnerable") for text in texts)
    state = "on" if mitigated else "off"
    return Fact(f"{state} ({mitigated} mitigated, {vulnerable} vulnerable)", str(folder))
