"""Writes the known answers of `openpts self-check`, after a change that is meant."""

from pathlib import Path

import msgspec

import openpts_line.selfcheck
from openpts.temporary_folder import temporary_folder
from openpts_line.selfcheck import known_answers, loads

PATH = Path(openpts_line.selfcheck.__path__[0]) / known_answers.ANSWERS


def main() -> None:
    """Write them beside the module that reads them."""
    with temporary_folder("known-answers") as folder:
        found = {"tests": known_answers.all_answers(folder), "loads": loads.all_answers(folder)}
    PATH.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


if __name__ == "__main__":
    main()
