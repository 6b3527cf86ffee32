"""Signatures on a drive that is not in use: partition tables, file systems, array members."""

import json
from pathlib import Path
from typing import Any, Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.errors import failing_as
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import printable, read_lines

_TIMEOUT_S: Final = 30
# the kinds of drives that udev's own rules have it look into; it looks again after each that wrote to one
_RECORDED_KINDS: Final = frozenset(
    {DeviceKind.NVME, DeviceKind.ATA, DeviceKind.SCSI, DeviceKind.MMC, DeviceKind.VIRTIO}
)
_RECORDED: Final = {"E:ID_PART_TABLE_TYPE": "partition table", "E:ID_FS_TYPE": "signature"}


class SignatureSearchError(Exception):
    """The signatures of a drive can't be read; the text says why."""


def find_signatures(node: Path, run: ProgramRunner = run_program) -> tuple[str, ...]:
    """Signatures on a disk as wipefs of util-linux sees them, such as ``gpt at 0x200``; reads only.

    Raises SignatureSearchError if wipefs is missing, fails, takes too long or answers in riddles.
    """
    command = ["wipefs", "--no-act", "--noheadings", "--json", "--output", "OFFSET,TYPE,LABEL", str(node)]
    with failing_as(SignatureSearchError, f"wipefs could not read {node}", of=ProgramError):
        answer = run(command, _TIMEOUT_S)
    if answer.returncode != 0:
        raise SignatureSearchError(f"wipefs could not read {node}: {answer.complaint}")
    return _parse(answer.stdout)


def recorded_signatures(device: BlockDevice) -> tuple[str, ...] | None:
    """What udev saw when it last looked, without reading the drive; None where it keeps no record."""
    record = read_lines(device.roots.run / f"udev/data/b{device.number}")
    if device.kind not in _RECORDED_KINDS or not any(line.startswith("I:") for line in record):
        return None
    entries = (line.partition("=") for line in record)
    return tuple(f"{_RECORDED[key]} {value}" for key, _, value in entries if key in _RECORDED)


def _parse(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()  # some versions say nothing at all where there is nothing
    try:
        return tuple(_describe(signature) for signature in json.loads(text)["signatures"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignatureSearchError(f"can't parse the output of wipefs: {printable(text)[:80]!r}") from error


def _describe(signature: dict[str, Any]) -> str:
    label = f" labeled {signature['label']}" if signature.get("label") else ""
    return printable(f"{signature['type']}{label} at {signature['offset']}")
