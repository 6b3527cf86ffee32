"""Writes the known answers of `openpts doctor --self-test`, after a change that is meant."""

from json import dumps

from openpts.temporary_folder import temporary_folder
from openpts_compare.selftest.known_answers import ANSWERS, DRIVES, answers_of


def main() -> None:
    """Write them beside the module that reads them, a line for each test."""
    with temporary_folder("known-answers") as folder:
        rows = (f" {dumps(test)}: {dumps(answers_of(test, folder))}" for test in DRIVES)
        ANSWERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
