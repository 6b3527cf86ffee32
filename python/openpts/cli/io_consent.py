"""Whose data may be lost: where several drives are named, each looks for its own name among the words."""

import os
from dataclasses import dataclass

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.identity.serial_number import serial_number
from openpts.device.targets.simulated_target import names_simulated
from openpts.device.targets.target import FileTarget, parse_target
from openpts.system_files import SystemRoots


@dataclass(frozen=True, slots=True)
class ConsentWords:
    """The options as given, of all targets together."""

    serials: tuple[str, ...] = ()
    device_paths: tuple[str, ...] = ()
    overwrite_file: bool = False
    erase_signatures: bool = False

    def for_target(self, target: str, roots: SystemRoots) -> Consent:
        """The words for one target; the guard compares them with the drive that it opens.

        Raises TargetError and UsageError as parse_target does.
        """
        if names_simulated(target):
            return Consent()  # no data of anybody's
        parsed = parse_target(target)
        if isinstance(parsed, FileTarget):
            return Consent(overwrite_file=self.overwrite_file)
        serial = serial_number(BlockDevice.of_node(parsed.path, roots)).value
        names = {str(parsed.path), os.path.realpath(parsed.path)}
        return Consent(
            confirm_serial=_own_word(self.serials, {serial}),
            confirm_device_path=_own_word(self.device_paths, names),
            erase_signatures=self.erase_signatures,
        )


def _own_word(words: tuple[str, ...], names: set[str | None] | set[str]) -> str | None:
    """The word that is one of the names, or else the first, so that the guard can say what it is not."""
    return next((word for word in words if word in names), words[0] if words else None)
