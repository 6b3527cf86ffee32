"""Which settings of the host are to be changed for a scenario, and why others are left alone."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from openpts.host.changes import STOPPED
from openpts.host.services import MAINTENANCE_UNITS, TRIM_UNITS, UPDATE_UNITS, active_units
from openpts.programs import Run, run_program
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.host_advice.processor import SHALLOW_US
from openpts.vocabulary.tuning import Change, Means, Scenario

_SOMEBODYS: Final = "it is another user's program: end it yourself"
_FIRMWARE: Final = "set it in the firmware"
_RESTART: Final = "it needs a restart with another command line of the kernel"

LEFT_ALONE: Final[Mapping[str, str]] = {
    "smt": f"it changes which processors there are: {_FIRMWARE}",
    "mitigations": _RESTART,
    "max_sectors_kb": "the hardware takes no more",
    "irqbalance": _SOMEBODYS,
    "numa_node": "it is chosen by --cpus",
    "interrupts": "the kernel itself keeps those of NVMe queues where they are",
    "poll_queues": "it needs the driver to be reloaded",
    "io_limit": "the creator of the control group has to change it",
    "link": f"it is negotiated: check the slot, or {_FIRMWARE}",
    "iommu": _RESTART,
    "aer": "errors are counted, not set",
    "swap": "turning swap off may take long and end programs: swapoff --all",
    "power_supply": "plug it in",
    "thermal": "cool the machine",
    "virtualization": "use another machine",
    "container": "run openpts outside",
    "cpu_limit": "the creator of the control group has to change it",
    "clock_source": "the kernel has chosen it because others are not reliable here",
    "clock_sync": "start a service that synchronizes it",
    "load": _SOMEBODYS,
    "pressure": _SOMEBODYS,
    "cron": "it may run jobs that are needed: stop it yourself",
    "indexers": _SOMEBODYS,
    "scanners": _SOMEBODYS,
    "scans": "ending a repair would be worse: wait for it",
    "self_test": "wait for its end, or end it: nvme device-self-test -s 0xf, smartctl --abort",
    "drive_monitor": _SOMEBODYS,
    "tuning_services": _SOMEBODYS,
    "sleep": "it can be inhibited only during a run: openpts run --tune",
}
"""Why openpts does not change a setting, by key. All others it changes where the kernel lets it."""


def host_changes(
    roots: SystemRoots, scenario: Scenario, *, lasting: bool, run: Run = run_program
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
def _units(roots: SystemRoots, run: Run) -> Iterator[Change]:
    """Timers only: a service that installs software at this moment is left to its end."""
    groups = (("trim_timer", TRIM_UNITS), ("updates", UPDATE_UNITS), ("maintenance", MAINTENANCE_UNITS))
    timers = {unit: key for key, units in groups for unit in units if unit.endswith(".timer")}
    active, _ = active_units(tuple(timers), roots, run)
    for unit in active or ():
        yield Change(timers[unit], Means.UNIT, unit, STOPPED)
