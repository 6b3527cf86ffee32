"""Help and errors can be read aloud: sentences of 25 words at most, and no dialect."""

import ast
import re
from collections.abc import Iterator

import click
import pytest

from tests import ROOT
from tests.support.command_tree import all_commands

_MOST_WORDS = 25
_DIALECT = re.compile(
    r"\b(go(es|ing)? on|told|tells?|heard|hears|whole run|all the same|its course|brought back|nobody|whoever"
    r"|anew|beside (those|that|what))\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[.?!])\s+")
_NAMES_OF_TESTS = re.compile(r"\w+(, \w+){9,}")  # a list is no sentence


def _texts_of_help() -> Iterator[tuple[str, str]]:
    for words, command in all_commands():
        place = " ".join(("openpts", *words))
        paragraphs = re.split(r"\f|\n\s*\n", command.help or "")
        options = [one.help or "" for one in command.params if isinstance(one, click.Option)]
        for text in (*paragraphs, *options):
            yield place, " ".join(text.replace("\b", "").split())


def _texts_of_errors() -> Iterator[tuple[str, str]]:
    """What is raised, or ends a command; a value counts as a word."""
    for path in sorted(ROOT.glob("packages/*/**/*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name.endswith("Error") or name in {"refuse", "fail"}:
                for text in filter(None, map(_text, node.args)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(_text(part) if isinstance(part, ast.Constant) else "X" for part in parts)


def _wrong(texts: Iterator[tuple[str, str]]) -> list[str]:
    long = []
    for place, text in texts:
        sentences = _ENDS.split(_NAMES_OF_TESTS.sub("these", text))
        long += [f"{place}: {one}" for one in sentences if len(one.split()) > _MOST_WORDS]
        long += [f"{place}: {found[0]!r} in {text}" for found in _DIALECT.finditer(text)]
    return long


def test_help_can_be_read_aloud() -> None:
    assert _wrong(_texts_of_help()) == []


@pytest.mark.long("parses all product modules")
def test_errors_can_be_read_aloud() -> None:
    assert _wrong(_texts_of_errors()) == []
