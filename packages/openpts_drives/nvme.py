"""What NVMe drives alone have."""

import struct
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import DeviceKind
from openpts.device.journalled_drive import drive_subject, drive_text, find_drive
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import (
    NvmeCommandError,
    NvmeNamespace,
    get_feature,
    identify_controller,
    identify_controller_data,
    identify_namespace,
    set_feature,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.journal import Entry, Journal
from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_MS, NS_PER_US
from openpts.vocabulary.power import (
    MOST_STATES,
    PowerMode,
    PowerSetting,
    PowerState,
    PowerStatesSet,
    SetPowerStates,
    Transition,
)

POWER_STATES: Final = "power states"
"""The kind of its entries in the undo journal."""
_NPSS_AT, _APSTA_AT, _DESCRIPTORS_AT, _DESCRIPTOR_BYTES = 263, 265, 2048, 32
# maximum power, flags, ENLAT, EXLAT, four relative figures, idle power and its scale
_DESCRIPTOR: Final = struct.Struct("<HxBII4xHB")
_FINE, _NON_OPERATIONAL = 1 << 0, 1 << 1
_W_PER_UNIT: Final = {1: 0.0001, 2: 0.01}
_POWER_MANAGEMENT, _AUTONOMOUS = 0x02, 0x0C
_DEFAULT: Final = 1
_TABLE: Final = struct.Struct(f"<{MOST_STATES}Q")
_SOURCE: Final = "Identify Controller, features 02h and 0Ch"


def declared_states(data: bytes) -> tuple[PowerState, ...]:
    """The states that Identify Controller describes; a single one as well."""
    return tuple(_declared(data, number) for number in range(min(data[_NPSS_AT], MOST_STATES - 1) + 1))


def _declared(data: bytes, number: int) -> PowerState:
    at = _DESCRIPTORS_AT + number * _DESCRIPTOR_BYTES
    most, flags, entry_us, exit_us, idle, idle_scale = _DESCRIPTOR.unpack_from(data, at)
    idle_unit_w = _W_PER_UNIT.get(idle_scale >> 6)
    return PowerState(
        number,
        operational=not flags & _NON_OPERATIONAL,
        most_w=most * _W_PER_UNIT[1 if flags & _FINE else 2] if most else None,
        idle_w=idle * idle_unit_w if idle_unit_w and idle else None,
        entry_ns=entry_us * NS_PER_US if entry_us else None,
        exit_ns=exit_us * NS_PER_US if exit_us else None,
    )


def table_of(data: bytes) -> tuple[Transition, ...]:
    """The transitions of feature 0Ch: ITPS in bits 7:3, ITPT in ms in bits 31:8, 0 for none."""
    entries = enumerate(_TABLE.unpack(data))
    return tuple(
        Transition(origin, entry >> 3 & 31, (entry >> 8 & 0xFFFFFF) * NS_PER_MS)
        for origin, entry in entries
        if entry >> 8 & 0xFFFFFF
    )


def table_bytes(table: tuple[Transition, ...]) -> bytes:
    """The 256 bytes of feature 0Ch."""
    by_origin = {one.origin: one.to << 3 | one.after_ns // NS_PER_MS << 8 for one in table}
    return _TABLE.pack(*(by_origin.get(origin, 0) for origin in range(MOST_STATES)))


def setting_of(fd: int) -> PowerSetting:
    """How a drive is set; one without transitions of its own has no feature 0Ch. Raises NvmeCommandError."""
    transitions = identify_controller_data(fd)[_APSTA_AT] & 1
    state = get_feature(fd, _POWER_MANAGEMENT)[0] & 31
    if not transitions:
        return PowerSetting(state, autonomous=False)
    value, data = get_feature(fd, _AUTONOMOUS, data_bytes=_TABLE.size)
    return PowerSetting(state, bool(value & 1), table_of(data))


class NvmePowerStates(Struct):
    """The power states of a drive that the guard has opened; ``_entry`` is what there is to put back.

    ``found`` is how they were set when it was made, None of a drive that did not report it.
    """

    target: OpenTarget
    journal: Journal
    found: PowerSetting | None
    _entry: Entry | None = field(default=None)

    @classmethod
    def of(cls, target: OpenTarget, journal: Journal) -> "NvmePowerStates":
        """States of an open target, as they are set now."""
        try:
            return cls(target, journal, setting_of(target.fd))
        except NvmeCommandError:
            return cls(target, journal, None)

    def set(self, request: SetPowerStates) -> PowerStatesSet:
        """Carry it out; what the drive does not accept is in the answer."""
        states: tuple[PowerState, ...] = ()
        try:
            data = identify_controller_data(self.target.fd)
            states, transitions = declared_states(data), bool(data[_APSTA_AT] & 1)
            refused = self._set(request, states, transitions=transitions)
            setting = setting_of(self.target.fd)
        except NvmeCommandError as error:
            return PowerStatesSet(request.mode, request.state, _SOURCE, states, refused=str(error))
        return PowerStatesSet(request.mode, request.state, _SOURCE, states, setting, refused)

    def _set(self, request: SetPowerStates, states: tuple[PowerState, ...], *, transitions: bool) -> str:
        if request.mode is not PowerMode.COMMANDED and not transitions:
            return "" if request.mode is PowerMode.OFF else "the drive enters no state by itself (APSTA is 0)"
        if request.mode is PowerMode.COMMANDED and request.state >= len(states):
            return f"the drive has no power state {request.state}"
        if self.found is None:
            return "the drive does not say how its states are set, so they could not be put back"
        self._note(self.found, transitions=transitions)
        if request.mode is PowerMode.COMMANDED:
            set_feature(self.target.fd, _POWER_MANAGEMENT, request.state)
            return ""
        table = self.found.table or self._default_table()
        enabled = request.mode is PowerMode.AUTONOMOUS
        set_feature(self.target.fd, _AUTONOMOUS, int(enabled), data=table_bytes(table))
        return "" if table or not enabled else "its table of transitions is empty, also by default"

    def _default_table(self) -> tuple[Transition, ...]:
        """Transitions that the drive has by default, where the host has left none."""
        try:
            return table_of(
                get_feature(self.target.fd, _AUTONOMOUS, select=_DEFAULT, data_bytes=_TABLE.size)[1]
            )
        except NvmeCommandError:
            return ()

    def _note(self, found: PowerSetting, *, transitions: bool) -> None:
        """Have what was found in the journal before the first change. Raises JournalError."""
        device = self.target.device
        if self._entry is not None or device is None:
            return
        text = {"state": str(found.state)}
        if transitions:
            text |= {"autonomous": str(int(found.autonomous)), "table": table_bytes(found.table).hex()}
        self._entry = self.journal.add(POWER_STATES, drive_subject(device), text)

    def put_back(self) -> None:
        """Leave the drive as it was found. Raises TargetError, and keeps the entry in the journal."""
        if self._entry is None:
            return
        try:
            _put_back(self.target.fd, self._entry.found)
        except (OSError, NvmeCommandError) as error:
            raise TargetError(
                f"the power states of {self.target.facts.path} could not be set back: {error}; the next run "
                "on the drive, or `openpts doctor --restore`, tries again"
            ) from error
        self.journal.remove(self._entry)
        self._entry = None


def _put_back(fd: int, text: Mapping[str, str]) -> None:
    table = table_of(bytes.fromhex(text["table"])) if "table" in text else ()
    found = PowerSetting(int(text["state"]), text.get("autonomous") == "1", table)
    if "table" in text:
        set_feature(fd, _AUTONOMOUS, int(found.autonomous), data=table_bytes(found.table))
    set_feature(fd, _POWER_MANAGEMENT, found.state)


def put_back_power_states(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:  # noqa: ARG001 no program does it
    """Put back what a run that was killed has left; see openpts.runner.healing.Healer. Raises TargetError."""
    device = find_drive(entry.subject, roots)
    try:
        with open_to_ask(device) as fd:
            _put_back(fd, entry.found)
    except (OSError, NvmeCommandError, ValueError, KeyError) as error:
        raise TargetError(f"{drive_text(entry.subject)} does not accept the setting: {error}") from error
    return (
        f"the power states of {device.node} are set as they were: an interrupted run of {entry.made_at} had "
        "changed them"
    )


_OWN_UNITS: Final = 1 << 1  # NSFEAT: NAWUPF is the namespace's own


class PowerFailUnit(Struct, frozen=True):
    """``each_sector``: of a longer write each logical block is old or new; otherwise nothing is promised."""

    bytes: int
    source: str
    each_sector: bool


def power_fail_unit(target: OpenTarget) -> PowerFailUnit:
    """What the drive reports: of NVMe NAWUPF or AWUPF, of others the logical block; never raises."""
    sector_bytes, device = target.facts.sector_bytes, target.device
    block = PowerFailUnit(sector_bytes, "logical block", each_sector=True)
    if device is None or device.kind is not DeviceKind.NVME:
        return block
    try:
        controller = identify_controller(target.fd)
        namespace = NvmeNamespace.parse(identify_namespace(target.fd, device.whole.integer("nsid") or 1))
    except (OSError, ValueError, NvmeCommandError) as error:
        return PowerFailUnit(sector_bytes, f"logical block; identify failed: {error}", each_sector=False)
    own = bool(namespace.nsfeat & _OWN_UNITS)
    blocks, name = (namespace.nawupf, "NAWUPF") if own else (controller.awupf, "AWUPF")
    # writes are aligned to their length: they cross no boundary that is no smaller and begins at 0
    if own and namespace.nabspf:
        blocks = 0 if namespace.nabo else min(blocks, namespace.nabspf)
    return PowerFailUnit((blocks + 1) * sector_bytes, f"{name} {blocks}", each_sector=False)
