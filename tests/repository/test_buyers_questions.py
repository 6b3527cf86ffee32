"""What a buyer asks is at the front of each report, where report.md says, or has a command there."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from openpts.report.build import build_report
from openpts_pages.model import Report, Table
from tests import ROOT
from tests.support.command_tree import all_commands
from tests.support.made_up_run import made_up_run

_PAGE: Final = ROOT / "packages/openpts/docs/report.md"
_ROW: Final = re.compile(r"^\| (\d+) \| (.+?\?) \| (.+?) \|(?: (.+?))? \|$", re.MULTILINE)
_QUESTIONS: Final = {
    found[2]: (found[3], found[4] or "") for found in _ROW.finditer(_PAGE.read_text("utf-8"))
}
_TESTS: Final = (
    *("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth"),
    *("fill", "qos", "thermal", "trim", "precon", "sustained"),
)


def test_each_question_has_a_field_or_a_command() -> None:
    assert len(_QUESTIONS) == 10
    commands = {" ".join(words) for words, _ in all_commands()}
    for question, (answer, fields) in _QUESTIONS.items():
        typed = re.search(r"`openpts (\w+(?: \w+)?)", answer)
        assert fields or typed, question
        if typed:
            assert typed[1] in commands or typed[1].split()[0] in commands, question


@pytest.mark.parametrize("test", _TESTS)
def test_the_front_of_each_test_has_the_fields(test) -> None:
    report = build_report(made_up_run(test), "2026-02-03T04:05:06Z")
    for question, (_, fields) in _QUESTIONS.items():
        if fields:
            found = [_values(report, field) for field in re.findall("`(.+?)`", fields)]
            assert all(one is not None for one in found), question
            assert any(text for one in found for text in one or ()), question


def _values(report: Report, field: str) -> list[str] | None:
    """The texts of a field as the page writes it; None where there is no such field."""
    name, _, part = field.partition(": ")
    blocks = report.front[0].blocks
    if part:
        table = next(one for one in blocks if isinstance(one, Table) and one.id == name)
        return list(_cells(table, part)) or None
    kind, _, attribute = name.rpartition(".")
    if not kind:
        return [getattr(report, name)] if name in report.__struct_fields__ else None
    of_kind = [one for one in blocks if one.__struct_config__.tag == kind]
    return [str(getattr(one, attribute)) for one in of_kind] or None


def _cells(table: Table, part: str) -> Iterator[str]:
    """A column by its label, or a row by its head."""
    for place, column in enumerate(table.columns):
        if column.label == part:
            yield from (row.cells[place].text for row in table.rows)
    for row in table.rows:
        if row.head.text == part:
            yield from (cell.text for cell in row.cells)
