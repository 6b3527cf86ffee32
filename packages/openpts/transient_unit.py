"""Transient units of systemd: a program of its own, all of its processes in one control group."""

import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots

_TO_STOP_S: Final = 60
"""More than openpts takes to end its load and to close its record."""


def unit_words(unit: str, description: str, properties: Mapping[str, object]) -> tuple[str, ...]:
    """The words before those of the program; it is never started again by itself."""
    every = {"Type": "exec", "Restart": "no", "KillMode": "control-group", "TimeoutStopSec": _TO_STOP_S}
    settings = [f"--property={name}={value}" for name, value in {**every, **properties}.items()]
    return (
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={unit}",
        f"--description={description}",
        *settings,
    )


def lasting_manager(
    roots: SystemRoots, lingering: Path = Path("/var/lib/systemd/linger")
) -> tuple[str, ...] | None:
    """The option that names the manager which outlives this login: root's, or the user's own.

    None where systemd does not run, or ends the user's units with the last login.
    """
    if not (roots.run / "systemd/system").is_dir():
        return None
    if os.geteuid() == 0:
        return ("--system",)
    return ("--user",) if (lingering / pwd.getpwuid(os.geteuid()).pw_name).exists() else None


def literal(arguments: Sequence[str]) -> list[str]:
    """Words of a program as its unit takes them: systemd puts variables in the place of ``$NAME``."""
    return [word.replace("$", "$$") for word in arguments]
