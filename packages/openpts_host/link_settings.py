"""How the way to a drive is set: its driver, its queue, its link, their power states. Without root."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.link import hardware_folder, nvme_controller_folder, pci_functions, pcie_link
from openpts.device.nearby_cpus import numa_node
from openpts.system_files import SystemRoots, chosen_word, read_lines, read_text
from openpts.vocabulary.facts import Change, Fact, Facts, Means, Scenario
from openpts_host.advice.drive import LARGEST_BLOCK_KIB


def link_state_files(device: BlockDevice) -> tuple[Path, ...]:
    """The switches of the states that save power on the drive's own PCIe link (Linux 5.5)."""
    functions = pci_functions(hardware_folder(device))
    return tuple(sorted((functions[0] / "link").glob("*_aspm"))) if functions else ()


def apst_file(device: BlockDevice) -> Path | None:
    """Where the latency is set that the controller may take to wake by itself."""
    controller = nvme_controller_folder(device) if device.kind is DeviceKind.NVME else None
    return None if controller is None else controller / "power/pm_qos_latency_tolerance_us"


def scsi_power_control(device: BlockDevice) -> Path | None:
    """Whether a SATA or SAS disk may be suspended."""
    path = device.folder / "device/power/control"
    return path.resolve() if device.kind in {DeviceKind.ATA, DeviceKind.SCSI} and path.exists() else None


def usb_power_control(device: BlockDevice) -> Path | None:
    """Whether the USB device that the drive hangs on may be suspended."""
    for folder in device.folder.parents:
        if (folder / "bMaxPower").exists() and (folder / "power/control").exists():
            return folder / "power/control"
    return None


def sata_power_file(device: BlockDevice) -> Path | None:
    """Where the power management of a SATA link is set."""
    for folder in device.folder.parents:
        for path in sorted(folder.glob("scsi_host/host*/link_power_management_policy")):
            return path
    return None


# SOL-SYS-05
def _storage_driver(device: BlockDevice, roots: SystemRoots) -> Fact:
    """The storage driver, such as ``nvme 1.0``; one without a version of its own has the kernel's."""
    for folder in pci_functions(hardware_folder(device)):
        link = folder / "driver"
        if link.exists():
            name = link.resolve().name
            own = read_text(roots.sys / "module" / name / "version")
            return Fact(f"{name} {own}" if own else f"{name}, of the kernel", str(link))
    return Fact(None, "no PCI function above the drive has a driver")


_QUEUE: Final = ("nomerges", "rq_affinity", "iostats", "wbt_lat_usec", "add_random")
_AER: Final = {
    "aer_dev_correctable": ("TOTAL_ERR_COR", "correctable"),
    "aer_dev_nonfatal": ("TOTAL_ERR_NONFATAL", "nonfatal"),
    "aer_dev_fatal": ("TOTAL_ERR_FATAL", "fatal"),
}


def link_settings(device: BlockDevice, roots: SystemRoots) -> Facts:
    """Settings of a disk's queue and link, under the keys of the host audit; never raises."""
    folder = hardware_folder(device)
    functions = pci_functions(folder)
    kept, depth = device.text("queue/nr_requests"), drive_depth(device)
    source = f"{device.place('queue/nr_requests')}, sqsize or queue_depth of the drive"
    return {
        "storage_driver": _storage_driver(device, roots),
        "numa_node": _numa_node(device, roots),
        **_queue_facts(device),
        "nr_requests": Fact(f"{kept} of {depth}" if kept and depth else kept, source),
        "poll_queues": _poll_queues(device, roots),
        "interrupts": _interrupts(functions, roots),
        "link": pcie_link(folder),
        "aspm": _aspm(device, functions, roots),
        "apst": _apst(device),
        "power_state": _power_state(functions),
        "sata_power": _sata_power(device),
        "disk_suspend": _suspend(scsi_power_control(device), f"not of a disk of {device.kind}"),
        "usb_suspend": _suspend(usb_power_control(device), "not on USB"),
        "iommu": _iommu(functions),
        "aer": _aer(functions),
    }


def _queue_facts(device: BlockDevice) -> Facts:
    facts = {"scheduler": Fact(chosen_word(device.text("queue/scheduler")), device.place("queue/scheduler"))}
    facts |= {name: Fact(device.text(f"queue/{name}"), device.place(f"queue/{name}")) for name in _QUEUE}
    used, most = device.text("queue/max_sectors_kb"), device.text("queue/max_hw_sectors_kb")
    text = f"{used} KiB of {most} KiB" if used and most else f"{used} KiB" if used else None
    return facts | {"max_sectors_kb": Fact(text, device.place("queue/max_{,hw_}sectors_kb"))}


def drive_depth(device: BlockDevice) -> int | None:
    """How many requests a queue of the drive holds, as its driver reports; None where it does not."""
    if device.kind is DeviceKind.NVME:
        controller = nvme_controller_folder(device)
        text = None if controller is None else read_text(controller / "sqsize")
    else:
        text = device.text("device/queue_depth")
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None


def _sata_power(device: BlockDevice) -> Fact:
    path = sata_power_file(device)
    if path is None:
        source = "no host adapter above it has a link_power_management_policy"
        return Fact(_none("not on SATA"), source)
    return Fact(read_text(path), str(path))


def _none(why: str) -> str:
    """A setting that this kind of drive does not have, which is not the same as an unknown one."""
    return f"none ({why})"


_AWAKE: Final = {"on": "kept awake", "auto": "may be suspended"}


def _suspend(control: Path | None, absent: str) -> Fact:
    if control is None:
        return Fact(_none(absent), "no power/control for it above the drive")
    return Fact(_AWAKE.get(read_text(control) or ""), str(control))


def _numa_node(device: BlockDevice, roots: SystemRoots) -> Fact:
    nodes = sorted((roots.sys / "devices/system/node").glob("node[0-9]*"))
    node = numa_node(device)
    source = "numa_node of the drive's controller"
    if node is None:
        return Fact("the machine has one node" if len(nodes) == 1 else None, source)
    cpus = read_text(roots.sys / f"devices/system/node/node{node}/cpulist")
    of_all = f" of {len(nodes)}" if nodes else ""
    return Fact(f"node {node}{of_all}, processors {cpus}" if cpus else f"node {node}{of_all}", source)


def _poll_queues(device: BlockDevice, roots: SystemRoots) -> Fact:
    path = roots.sys / "module/nvme/parameters/poll_queues"
    if device.kind is not DeviceKind.NVME:
        return Fact(_none(f"not of {device.kind}"), str(path))
    return Fact(read_text(path), str(path))


def _interrupts(functions: Iterable[Path], roots: SystemRoots) -> Fact:
    """How many interrupts the drive's controller has, and on how many processors they end."""
    function = next(iter(functions), None)
    vectors = sorted((function / "msi_irqs").glob("[0-9]*")) if function else []
    if not vectors:
        return Fact(
            None, f"{function} has no msi_irqs" if function else "no PCI function is on the way to it"
        )
    # those of a queue without a processor that is online have none
    places = {
        text
        for vector in vectors
        if (text := read_text(roots.proc / "irq" / vector.name / "effective_affinity_list"))
    }
    text = f"{len(vectors)}, which end in {len(places)} places" if places else str(len(vectors))
    return Fact(text, f"{function}/msi_irqs, {roots.proc}/irq/*/effective_affinity_list")


# SOL-BIOS-04, SOL-PWR-10
def _aspm(device: BlockDevice, functions: tuple[Path, ...], roots: SystemRoots) -> Fact:
    """The kernel's policy, and the states that the drive's own link may enter."""
    policy = roots.sys / "module/pcie_aspm/parameters/policy"
    parts = [f"policy {chosen_word(text)}"] if (text := read_text(policy)) else []
    source = str(policy)
    if functions:
        link = functions[0] / "link"
        states = [
            path.name.removesuffix("_aspm").upper()
            for path in link_state_files(device)
            if read_text(path) == "1"
        ]
        if link.is_dir():
            parts.append(f"on: {', '.join(states)}" if states else "off on this link")
            source += f", {link}"
    return Fact("; ".join(parts) or None, source)


def _apst(device: BlockDevice) -> Fact:
    """The latency that the controller may take to wake by itself; 0 keeps it from sleeping."""
    path = apst_file(device)
    if path is None:
        return Fact(_none(f"not of {device.kind}"), "only NVMe controllers have such states")
    text = read_text(path)
    if text is None:
        return Fact(None, f"{path}: the controller has none, or the kernel does not report it")
    return Fact("off" if text == "0" else f"on, up to {text} us" if text.isdecimal() else text, str(path))


def _power_state(functions: tuple[Path, ...]) -> Fact:
    if not functions:
        return Fact(None, "no PCI function above the drive")
    state, control = read_text(functions[0] / "power_state"), read_text(functions[0] / "power/control")
    parts = [part for part in (state, _AWAKE.get(control or "")) if part]
    return Fact(", ".join(parts) or None, f"{functions[0]}/{{power_state,power/control}}")


def _iommu(functions: tuple[Path, ...]) -> Fact:
    if not functions:
        return Fact(None, "no PCI function above the drive")
    group = functions[0] / "iommu_group"
    if not group.exists():
        return Fact("off", f"{group} does not exist")
    kind = read_text(group / "type")
    return Fact(
        {"identity": "passes through"}.get(kind or "", f"translates ({kind})" if kind else "on"), str(group)
    )


def _aer(functions: tuple[Path, ...]) -> Fact:
    """Errors of the drive's link since the machine started."""
    if not functions:
        return Fact(None, "no PCI function above the drive")
    counts = []
    for attribute, (total, name) in _AER.items():
        for line in read_lines(functions[0] / attribute):
            key, _, number = line.rpartition(" ")
            if key == total and number.isdecimal():
                counts.append(f"{name} {number}")
    return Fact(", ".join(counts) or None, f"{functions[0]}/aer_dev_*")


COUNTING: Final = "iostats"
"""Whether the kernel counts the I/O of a drive."""

_TUNED_QUEUE: Final = {
    Scenario.SYNTHETIC: {
        "nomerges": "2",
        "rq_affinity": "2",
        COUNTING: "0",
        "add_random": "0",
        "wbt_lat_usec": "0",
    },
    Scenario.REAL_WORLD: {"nomerges": "0", "rq_affinity": "1", COUNTING: "1"},
}


def link_changes(device: BlockDevice, scenario: Scenario) -> tuple[Change, ...]:
    """All changes for the scenario, also those that are made already, in the order in which to make them.

    The scheduler comes after what it resets, so that putting back, which goes the other way, ends well.
    """
    queue = device.folder / "queue"
    changes = [*_largest_request(device)]
    if scenario is Scenario.SYNTHETIC and (depth := drive_depth(device)):
        changes += _at(("nr_requests", queue / "nr_requests", str(depth)))
    for name, wanted in _TUNED_QUEUE[scenario].items():
        changes += _at((name, queue / name, wanted))
    if scenario is Scenario.SYNTHETIC:
        changes += _at(("scheduler", queue / "scheduler", "none"))
        changes += _awake(device)
    return tuple(changes)


def _at(*settings: tuple[str, Path | None, str]) -> Iterator[Change]:
    """Changes to settings whose files can be read: some queues have a file without a value."""
    for key, path, wanted in settings:
        if path is not None and read_text(path) is not None:
            yield Change(key, Means.FILE, str(path.resolve()), wanted)


def _largest_request(device: BlockDevice) -> Iterator[Change]:
    """A limit below the largest block of a test that the hardware does not need is never right."""
    used, most = device.integer("queue/max_sectors_kb"), device.integer("queue/max_hw_sectors_kb")
    if used is not None and most is not None and used < min(most, LARGEST_BLOCK_KIB):
        path = device.folder / "queue/max_sectors_kb"
        yield from _at(("max_sectors_kb", path, str(min(most, LARGEST_BLOCK_KIB))))


# SOL-BIOS-04, SOL-PWR-04, SOL-PWR-09, SOL-PWR-10
def _awake(device: BlockDevice) -> Iterator[Change]:
    """Neither drive nor link nor what they hang on may save power."""
    yield from _at(*(("aspm", path, "0") for path in link_state_files(device)))
    functions = pci_functions(hardware_folder(device))
    yield from _at(
        ("power_state", functions[0] / "power/control" if functions else None, "on"),
        ("apst", apst_file(device), "0"),
        ("sata_power", sata_power_file(device), "max_performance"),
        ("disk_suspend", scsi_power_control(device), "on"),
        ("usb_suspend", usb_power_control(device), "on"),
    )
