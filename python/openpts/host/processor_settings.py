"""How the processors are set: frequency, turbo, threads, sleep states, mitigations. Read without root."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.facts import Fact, Facts


def processor_settings(roots: SystemRoots) -> Facts:
    """The settings under the keys of the host audit; what differs between processors is counted."""
    cpus = roots.sys / "devices/system/cpu"
    return {
        "governor": _of_all(cpus, "cpufreq/scaling_governor"),
        "energy_preference": _of_all(cpus, "cpufreq/energy_performance_preference"),
        "turbo": _turbo(cpus),
        "smt": _smt(cpus),
        "c_states": _c_states(cpus),
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


def _c_states(cpus: Path) -> Fact:
    """The deepest state that idle processors may enter, with the time to leave it."""
    source = f"{cpus}/cpu*/cpuidle/state*/{{name,latency,disable}}"
    deepest = [text for cpu in sorted(cpus.glob("cpu[0-9]*/cpuidle")) if (text := _deepest(cpu)) is not None]
    return Fact(_counted(deepest), source)


def _deepest(cpu: Path) -> str | None:
    states = [
        (int(latency), read_text(state / "name") or state.name)
        for state in cpu.glob("state[0-9]*")
        if read_text(state / "disable") == "0"
        and (latency := read_text(state / "latency")) is not None
        and latency.isdecimal()
    ]
    if not states:
        return None
    latency_us, name = max(states)
    return f"down to {name}, {latency_us} us to wake"


def _mitigations(folder: Path) -> Fact:
    """Weaknesses of the processor, by what the kernel does about them."""
    texts = [text for path in sorted(folder.glob("*")) if (text := read_text(path))]
    if not texts:
        return Fact(None, str(folder))
    mitigated = sum("Mitigation" in text for text in texts)
    vulnerable = sum(text.startswith("Vulnerable") for text in texts)
    state = "on" if mitigated else "off"
    return Fact(f"{state} ({mitigated} mitigated, {vulnerable} vulnerable)", str(folder))
