"""Texts can be read aloud: sentences of 25 words at most, and no dialect."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from tests import ROOT
from tests.support.command_tree import all_commands
from tests.support.manual import PAGES
from tests.support.syntax_trees import nodes

_MOST_WORDS = 25
_DIALECT = re.compile(
    r"\b(go(es|ing)? on|went on|tol[dt]|tells?|hear[ds]?|whole run|all the same|its course|brought back"
    r"|nobody|whoever|anew|beside (those|that|what))\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[.?!])\s+")
_CLAUSES = re.compile(r"(?<=[.?!:;])\**\s+|\n")
"""Of rules and notes, and of the manual: what a colon or a semicolon ends is read by itself."""
_LISTS = re.compile(r"\w+(, \w+){9,}|`(, `)+,?( and `)?")  # a list is no sentence
_NO_TEXT = re.compile(r"CREATE TABLE|\bSELECT\b| \| |\w_\w+ \w+_\w")
"""Statements of SQL, the columns of tables, and names of options."""
_NO_PROSE = re.compile(
    r"^( *)```.*?^\1```|^ {4}(?! *[-*] ).*?$|^\|.*?$|^#.*?$|<!--.*?-->", re.DOTALL | re.MULTILINE
)
_PARAGRAPHS = re.compile(r"\n\s*\n|\n(?= *(?:[-*+]|\d+\.) )")


def _texts_of_help() -> Iterator[tuple[str, str]]:
    for words, command in all_commands():
        place = " ".join(("openpts", *words))
        paragraphs = re.split(r"\f|\n\s*\n", command.help or "")
        options = [one.help or "" for one in command.params if isinstance(one, click.Option)]
        for text in (*paragraphs, *options):
            yield place, " ".join(text.replace("\b", "").split())


def _texts_of_errors(parts: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """What is raised, or ends a command; a value counts as a word."""
    for node in parts:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name.endswith("Error") or name in {"refuse", "fail"}:
                yield from ((node.lineno, text) for text in map(_text, node.args) if text)


def _texts(parts: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Of reports, logs and pages: every string with a blank in it that documents nothing."""
    left_out = {id(part) for node in parts if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out |= {id(node.value) for node in parts if isinstance(node, ast.Expr)}
    for node in parts:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in left_out:
            text = _text(node)
            if " " in text.strip() and not _NO_TEXT.search(text):
                yield node.lineno, text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(_text(part) if isinstance(part, ast.Constant) else "X" for part in parts)


def _long(place: str, text: str, ends: re.Pattern[str] = _ENDS) -> list[str]:
    sentences = ends.split(_LISTS.sub("these", text))
    return [f"{place}: {one}" for one in sentences if len(one.split()) > _MOST_WORDS]


def _dialect(place: str, text: str) -> list[str]:
    return [f"{place}: {found[0]!r} in {text}" for found in _DIALECT.finditer(text)]


def test_help_can_be_read_aloud() -> None:
    wrong = [one for text in _texts_of_help() for one in (*_long(*text), *_dialect(*text))]
    assert wrong == []


@pytest.mark.long("parses all product modules")
def test_errors_reports_logs_and_pages_can_be_read_aloud() -> None:
    wrong = []
    for path, parts in nodes():
        for line, text in _texts_of_errors(parts):
            wrong += _long(f"{path}:{line}", text)
        for line, text in _texts(parts):
            wrong += [*_long(f"{path}:{line}", text, _CLAUSES), *_dialect(f"{path}:{line}", text)]
    assert wrong == []


_OF_THE_ROOT = [
    ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "ARCHITECTURE")
]


@pytest.mark.parametrize(
    "page", [*_OF_THE_ROOT, *(page for page in PAGES if page.stem != "style")], ids=lambda page: page.stem
)
def test_a_page_of_the_manual_can_be_read_aloud(page: Path) -> None:
    """Outside of code, tables and heads. A term of a list, such as those of a glossary, is no sentence."""
    prose = _NO_PROSE.sub("\n", page.read_text(encoding="utf-8"))
    prose = re.sub(r"!\[.*?\]\(.*?\)|\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]+`", "`", prose))
    wrong = []
    for paragraph in _PARAGRAPHS.split(prose):
        text = " ".join(paragraph.split())
        wrong += [*_long(page.stem, text, _CLAUSES), *_dialect(page.stem, text)]
    assert wrong == []
