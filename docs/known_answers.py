"""Writes the known answers of `openpts self-check`, after a change that is meant."""

from json import dumps
from pathlib import Path

import openpts_line.selfcheck
from openpts.temporary_folder import temporary_folder
from openpts_line.selfcheck import known_answers, loads

PATH = Path(openpts_line.selfcheck.__path__[0]) / known_answers.ANSWERS


def main() -> None:
    """Write them beside the module that reads them."""
    with temporary_folder("known-answers") as folder:
        found = {"tests": known_answers.all_answers(folder), "loads": loads.all_answers(folder)}
    kinds = (f"{dumps(kind)}: {{\n{_rows(named)}\n}}" for kind, named in found.items())
    PATH.write_text("{\n" + ",\n".join(kinds) + "\n}\n")


def _rows(named: dict[str, dict[str, str]]) -> str:
    """A line for each test or load."""
    return ",\n".join(f" {dumps(name)}: {dumps(digests)}" for name, digests in named.items())


if __name__ == "__main__":
    main()
