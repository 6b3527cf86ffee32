"""The real drive that a rehearsal models: from sysfs, from a data sheet, or a preset as it is."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.drive_name import name_with_model
from openpts.device.identity.interface import interface
from openpts.errors import TargetError, UsageError
from openpts.simulation.presets import Preset, load_preset
from openpts.system_files import SystemRoots


class Traits(Struct, frozen=True):
    """What the match goes by; ``volatile_cache`` is None where the kernel doesn't tell."""

    name: str
    kind: DeviceKind
    over_usb: bool
    rotational: bool
    volatile_cache: bool | None


def traits_of(disk: BlockDevice) -> Traits:
    """Read from sysfs; the drive is not opened."""
    cache = disk.text("queue/write_cache")
    return Traits(
        name=disk.name,
        kind=disk.kind,
        over_usb=interface(disk, None).value == "USB",
        rotational=disk.text("queue/rotational") == "1",
        volatile_cache=None if cache is None else cache == "write back",
    )


def matched_preset(traits: Traits) -> tuple[str, str]:
    """The preset's name, and why it is this one.

    Raises TargetError for what no preset resembles.
    """
    match traits:
        case Traits(kind=DeviceKind.MMC):
            return "log-block", "a memory card: a map of large units with a log"
        case Traits(over_usb=True):
            return (
                "tlc",
                "over USB: assumed to be a stick with a single-bit cache and garbage collection on demand",
            )
        case Traits(kind=DeviceKind.ATA | DeviceKind.SCSI, rotational=True):
            raise TargetError(
                f"{traits.name} is a rotating disk: no preset resembles one; choose one by --preset"
            )
        case Traits(kind=DeviceKind.NVME, volatile_cache=False):
            return (
                "enterprise-tlc",
                "NVMe without a volatile write cache: a protected buffer, as servers have it",
            )
        case Traits(kind=DeviceKind.NVME):
            return "client-qlc", "NVMe with a volatile write cache, as client drives have it"
        case Traits(kind=DeviceKind.ATA | DeviceKind.SCSI):
            return "sata-reduction", "SATA or SAS: the one preset behind such a link"
        case _:
            raise TargetError(
                f"{traits.name} ({traits.kind}) doesn't report what is behind it: choose one by --preset"
            )


# What a data sheet promises, under the keys of a preset's [rated].
RATED: Final = (
    "tbw",
    "random_write_iops",
    "random_read_iops",
    "sequential_write_bytes_per_s",
    "sequential_read_bytes_per_s",
)
_MOST_NUMBER: Final = 1e18
_SHEET_KEYS: Final = {"name", "capacity_bytes", "preset", "rated"}


class Subject(Struct, frozen=True):
    """A drive to be rehearsed: its own capacity and promises, and the preset that behaves most like it.

    ``reason`` says why it is this preset.
    """

    name: str
    capacity_bytes: int
    rated: Mapping[str, float]
    preset: Preset
    reason: str


class Overrides(Struct, frozen=True):
    """What the operator says about the drive; None leaves it to the device, the data sheet or the preset."""

    like: str | None
    data_sheet: Path | None
    preset: str | None
    capacity_bytes: int | None
    rated: Mapping[str, float]


def subject_of(wishes: Overrides, roots: SystemRoots) -> Subject:
    """The drive that the operator means. Of a device only sysfs is read: it is not even opened.

    What was said by options counts more than a data sheet, and that more than device and preset.
    Raises UsageError or TargetError.
    """
    subject = _like(wishes, roots)
    sheet = _read_sheet(wishes.data_sheet) if wishes.data_sheet else {}
    preset_name = wishes.preset or sheet.get("preset")
    if preset_name is not None:
        reason = "the operator's choice" if wishes.preset else "the data sheet's choice"
        preset = load_preset(preset_name)
        subject = (
            replace(subject, preset=preset, reason=reason)
            if subject
            else Subject(preset.name, preset.capacity_bytes, preset.rated, preset, reason)
        )
    if subject is None:
        raise UsageError(
            "name the drive: --like with a drive or a preset, or --preset with one "
            "(`openpts sim list` has them)"
        )
    if sheet or wishes.capacity_bytes or (wishes.like is not None and wishes.preset):
        # the promises of a preset are those of another drive
        subject = replace(subject, rated={})
    capacity_bytes = wishes.capacity_bytes or sheet.get("capacity_bytes") or subject.capacity_bytes
    if capacity_bytes > _MOST_NUMBER:
        raise UsageError(f"a capacity of {capacity_bytes:,} bytes is more than any drive has")
    return replace(
        subject,
        name=sheet.get("name", subject.name),
        capacity_bytes=capacity_bytes,
        rated={**subject.rated, **sheet.get("rated", {}), **wishes.rated},
    )


def _like(wishes: Overrides, roots: SystemRoots) -> Subject | None:
    if wishes.like is None:
        return None
    if not wishes.like.startswith(f"{roots.dev}/"):
        preset = load_preset(wishes.like)
        return Subject(preset.name, preset.capacity_bytes, preset.rated, preset, "named by the operator")
    return subject_of_disk(BlockDevice.of_node(Path(wishes.like), roots).whole, wishes.preset)


def subject_of_disk(disk: BlockDevice, chosen: str | None) -> Subject:
    """A drive of this machine, by the preset that the operator chose or by what the kernel tells of it."""
    if chosen is None:
        preset_name, reason = matched_preset(traits_of(disk))
    else:
        preset_name, reason = chosen, "the operator's choice"
    return Subject(name_with_model(disk), disk.capacity_bytes, {}, load_preset(preset_name), reason)


def _read_sheet(path: Path) -> dict[str, Any]:
    try:
        sheet = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"can't read the data sheet {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of numbers with thousands of digits
        raise UsageError(f"the data sheet {path} is not valid TOML: {error}") from error
    unknown = sorted(set(sheet) - _SHEET_KEYS)
    rated = sheet.get("rated", {})
    wrong = sorted(set(rated) - set(RATED)) if isinstance(rated, dict) else ["rated"]
    if unknown or wrong:
        raise UsageError(
            f"the data sheet {path} has {', '.join([*unknown, *wrong])}; known are "
            f"{', '.join(sorted(_SHEET_KEYS))} and below [rated] {', '.join(RATED)}"
        )
    numbers = {"capacity_bytes": sheet.get("capacity_bytes", 1), **rated}
    for key in ("name", "preset"):
        if not isinstance(sheet.get(key, ""), str):
            raise UsageError(f"the data sheet {path} has {key} = {sheet[key]!r}, which is not text")
    for key, value in numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= _MOST_NUMBER:
            raise UsageError(
                f"the data sheet {path} has {key} = {value!r}, which is not a number above 0 and up to "
                f"{_MOST_NUMBER:g}"
            )
    if "capacity_bytes" in sheet:
        if sheet["capacity_bytes"] % 1:
            reported = f"{sheet['capacity_bytes']}, which is not a whole number"
            raise UsageError(f"the data sheet {path} has capacity_bytes = {reported}")
        sheet["capacity_bytes"] = int(sheet["capacity_bytes"])
    return sheet
