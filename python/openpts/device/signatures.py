"""What lies on a drive that nobody uses right now: partition tables, file systems, array members."""

import json
from pathlib import Path
from typing import Any, Final

from openpts.programs import ProgramError, Run, run_program
from openpts.system_files import printable

_TIMEOUT_S: Final = 30


class SignatureSearchError(Exception):
    """No answer to what lies on a drive; the text says why."""


def find_signatures(node: Path, run: Run = run_program) -> tuple[str, ...]:
    """Signatures on a disk as wipefs of util-linux sees them, such as ``gpt at 0x200``; reads only.

    Raises SignatureSearchError if wipefs is missing, fails, takes too long or answers in riddles.
    """
    command = ["wipefs", "--no-act", "--noheadings", "--json", "--output", "OFFSET,TYPE,LABEL", str(node)]
    try:
        answer = run(command, _TIMEOUT_S)
    except ProgramError as error:
        raise SignatureSearchError(f"wipefs could not look at {node}: {error}") from error
    if answer.returncode != 0:
        raise SignatureSearchError(f"wipefs could not look at {node}: {answer.complaint}")
    return _parse(answer.stdout)


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
