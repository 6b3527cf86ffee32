"""Writes the known answers of `openpts self-check`, after a change that is meant."""

from pathlib import Path

import msgspec

import openpts_line.selfcheck
from openpts.temporary_folder import temporary_folder
from openpts_line.selfcheck.known_answers import ANSWERS, all_answers

PATH = Path(openpts_line.selfcheck.__path__[0]) / ANSWERS


def main() -> None:
    """Write them beside the module that reads them."""
    with temporary_folder("known-answers") as folder:
        PATH.write_bytes(msgspec.json.format(msgspec.json.encode(all_answers(folder)), indent=1) + b"\n")


if __name__ == "__main__":
    main()
