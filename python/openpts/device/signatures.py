"""What lies on a drive that nobody uses right now: partition tables, file systems, array members."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from openpts.system_files import printable

_TIMEOUT_S: Final = 30
_SYSTEM_PROGRAM_FOLDERS: Final = "/usr/sbin:/sbin:/usr/bin:/bin"


class SignatureSearchError(Exception):
    """No answer to what lies on a drive; the text says why."""


def find_signatures(node: Path) -> tuple[str, ...]:
    """Signatures on a disk as wipefs of util-linux sees them, such as ``gpt at 0x200``; reads only.

    Raises SignatureSearchError if wipefs is missing, fails, takes too long or answers in riddles.
    """
    program = _find_program("wipefs")
    if program is None:
        raise SignatureSearchError("the program wipefs is missing, install the package util-linux")
    command = [program, "--no-act", "--noheadings", "--json", "--output", "OFFSET,TYPE,LABEL", str(node)]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={"LC_ALL": "C"},
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SignatureSearchError(f"wipefs could not look at {node}: {printable(str(error))}") from error
    if answer.returncode != 0:
        raise SignatureSearchError(f"wipefs could not look at {node}: {printable(answer.stderr)}")
    return _parse(answer.stdout)


def _find_program(name: str) -> str | None:
    """Path of a system program, also where the operator's PATH lacks the folders for such ones."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PROGRAM_FOLDERS}")


def _parse(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()  # some versions say nothing at all where there is nothing
    try:
        return tuple(_describe(signature) for signature in json.loads(text)["signatures"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignatureSearchError(f"the answer of wipefs can't be read: {printable(text)[:80]!r}") from error


def _describe(signature: dict[str, Any]) -> str:
    label = f" labelled {signature['label']}" if signature.get("label") else ""
    return printable(f"{signature['type']}{label} at {signature['offset']}")
