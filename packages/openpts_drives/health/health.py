"""The device's own log of its health, under the names of vocabulary.health; nothing is guessed."""

from collections.abc import Mapping
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import (
    NvmeCommandError,
    NvmeController,
    identify_controller,
    identify_uuid_list,
    read_log,
    read_smart_log,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.vocabulary.facts import SIMULATED_LOG, Fact, HealthReading
from openpts_drives.health.ata_health import (
    SmartctlError,
    ask_smartctl,
    ata_health,
    bridged_nvme_health,
    scsi_health,
)
from openpts_drives.health.nvme_health import (
    OCP_PAGE,
    PLACEMENT_LOG,
    VENDOR_LOG_BYTES,
    ocp_uuid_index,
    parse_smart_log,
    parse_vendor_log,
    placement_health,
    vendor_log_page,
)

NVME_LOG: Final = "NVMe log page 02h"
SMARTCTL_TIMEOUT_S: Final = 30.0
_PROTOCOLS: Final = {"ATA": ata_health, "SCSI": scsi_health, "NVMe": bridged_nvme_health}
_MODEL_PAGE_BYTES: Final = 4096  # what all models of simulated drives map

# the names of a simulated drive's log, where they are others
_SIMULATED_NAMES: Final = {
    "host_reads": "host_read_commands",
    "host_writes": "host_write_commands",
    "percentage_used": "percentage_used_pct",
}
_SIMULATED_PLACEMENT: Final = {
    "handles": "handles",
    "host_write_bytes": "host_bytes",
    "media_write_bytes": "media_bytes",
    "erased_bytes": "erased_bytes",
}
_SIMULATED_AS_THEY_ARE: Final = (
    "temperature_c", "available_spare_pct", "read_only", "host_read_bytes", "host_write_bytes", "erases",
    "erase_count_mean", "erase_count_max", "bad_superblocks", "media_errors", "throttle_events",
    "warning_temperature_s", "critical_temperature_s", "busy_s", "energy_j",
)  # fmt: skip


def read_health(target: OpenTarget, run: ProgramRunner = run_program) -> HealthReading:
    """Read the log of a drive that is open; never raises: the source says why there are no values."""
    if target.device is None:
        return HealthReading("a file has no log of its health")
    disk = target.device.whole
    return _nvme_health(target.fd) if disk.kind is DeviceKind.NVME else _health_by_smartctl(disk, run)


def read_health_of(
    device: BlockDevice, run: ProgramRunner = run_program, timeout_s: float = SMARTCTL_TIMEOUT_S
) -> HealthReading:
    """The same for a drive that is not open; nothing on it changes, and a sleeping disk stays asleep.

    ``timeout_s`` bounds smartctl; the kernel gives an NVMe command 5 s. Never raises.
    """
    disk = device.whole
    if disk.kind is not DeviceKind.NVME:
        return _health_by_smartctl(disk, run, timeout_s)
    try:
        with open_to_ask(disk) as fd:
            return _nvme_health(fd)
    except OSError as error:
        return HealthReading(f"{disk.node} can't be opened: {error.strerror}")


def _nvme_health(fd: int) -> HealthReading:
    try:
        log = parse_smart_log(read_smart_log(fd))
        controller = identify_controller(fd)
    except (NvmeCommandError, ValueError) as error:
        return HealthReading(f"{NVME_LOG} can't be read: {error}")
    vendor, vendor_source = _vendor_log(fd, controller, log)
    placed, placed_source = _placement_log(fd, controller)
    values = log | controller.temperature_limits_c | vendor | placed
    return HealthReading(f"{NVME_LOG}{vendor_source}{placed_source}", values)


def _placement_log(fd: int, controller: NvmeController) -> tuple[dict[str, float], str]:
    """What the drive counts of placement, and how the source continues."""
    try:
        values = placement_health(fd, controller)
    except NvmeCommandError as error:
        return {}, f"; log page {PLACEMENT_LOG:02X}h can't be read: {error}"
    return values, f" and {PLACEMENT_LOG:02X}h" if values else ""


def _vendor_log(
    fd: int, controller: NvmeController, log: Mapping[str, float]
) -> tuple[dict[str, float], str]:
    """What the vendor's page says, and how the source continues: its name, or why it says nothing."""
    page, index = vendor_log_page(controller), 0
    try:
        if controller.has_uuid_list and page in {None, OCP_PAGE}:
            index = ocp_uuid_index(identify_uuid_list(fd))
        # of a vendor that is not known for it, too
        page = OCP_PAGE if index else page
        if page is None:
            return {}, ""
        data = read_log(fd, page, VENDOR_LOG_BYTES, uuid_index=index)
        return parse_vendor_log(page, data, log), f" and {page:02X}h"
    except (NvmeCommandError, ValueError) as error:
        return {}, "" if page is None else f"; log page {page:02X}h can't be used: {error}"


def _health_by_smartctl(
    device: BlockDevice, run: ProgramRunner, timeout_s: float = SMARTCTL_TIMEOUT_S
) -> HealthReading:
    if device.kind not in {DeviceKind.ATA, DeviceKind.SCSI}:
        return HealthReading(f"openpts reads no health log of this kind of device ({device.kind})")
    try:
        answer = ask_smartctl(device, run, timeout_s)
    except (SmartctlError, ProgramError) as error:
        return HealthReading(f"{device.kind} health log can't be read: {error}")
    # behind a USB bridge there may be a drive of another kind than the kernel sees
    reported = _PROTOCOLS.get(answer.text("device", "protocol"), scsi_health)(answer)
    if (failing := answer.foretells_failure) is not None:
        reported.add("failure_foretold", float(failing))
    what = answer.name if reported.values else f"{answer.name}: the drive reports nothing of its health"
    return HealthReading("; ".join((what, *reported.doubts)), reported.values)


def simulated_health(
    log: Mapping[str, float | None],
    *,
    has_flash: bool,
    limits_c: Mapping[str, float],
    placement: Mapping[str, int] | None = None,
) -> HealthReading:
    """The log of a simulated drive; one that follows a script has no flash, so nothing is written to it.

    ``limits_c`` are the preset's ``warning_c`` and ``critical_c``, as far as it has them; ``placement`` is
    what a drive with placement handles counts of them.
    """
    values = {
        _SIMULATED_NAMES.get(name, name): float(value)
        for name in (*_SIMULATED_AS_THEY_ARE, *_SIMULATED_NAMES)
        if (value := log.get(name)) is not None
    }
    values |= {
        f"{name.removesuffix('_c')}_limit_c": float(limits_c[name])
        for name in ("warning_c", "critical_c")
        if name in limits_c
    }
    pages = log.get("nand_pages_total")
    if has_flash and pages is not None:
        values["nand_write_bytes"] = float(pages) * _MODEL_PAGE_BYTES
    for name, counted in _SIMULATED_PLACEMENT.items():
        if placement is not None:
            values[f"placement_{name}"] = float(placement[counted])
    return HealthReading(SIMULATED_LOG, values)


_NONE: Final = "none"
_TIMEOUT_S: Final = 30.0

# NVM Express Base Specification, Device Self-test log
_NVME_LOG: Final = 0x06
_NVME_LOG_BYTES: Final = 564
_NVME_KINDS: Final = {1: "short", 2: "extended", 3: "host-initiated refresh", 0xE: "vendor's"}

# ACS, SMART READ DATA: the upper half of the status byte while a test is in progress; the lower counts tenths
_ATA_STATUS: Final = ("ata_smart_data", "self_test", "status", "value")
_ATA_IN_PROGRESS: Final = 0xF


def self_test_fact(device: BlockDevice, run: ProgramRunner = run_program) -> Fact:
    """The self-test that a drive is at; never raises. A sleeping disk sleeps on."""
    disk = device.whole
    if disk.kind is DeviceKind.NVME:
        source = "NVMe log page 06h"
        try:
            with open_to_ask(disk) as fd:
                if not identify_controller(fd).tests_itself:
                    return Fact(f"{_NONE} (the drive has no self-test)", "Identify Controller, bit 4 of OACS")
                log = read_log(fd, _NVME_LOG, _NVME_LOG_BYTES)
        except (OSError, NvmeCommandError, ValueError) as error:
            return Fact(None, f"{source} can't be read: {error}")
        kind = log[0] & 0xF
        if kind == 0:
            return Fact(_NONE, source)
        return Fact(f"{_NVME_KINDS.get(kind, 'unknown')} self-test, {log[1] & 0x7F} % done", source)
    if disk.kind is DeviceKind.ATA:
        return _of_ata(disk, run)
    if disk.kind is DeviceKind.SCSI:
        return Fact(None, "openpts does not ask SCSI drives for it")
    return Fact(
        f"{_NONE} (not of a disk of {disk.kind})", f"{disk.node} is no drive with commands of its own"
    )


def _of_ata(disk: BlockDevice, run: ProgramRunner) -> Fact:
    try:
        answer = ask_smartctl(disk, run, _TIMEOUT_S, questions=("--capabilities",))
    except (SmartctlError, ProgramError) as error:
        return Fact(None, f"the self-test's status can't be read: {error}")
    source = f"{answer.name} --capabilities"
    status = answer.number(*_ATA_STATUS)
    if status is None:
        return Fact(None, f"{source}: the drive reports nothing of self-tests")
    state, tenths_left = divmod(int(status), 16)
    return Fact(_NONE if state != _ATA_IN_PROGRESS else f"self-test, {100 - 10 * tenths_left} % done", source)
