"""Which settings of the host are to be changed for a scenario."""

from collections.abc import Iterator
from pathlib import Path

from openpts.programs import ProgramRunner, run_program
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.tuning import Change, Means, Scenario
from openpts_host.advice.machine import SHALLOW_US
from openpts_host.changes import STOPPED
from openpts_host.services import MAINTENANCE_UNITS, TRIM_UNITS, UPDATE_UNITS, active_units


def host_changes(
    roots: SystemRoots, scenario: Scenario, *, lasting: bool, run: ProgramRunner = run_program
) -> tuple[Change, ...]:
    """All changes for the scenario, also those that are made already, in the order in which to make them.

    ``lasting``: they outlive this process. A run holds a request open instead of switching off sleep states.
    """
    cpus = roots.sys / "devices/system/cpu"
    changes = [*_ceilings(cpus), *_turbo(cpus)]
    if scenario is Scenario.SYNTHETIC:
        changes += _clocks(cpus)
        changes += _sleep_states(cpus) if lasting else ()
        changes += _where_it_is("thp", roots.sys / "kernel/mm/transparent_hugepage/enabled", "madvise")
        changes += _where_it_is("numa_balancing", roots.proc / "sys/kernel/numa_balancing", "0")
        changes += _where_it_is("power_profile", roots.sys / "firmware/acpi/platform_profile", "performance")
    return (*changes, *_units(roots, run))


def _where_it_is(key: str, path: Path, wanted: str) -> Iterator[Change]:
    if read_text(path) is not None:
        yield Change(key, Means.FILE, str(path.resolve()), wanted)


def _policies(cpus: Path) -> tuple[Path, ...]:
    """Folders of frequency policies, each once however many processors share it."""
    return tuple(dict.fromkeys(folder.resolve() for folder in sorted(cpus.glob("cpu[0-9]*/cpufreq"))))


# SOL-PWR-11
def _ceilings(cpus: Path) -> Iterator[Change]:
    """A ceiling below what the processor can do is never right."""
    for policy in _policies(cpus):
        if most := read_text(policy / "cpuinfo_max_freq"):
            yield from _where_it_is("p_states", policy / "scaling_max_freq", most)


# SOL-BIOS-03
def _turbo(cpus: Path) -> Iterator[Change]:
    if (cpus / "intel_pstate/no_turbo").exists():
        yield from _where_it_is("turbo", cpus / "intel_pstate/no_turbo", "0")
    else:
        yield from _where_it_is("turbo", cpus / "cpufreq/boost", "1")


# SOL-BIOS-02, SOL-BIOS-06, SOL-PWR-03, SOL-PWR-11
def _clocks(cpus: Path) -> Iterator[Change]:
    """The preference before the governor: intel_pstate refuses it under the governor performance."""
    for policy in _policies(cpus):
        yield from _where_it_is("energy_preference", policy / "energy_performance_preference", "performance")
        if "performance" in (read_text(policy / "scaling_available_governors") or "performance").split():
            yield from _where_it_is("governor", policy / "scaling_governor", "performance")
        if most := read_text(policy / "cpuinfo_max_freq"):
            yield from _where_it_is("p_states", policy / "scaling_min_freq", most)


# SOL-BIOS-05
def _sleep_states(cpus: Path) -> Iterator[Change]:
    for latency in sorted(cpus.glob("cpu[0-9]*/cpuidle/state[0-9]*/latency")):
        text = read_text(latency) or ""
        if text.isdecimal() and int(text) > SHALLOW_US:
            yield from _where_it_is("c_states", latency.with_name("disable"), "1")


# SOL-OS-14 to 16, SOL-GEN-09
def _units(roots: SystemRoots, run: ProgramRunner) -> Iterator[Change]:
    """Timers only: a service that installs software at this moment is left to its end."""
    groups = (("trim_timer", TRIM_UNITS), ("updates", UPDATE_UNITS), ("maintenance", MAINTENANCE_UNITS))
    timers = {unit: key for key, units in groups for unit in units if unit.endswith(".timer")}
    active, _ = active_units(tuple(timers), roots, run)
    for unit in active or ():
        yield Change(timers[unit], Means.UNIT, unit, STOPPED)
