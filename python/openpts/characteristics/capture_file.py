"""Captures in steps, read in Rust: step tables, and traces of which steps are made."""

import json
from hashlib import file_digest
from pathlib import Path
from typing import Any

from openpts import _native
from openpts.errors import UsageError


def read_capture_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's SHA-256, and its header and steps. Raises UsageError if it is no capture."""
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read the capture {path}: {error.strerror}") from error
    try:
        found: dict[str, Any] = json.loads(_native.capture_steps(path))
    except ValueError as error:
        raise UsageError(f"cannot read the capture {path}: {error}") from error
    return digest, found
