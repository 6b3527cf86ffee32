"""The operator's consent to lose what is on one target, and to continue a run, as options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openpts.cli.commands_on_demand import Decorator, together
from openpts.cli.options import PATH, flag, group, option
from openpts.errors import UsageError
from openpts.vocabulary.purge import Consent

_NAMES: Final = (
    "confirm_serial",
    "confirm_serials",
    "confirm_device_path",
    "confirm_device_paths",
    "erase_signatures",
    "overwrite_file",
    "confirm_namespace",
)

CONFIRM_NAMESPACE: Final = option(
    "--confirm-namespace PATH",
    "Confirm that a purge also erases this other namespace of the drive; may be repeated.",
    PATH,
    multiple=True,
)
"""For commands that purge."""

_SERIAL_HELP: Final = "Confirm the drive by its serial number"
_PATH_HELP: Final = "Confirm the device by its path, if its serial number is missing or not unique"
_ERASE: Final = flag("Erase partition tables and file systems found.", name="--erase-signatures")
_OVERWRITE: Final = flag("Overwrite a file that openpts did not create.", name="--overwrite-file")


@dataclass(frozen=True, slots=True)
class ConsentOfOne(Consent):
    """The consent of a command on one target."""

    confirm_serial: str | None = option("SERIAL", f"{_SERIAL_HELP}.")
    confirm_device_path: str | None = option("PATH", f"{_PATH_HELP}.")
    erase_signatures: bool = _ERASE
    overwrite_file: bool = _OVERWRITE


CONSENT_OPTIONS: Final[tuple[Decorator, ...]] = (group(ConsentOfOne),)
"""For commands on one target."""

CONSENT_OPTIONS_OF_SEVERAL: Final[tuple[Decorator, ...]] = (
    option(
        "--confirm-serial SERIAL",
        f"{_SERIAL_HELP}; repeat for each of several.",
        name="confirm_serials",
        multiple=True,
    ),
    option(
        "--confirm-device-path PATH",
        f"{_PATH_HELP}; repeat for each.",
        name="confirm_device_paths",
        multiple=True,
    ),
    _ERASE,
    _OVERWRITE,
)
"""For commands that also take several."""

ACCEPT_OPTIONS: Final = together(
    flag(
        "Go on with the round that was cut off, not with the purge before it; entered in the ledger.",
        name="--accept-interruption",
    ),
    flag("Continue on another host; entered in the ledger.", name="--accept-other-host"),
    flag(
        "Continue with another version of openpts or of the kernel; entered in the ledger.",
        name="--accept-other-version",
    ),
)
"""For commands that resume."""


def consent_of_one(
    *, confirm_serials: tuple[str, ...], confirm_device_paths: tuple[str, ...], **others: Any
) -> Consent:
    """The consent to lose what is on one drive, from options for several. Raises UsageError for two words."""
    for name, words in (
        ("--confirm-serial", confirm_serials),
        ("--confirm-device-path", confirm_device_paths),
    ):
        if len(words) > 1:
            raise UsageError(f"{name} is given {len(words)} times for one drive")
    return consent_of(
        confirm_serial=next(iter(confirm_serials), None),
        confirm_device_path=next(iter(confirm_device_paths), None),
        **others,
    )


def popped(options: dict[str, Any]) -> dict[str, Any]:
    """Take the words of consent out of a command's options."""
    return {name: options.pop(name) for name in _NAMES if name in options}


def consent_of(
    *,
    confirm_serial: str | None,
    confirm_device_path: str | None,
    erase_signatures: bool,
    overwrite_file: bool,
    confirm_namespace: tuple[Path, ...],
) -> Consent:
    """The consent that all of these options give."""
    return Consent(
        confirm_serial=confirm_serial,
        confirm_device_path=confirm_device_path,
        overwrite_file=overwrite_file,
        erase_signatures=erase_signatures,
        confirm_namespaces=confirm_namespace,
    )
