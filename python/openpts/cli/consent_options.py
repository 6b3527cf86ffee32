"""The operator's consent to lose what is on one target, as options."""

from collections.abc import Callable
from typing import Any, Final

import click

CONSENT_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option("--confirm-serial", metavar="SERIAL", help="The drive's serial number, as consent."),
    click.option(
        "--confirm-device-path", metavar="PATH", help="The device's path, for one that has no serial number."
    ),
    click.option("--erase-signatures", is_flag=True, help="Erase partition tables and file systems found."),
    click.option("--overwrite-file", is_flag=True, help="Overwrite a file that openpts did not make."),
)
