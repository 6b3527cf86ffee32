"""The operator's consent to lose what is on one target, and to go on with a run, as options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.help_order import together
from openpts.device.guard.consent import Consent
from openpts.errors import UsageError

_NAMES: Final = (
    "confirm_serial",
    "confirm_serials",
    "confirm_device_path",
    "confirm_device_paths",
    "erase_signatures",
    "overwrite_file",
    "confirm_namespace",
)

CONFIRM_NAMESPACE: Final[Callable[[Any], Any]] = click.option(
    "--confirm-namespace",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Confirm that a purge also erases this other namespace of the drive; may be repeated.",
)
"""For commands that purge."""

_SERIAL_HELP: Final = "Confirm the drive by its serial number"
_PATH_HELP: Final = "Confirm the device by its path, if its serial number is missing or not unique"
_TO_ERASE: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option("--erase-signatures", is_flag=True, help="Erase partition tables and file systems found."),
    click.option("--overwrite-file", is_flag=True, help="Overwrite a file that openpts did not create."),
)

CONSENT_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option("--confirm-serial", metavar="SERIAL", help=f"{_SERIAL_HELP}."),
    click.option("--confirm-device-path", metavar="PATH", help=f"{_PATH_HELP}."),
    *_TO_ERASE,
)
"""For commands on one target."""

CONSENT_OPTIONS_OF_SEVERAL: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option(
        "--confirm-serial",
        "confirm_serials",
        metavar="SERIAL",
        multiple=True,
        help=f"{_SERIAL_HELP}; repeat for each of several.",
    ),
    click.option(
        "--confirm-device-path",
        "confirm_device_paths",
        metavar="PATH",
        multiple=True,
        help=f"{_PATH_HELP}; repeat for each.",
    ),
    *_TO_ERASE,
)
"""For commands that also take several."""

ACCEPT_OPTIONS: Final = together(
    click.option(
        "--accept-interruption",
        is_flag=True,
        help="Go on with the round that was cut off, not with the purge before it; entered in the ledger.",
    ),
    click.option(
        "--accept-other-host", is_flag=True, help="Continue on another host; entered in the ledger."
    ),
    click.option(
        "--accept-other-version",
        is_flag=True,
        help="Continue with another version of openpts or of the kernel; entered in the ledger.",
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


def taken(options: dict[str, Any]) -> dict[str, Any]:
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
