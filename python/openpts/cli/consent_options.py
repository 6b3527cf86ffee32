"""The operator's consent to lose what is on one target, as options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

CONFIRM_NAMESPACE: Final[Callable[[Any], Any]] = click.option(
    "--confirm-namespace",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Another namespace of the same drive, as consent that a purge erases it too; may be repeated.",
)
"""For commands that purge."""

CONFIRM_MEMBER: Final[Callable[[Any], Any]] = click.option(
    "--confirm-member",
    "confirm_members",
    multiple=True,
    metavar="SERIAL",
    help="An array of md is purged by its drives and made again: the serial number of one, as consent; "
    "to be repeated for each.",
)
"""For commands that run tests."""

CONSENT_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option("--confirm-serial", metavar="SERIAL", help="The drive's serial number, as consent."),
    click.option(
        "--confirm-device-path",
        metavar="PATH",
        help="The device's path, where its serial number is missing or another drive's too.",
    ),
    click.option("--erase-signatures", is_flag=True, help="Erase partition tables and file systems found."),
    click.option("--overwrite-file", is_flag=True, help="Overwrite a file that openpts did not make."),
)
