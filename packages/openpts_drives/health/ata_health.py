"""Health of ATA, SCSI and SAS drives: SMART attributes, Device Statistics, log pages, as smartctl reads them.

smartmontools knows what hundreds of drives mean by their attributes; openpts reads its JSON (version 1) and
trusts nothing in it. Attributes are the vendor's own. A name that carries its unit is taken at its word
where smartmontools knows the model; one that carries none only where two places agree on it, or where the
vendor has published it. Where a drive reports a value in two places, firmware often gets it wrong (32 bits of
48, units that the name denies): values that disagree are left out.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, NamedTuple, Self

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice
from openpts.programs import ProgramRunner
from openpts.system_files import printable
from openpts.units import GB, GIB, MIB
from openpts_drives.health.nvme_health import SMART_LOG_FIELDS

FORMAT_VERSION: Final = 1
_LONGEST_MESSAGE: Final = 300

# bits of the exit status
_BAD_COMMAND_LINE: Final = 1 << 0
_NOT_OPENED: Final = 1 << 1


class SmartctlError(Exception):
    """smartctl could say nothing of the drive; the text says why."""


# Not ``-x``: it sends SCT commands, which some drives answer late, for tables that openpts does not need.
OF_HEALTH: Final = ("--info", "--health", "--attributes", "--log=error", "--log=devstat", "--log=ssd")
"""Identity, health, attributes, error counters and device statistics."""


def smartctl_command(device: BlockDevice, questions: Sequence[str] = OF_HEALTH) -> list[str]:
    """Ask a drive, and wake no sleeping disk."""
    return ["smartctl", "--json=c", "--nocheck=standby", *questions, str(device.node)]


class SmartctlAnswer(Struct, frozen=True):
    """The tree that smartctl printed; whatever is missing in it, or of another type, is None."""

    tree: Mapping[str, object]

    def at(self, *path: str) -> object:
        """The value at the end of a path of keys."""
        found: object = self.tree
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def number(self, *path: str) -> float | None:
        """A number there."""
        return number(self.at(*path))

    def items(self, *path: str) -> tuple[Mapping[str, object], ...]:
        """The objects of a list there."""
        found = self.at(*path)
        return tuple(item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()

    def text(self, *path: str) -> str:
        """A text there, printable; "" if there is none."""
        found = self.at(*path)
        return printable(found[:_LONGEST_MESSAGE]) if isinstance(found, str) else ""

    @property
    def version(self) -> tuple[int, ...]:
        """smartctl's version, such as (7, 3); () if it does not report it."""
        found = self.at("smartctl", "version")
        parts = found if isinstance(found, list) else []
        return tuple(part for part in parts if isinstance(part, int) and not isinstance(part, bool))

    @property
    def name(self) -> str:
        """How a source names it, such as ``smartctl 7.3``."""
        return " ".join(("smartctl", ".".join(str(part) for part in self.version))).strip()

    @property
    def in_database(self) -> bool:
        """Whether smartmontools knows this model, and so what its attributes mean."""
        return self.at("in_smartctl_database") is True

    @property
    def foretells_failure(self) -> bool | None:
        """SMART's own verdict; None where the drive gives none."""
        passed = self.at("smart_status", "passed")
        return not passed if isinstance(passed, bool) else None


def number(value: object) -> float | None:
    """A JSON number that is one, as a float; None for all else, also for what no float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def ask_smartctl(
    device: BlockDevice, run: ProgramRunner, timeout_s: float, questions: Sequence[str] = OF_HEALTH
) -> SmartctlAnswer:
    """Ask about a drive. Raises SmartctlError, and ProgramError if smartctl is missing or too slow.

    The exit status is no verdict on the answer: bit 2 says that one of the commands failed, bits 3 to 7 what
    is wrong with the drive.
    """
    answer = run(smartctl_command(device, questions), timeout_s)
    try:
        tree = json.loads(answer.stdout)
    except (ValueError, RecursionError) as error:
        raise SmartctlError(f"smartctl printed no JSON: {answer.complaint}") from error
    reported = SmartctlAnswer(tree if isinstance(tree, dict) else {})
    if answer.returncode < 0 or answer.returncode & (_BAD_COMMAND_LINE | _NOT_OPENED):
        texts = (item.get("string") for item in reported.items("smartctl", "messages"))
        messages = (printable(text[:_LONGEST_MESSAGE]) for text in texts if isinstance(text, str))
        raise SmartctlError("; ".join(messages) or f"exit status {answer.returncode} and no message")
    version = reported.at("json_format_version")
    if not (isinstance(version, list) and version[:1] == [FORMAT_VERSION]):
        raise SmartctlError(f"smartctl's JSON is not of format version {FORMAT_VERSION}")
    return reported


class Reported(Struct):
    """Values by name, and sentences on what was left out because the drive contradicts itself."""

    values: dict[str, float] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | None) -> None:
        """Take a value, if there is one."""
        if value is not None:
            self.values[name] = value

    def add_agreed(
        self, name: str, sources: Mapping[str, float | None], *, apart: float = 0, share_apart: float = 0
    ) -> None:
        """Take the first value that there is, if all are at most so far from it.

        ``sources`` has them by their places; ``apart`` has the value's unit, ``share_apart`` is of the first.
        """
        reported = {place: value for place, value in sources.items() if value is not None}
        if not reported:
            return
        first = next(iter(reported.values()))
        if all(abs(value - first) <= max(apart, share_apart * first) for value in reported.values()):
            self.values[name] = first
        else:
            self.doubt(name, reported)

    def doubt(self, name: str, reported: Mapping[str, float]) -> None:
        """Note what contradicts what."""
        places = " but ".join(f"{place} {value:.0f}" for place, value in reported.items())
        self.doubts.append(f"{name} left out: {places}")


_USUAL_LBA_BYTES: Final = 512
_LONGEST_COUNT: Final = len(str(2**64))


class Attribute(Struct, frozen=True):
    """One vendor's attribute under smartmontools' name; ``value`` is normalized.

    ``raw`` is the raw value as smartmontools decodes it, None where that is not one whole number.
    """

    number: int
    name: str
    value: float | None
    raw: int | None


class AtaLogs(Struct, frozen=True):
    """``statistics`` are the valid ones, by the names of ACS. ``family`` is "" for an unknown model."""

    attributes: tuple[Attribute, ...]
    statistics: Mapping[str, float]
    lba_bytes: int
    in_database: bool
    family: str

    @classmethod
    def of(cls, answer: SmartctlAnswer) -> Self:
        """Whatever of them smartctl printed."""
        attributes = (_attribute(item) for item in answer.items("ata_smart_attributes", "table"))
        return cls(
            attributes=tuple(attribute for attribute in attributes if attribute is not None),
            statistics=_statistics(answer),
            lba_bytes=int(answer.number("logical_block_size") or _USUAL_LBA_BYTES),
            in_database=answer.in_database,
            family=answer.text("model_family"),
        )

    def raw(self, names: tuple[str, ...]) -> float | None:
        """Raw value of the first attribute with one of these names."""
        found = (attribute.raw for attribute in self.attributes if attribute.name in names)
        return next((float(raw) for raw in found if raw is not None), None)


def _attribute(item: Mapping[str, object]) -> Attribute | None:
    identifier, name = number(item.get("id")), item.get("name")
    if identifier is None or not isinstance(name, str):
        return None
    raw = item.get("raw")
    reported = raw.get("string") if isinstance(raw, dict) else None
    return Attribute(int(identifier), name, number(item.get("value")), _whole(reported))


def _whole(text: object) -> int | None:
    if not isinstance(text, str) or len(text) > _LONGEST_COUNT or not text.isascii():
        return None
    return int(text) if text.isdecimal() else None


def _statistics(answer: SmartctlAnswer) -> dict[str, float]:
    found = {}
    for page in answer.items("ata_device_statistics", "pages"):
        table = page.get("table")
        for item in table if isinstance(table, list) else ():
            if isinstance(item, dict) and (reported := _statistic(item)) is not None:
                found[reported[0]] = reported[1]
    return found


def _statistic(item: Mapping[str, object]) -> tuple[str, float] | None:
    name, value, flags = item.get("name"), number(item.get("value")), item.get("flags")
    if not isinstance(name, str) or value is None or value < 0:
        return None
    valid = not isinstance(flags, dict) or flags.get("valid") is not False
    return (name, value) if valid else None


_ATTRIBUTES: Final = "SMART attributes"
_STATISTICS: Final = "device statistics"

_LBA: Final = 0  # stands for the logical block size
_HOST_WRITES: Final = {
    "Host_Writes_32MiB": 32 * MIB,
    "Host_Writes_MiB": MIB,
    "Host_Writes_GiB": GIB,
    "Lifetime_Writes_GiB": GIB,
    "Total_Writes_GiB": GIB,
    "Total_LBAs_Written": _LBA,
}
_HOST_READS: Final = {
    "Host_Reads_32MiB": 32 * MIB,
    "Host_Reads_MiB": MIB,
    "Host_Reads_GiB": GIB,
    "Lifetime_Reads_GiB": GIB,
    "Total_Reads_GiB": GIB,
    "Total_LBAs_Read": _LBA,
}
_NAND_WRITES: Final = {
    "NAND_Writes_1GiB": GIB,
    "NAND_Writes_32MiB": 32 * MIB,
    "Total_NAND_Writes_GiB": GIB,
    "Flash_Writes_GiB": GIB,
}
# Families whose Total_LBAs are LBAs: Samsung's white paper on SMART attributes, Micron's TN-FD-23. Others
# count gigabytes under that name.
_COUNT_LBAS: Final = ("Samsung", "Crucial/Micron")
# what a count without a known unit may be in
_POSSIBLE_UNITS: Final = (512, MIB, 32 * MIB, GB, GIB)
_WRAPS_AT: Final = 2**32  # sectors, where firmware keeps half of the field
_MOST_APART: Final = 0.02

# (number, name): whether the normalized value is what is left of the rated life, in per cent, or the raw one
_LIFE_LEFT: Final = {
    (233, "Media_Wearout_Indicator"): "value",
    (231, "SSD_Life_Left"): "value",
    (202, "Percent_Lifetime_Remain"): "value",
    (202, "Perc_Rated_Life_Used"): "value",
    (245, "Drive_Life_Remaining%"): "value",
    (169, "Remaining_Lifetime_Perc"): "raw",
}
_SAMSUNG_LIFE_LEFT: Final = (177, "Wear_Leveling_Count")
_WHOLE_PCT: Final = 100
_PCT_APART: Final = 2  # both are rounded

_REALLOCATED: Final = ("Reallocated_Sector_Ct", "Reallocate_NAND_Blk_Cnt", "Retired_Block_Count")
_PENDING: Final = ("Current_Pending_Sector",)
_UNCORRECTABLE: Final = ("Reported_Uncorrect", "Uncorrectable_Error_Cnt", "Uncorrectable_ECC_Ct")
_UNSAFE_SHUTDOWNS: Final = (
    "Unsafe_Shutdown_Count",
    "Unexpect_Power_Loss_Ct",
    "Unexpected_Power_Loss",
    "Unexpected_Pwr_Loss_Ct",
)
# a drive without a thermometer says 0; what no flash survives is none either
_COLDEST_C: Final = -40
_HOTTEST_C: Final = 125


class _Bytes(NamedTuple):
    """A count of bytes, and the steps in which it grows."""

    total: float
    unit: float


def ata_health(answer: SmartctlAnswer) -> Reported:
    """Values under the names of vocabulary.health."""
    reported = Reported()
    logs = AtaLogs.of(answer)
    reported.add("temperature_c", plausible_temperature_c(answer.number("temperature", "current")))
    reported.add("power_cycles", answer.number("power_cycle_count"))
    reported.add_agreed(
        "power_on_hours",
        {
            # some drives have the field and never count in it
            _STATISTICS: logs.statistics.get("Power-on Hours") or None,
            _ATTRIBUTES: answer.number("power_on_time", "hours"),
        },
        apart=2,
        share_apart=_MOST_APART,
    )
    left = dict(_LIFE_LEFT)
    if logs.family.startswith("Samsung"):
        left[_SAMSUNG_LIFE_LEFT] = "value"
    used = None
    for attribute in logs.attributes if logs.in_database else ():
        kind = left.get((attribute.number, attribute.name))
        remaining = attribute.value if kind == "value" else attribute.raw if kind == "raw" else None
        if remaining is not None and 0 <= remaining <= _WHOLE_PCT:
            used = _WHOLE_PCT - remaining
    sources = {_STATISTICS: logs.statistics.get("Percentage Used Endurance Indicator"), _ATTRIBUTES: used}
    reported.add_agreed("percentage_used_pct", sources, apart=_PCT_APART)
    kinds = (
        ("host_write_bytes", "host_write_commands", _HOST_WRITES, "Written", "Write"),
        ("host_read_bytes", "host_read_commands", _HOST_READS, "Read", "Read"),
    )
    trusted = True
    for name, commands, units, sectors, kind in kinds:
        counted = logs.statistics.get(f"Logical Sectors {sectors}")
        counted_bytes = None if counted is None else counted * logs.lba_bytes
        has_any = any(attribute.name in units for attribute in logs.attributes)
        if not trusted and counted_bytes is not None and not has_any:
            reported.doubt(name, {f"{_STATISTICS}, whose other counters are wrong,": counted_bytes})
            continue
        settled = _settle(reported, name, logs, units, counted_bytes)
        trusted = trusted and (settled.total if settled else None) == counted_bytes
        if settled is None:
            continue
        reported.add(name, settled.total)
        if settled.unit > logs.lba_bytes:
            reported.add(name.replace("_bytes", "_unit_bytes"), settled.unit)
        if settled.total == counted_bytes:
            reported.add(commands, logs.statistics.get(f"Number of {kind} Commands"))
    if (nand := _named_bytes(logs, _NAND_WRITES)) is not None:
        reported.values |= {"nand_write_bytes": nand.total, "nand_write_unit_bytes": nand.unit}
    _errors(reported, logs)
    return reported


def plausible_temperature_c(reported_c: float | None) -> float | None:
    """A temperature that a drive can have; None for what drives without a thermometer say."""
    if reported_c is None or reported_c == 0 or not _COLDEST_C < reported_c < _HOTTEST_C:
        return None
    return reported_c


def _settle(
    reported: Reported, name: str, logs: AtaLogs, units: Mapping[str, int], counted_bytes: float | None
) -> _Bytes | None:
    """The one number of bytes that statistics and attribute leave possible; else a doubt."""
    named = _named_bytes(logs, units)
    if counted_bytes is None:
        return named
    counted = _Bytes(counted_bytes, logs.lba_bytes)
    if named is None:
        bare = logs.raw(tuple(name for name, unit in units.items() if unit == _LBA))
        if bare is None or any(_alike(counted_bytes, bare * unit, unit) for unit in _POSSIBLE_UNITS):
            return counted
        reported.doubt(name, {_STATISTICS: counted_bytes, f"{_ATTRIBUTES}, in no known unit,": bare})
        return None
    if _alike(counted_bytes, named.total, named.unit):
        return counted
    wraps_at_bytes = _WRAPS_AT * logs.lba_bytes
    if counted_bytes < wraps_at_bytes and _alike(counted_bytes, named.total % wraps_at_bytes, named.unit):
        return named
    reported.doubt(name, {_STATISTICS: counted_bytes, _ATTRIBUTES: named.total})
    return None


def _alike(one: float, other: float, unit: float) -> bool:
    return abs(one - other) <= max(unit, _MOST_APART * min(one, other))


def _named_bytes(logs: AtaLogs, units: Mapping[str, int]) -> _Bytes | None:
    """Bytes by an attribute whose unit is known."""
    if not logs.in_database:
        return None
    counts_lbas = logs.family.startswith(_COUNT_LBAS)
    for attribute in logs.attributes:
        unit = units.get(attribute.name)
        if unit is None or attribute.raw is None or (unit == _LBA and not counts_lbas):
            continue
        unit_bytes = unit or logs.lba_bytes
        return _Bytes(float(attribute.raw * unit_bytes), unit_bytes)
    return None


def _errors(reported: Reported, logs: AtaLogs) -> None:
    counted = logs.statistics.get("Number of Reported Uncorrectable Errors")
    reported.add_agreed("media_errors", {_STATISTICS: counted, _ATTRIBUTES: logs.raw(_UNCORRECTABLE)})
    reported.add("reallocated_sectors", logs.raw(_REALLOCATED))
    reported.add("pending_sectors", logs.raw(_PENDING))
    reported.add("unsafe_shutdowns", logs.raw(_UNSAFE_SHUTDOWNS))


# before it, smartctl's JSON had the length of the list in bytes under this name
_COUNTS_DEFECTS_SINCE: Final = (7, 4)
_MINUTES_PER_HOUR: Final = 60
_LARGEST_PERCENTAGE: Final = 255


def scsi_health(answer: SmartctlAnswer) -> Reported:
    """Values under the names of vocabulary.health."""
    reported = Reported()
    # drives with an Environmental Reporting log may have the temperature only there
    places = (("temperature", "current"), ("scsi_environmental_reports", "temperature_1", "current"))
    reported.add("temperature_c", _first_plausible_c(answer, places))
    # SPC's reference temperature: up to it the device works without harm
    limits = (("temperature", "drive_trip"), ("scsi_temperature", "drive_trip"))
    reported.add("warning_limit_c", _first_plausible_c(answer, limits))
    hours = answer.number("power_on_time", "hours")
    if hours is not None:
        minutes = answer.number("power_on_time", "minutes") or 0
        reported.add("power_on_hours", hours + minutes / _MINUTES_PER_HOUR)
    used = answer.number("scsi_percentage_used_endurance_indicator")
    if used is not None and 0 <= used <= _LARGEST_PERCENTAGE:
        reported.add("percentage_used_pct", used)
    defects = answer.number("scsi_grown_defect_list")
    if defects is not None and (defects == 0 or answer.version >= _COUNTS_DEFECTS_SINCE):
        reported.add("grown_defects", defects)
    kinds = ("read", "write", "verify")
    counts = [answer.number("scsi_error_counter_log", kind, "total_uncorrected_errors") for kind in kinds]
    known = [count for count in counts if count is not None]
    reported.add("media_errors", sum(known) if known else None)
    return reported


def _first_plausible_c(answer: SmartctlAnswer, places: tuple[tuple[str, ...], ...]) -> float | None:
    found = (plausible_temperature_c(answer.number(*place)) for place in places)
    return next((value_c for value_c in found if value_c is not None), None)


_NVME_LOG: Final = "nvme_smart_health_information_log"
# a counter at this value is saturated
_SATURATED: Final = float(2**64 - 1)


def bridged_nvme_health(answer: SmartctlAnswer) -> Reported:
    """Values under the names of vocabulary.health."""
    reported = Reported()
    for name, (_, _, factor, key) in SMART_LOG_FIELDS.items():
        value = answer.number(_NVME_LOG, key)
        if value is not None and 0 <= value < _SATURATED:
            reported.add(name, value * factor)
    reported.add("temperature_c", plausible_temperature_c(answer.number(_NVME_LOG, "temperature")))
    return reported
