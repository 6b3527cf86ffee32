"""Docstrings name what they are about, and functions say by a verb what they do."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.support.syntax_trees import nodes

PRONOUNS: Final = frozenset(
    {"both", "it", "its", "likewise", "such", "that", "their", "them", "these", "they", "this", "those"}
)
# A noun alone says nothing of what is done with it. These numbers only go down.
NOUNS: Final = {"_figures": 8, "_rows": 2, "_table": 9, "_text": 16}


def documented() -> Iterator[tuple[str, ast.AST, str]]:
    """Each module, class and function that has a docstring, with the module's path."""
    for name, of_module in nodes():
        for node in of_module:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text is not None:
                    yield name, node, text


def test_no_docstring_points_at_what_it_is_about() -> None:
    found = [
        f"{name}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for name, node, text in documented()
        if text.split(maxsplit=1)[0].strip(".,;:").lower() in PRONOUNS
    ]
    assert found == []


def test_functions_are_named_by_a_verb() -> None:
    names = Counter(
        node.name
        for _, of_module in nodes()
        for node in of_module
        if isinstance(node, ast.FunctionDef) and node.name in NOUNS
    )
    assert {name: names[name] for name in NOUNS} == NOUNS, "fewer: lower the number here; more: name the verb"
