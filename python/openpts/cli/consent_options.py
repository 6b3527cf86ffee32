"""The operator's consent to lose what is on one target, as options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from openpts.device.guard.consent import Consent

CONFIRM_NAMESPACE: Final[Callable[[Any], Any]] = click.option(
    "--confirm-namespace",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Confirm that a purge also erases this other namespace of the drive; may be repeated.",
)
"""For commands that purge."""

CONFIRM_MEMBER: Final[Callable[[Any], Any]] = click.option(
    "--confirm-member",
    "confirm_members",
    multiple=True,
    metavar="SERIAL",
    help="Confirm that a member of an md array is purged, by its serial number; the array is taken apart for "
    "that and created again. Repeat for each.",
)
"""For commands that run tests."""

CONSENT_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option("--confirm-serial", metavar="SERIAL", help="Confirm the drive by its serial number."),
    click.option(
        "--confirm-device-path",
        metavar="PATH",
        help="Confirm the device by its path, if its serial number is missing or not unique.",
    ),
    click.option("--erase-signatures", is_flag=True, help="Erase partition tables and file systems found."),
    click.option("--overwrite-file", is_flag=True, help="Overwrite a file that openpts did not create."),
)


def consent_of(
    *,
    confirm_serial: str | None,
    confirm_device_path: str | None,
    erase_signatures: bool,
    overwrite_file: bool,
    confirm_namespace: tuple[Path, ...],
    confirm_members: tuple[str, ...],
) -> Consent:
    """The consent that all of these options give."""
    return Consent(
        confirm_serial=confirm_serial,
        confirm_device_path=confirm_device_path,
        overwrite_file=overwrite_file,
        erase_signatures=erase_signatures,
        confirm_namespaces=confirm_namespace,
        confirm_members=confirm_members,
    )
