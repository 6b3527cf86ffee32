"""The operator's consent to lose what is on one target, and to continue a run, as options."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from openpts.cli.commands_on_demand import Decorator, together
from openpts.cli.options import PATH, SAFETY, flag, group, option
from openpts.errors import UsageError
from openpts.vocabulary.purge import Consent

CONFIRM_NAMESPACE: Final = option(
    "--confirm-namespace PATH",
    "Confirm that a purge also erases this other namespace of the drive; may be repeated.",
    PATH,
    name="confirm_namespaces",
    multiple=True,
)
"""For commands that purge."""

_SERIAL_HELP: Final = "Confirm the drive by its serial number."
_PATH_HELP: Final = "Confirm the device by its path, if its serial number is missing or not unique"
_ERASE: Final = flag(
    "Erase partition tables and file systems found.", name="--erase-signatures", usual=SAFETY
)
_OVERWRITE: Final = flag(
    "Overwrite a file that openpts did not create.", name="--overwrite-file", usual=SAFETY
)


@dataclass(frozen=True, slots=True)
class ConsentOfOne(Consent):
    """The consent of a command on one target."""

    confirm_serial: str | None = option("SERIAL", _SERIAL_HELP, usual=SAFETY)
    confirm_device_path: str | None = option("PATH", f"{_PATH_HELP}.")
    erase_signatures: bool = _ERASE
    overwrite_file: bool = _OVERWRITE


CONSENT_OPTIONS: Final[tuple[Decorator, ...]] = (group(ConsentOfOne),)
"""For commands on one target."""

_SEVERAL: Final = {
    "confirm_serials": option(
        "--confirm-serial SERIAL", _SERIAL_HELP, name="confirm_serials", multiple=True, usual=SAFETY
    ),
    "confirm_device_paths": option(
        "--confirm-device-path PATH",
        f"{_PATH_HELP}; repeat for each.",
        name="confirm_device_paths",
        multiple=True,
    ),
}
CONSENT_OPTIONS_OF_SEVERAL: Final[tuple[Decorator, ...]] = (*_SEVERAL.values(), _ERASE, _OVERWRITE)
"""For commands that also take several."""

ACCEPT_OPTIONS: Final = together(
    flag(
        "Continue with the round that was cut off, not with the purge before it: a deviation.",
        name="--accept-interruption",
    ),
    flag("Continue on another host; entered in the ledger.", name="--accept-other-host"),
    flag(
        "Continue with another version of openpts or of the kernel; entered in the ledger.",
        name="--accept-other-version",
    ),
)
"""For commands that resume."""


def consent_of(options: Mapping[str, Any]) -> Consent:
    """The consent to lose what is on one drive. Raises UsageError for two drives that are confirmed."""
    agreed = {name: value for name, value in options.items() if name not in _SEVERAL}
    for name in _SEVERAL:
        confirmed, of_one = options.get(name, ()), name.removesuffix("s")
        if len(confirmed) > 1:
            option_name = f"--{of_one.replace('_', '-')}"
            raise UsageError(f"{option_name} is given {len(confirmed)} times for one drive")
        if confirmed:
            agreed[of_one] = confirmed[0]
    return Consent(**agreed)


def popped(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is consent out of a command's options."""
    return {name: options.pop(name) for name in (*Consent.__slots__, *_SEVERAL) if name in options}
