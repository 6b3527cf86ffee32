"""Reads what tests say they prove, of the specification and of guides.

IDs of requirements are in ``@pytest.mark.proves("PTS-X-03", "PTS-X-05..07")``; a Rust test has a comment
before it that begins with ``proves:``. Nothing is imported or run.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeGuard

from openpts_pts.conformance.catalogue import by_id
from openpts_pts.conformance.requirements import all_practices

_ID: Final = re.compile(r"\b((?:PTS|SOL|TKP|LSI|HYP)-[A-Z]+)-(\d\d)\b")
_RANGE: Final = re.compile(r"\.\.(\d\d)\b")
_NEXT: Final = re.compile(r",\s*(\d\d)\b")
_RUST_PROOF: Final = re.compile(
    r"^ *// proves: (?P<ids>.*)\n(?P<attributes>(?: *#\[.*\n)*) *fn (?P<name>\w+)\(", re.MULTILINE
)

Proofs = Mapping[str, Sequence[str]]
"""The tests that prove a requirement, by its ID: ``packages/openpts/tests/unit/test_units.py::test_...``."""


class MarkError(ValueError):
    """A mark that names no requirement, or that stands where no test is."""


def requirement_ids(text: str) -> tuple[str, ...]:
    """All IDs that a mark names, ranges and lists written out, each once."""
    found: dict[str, None] = {}
    for start in _ID.finditer(text):
        group, number, position = start[1], int(start[2]), start.end()
        found[f"{group}-{number:02}"] = None
        while following := _RANGE.match(text, position) or _NEXT.match(text, position):
            last = int(following[1])
            first = number + 1 if following.re is _RANGE else last
            found.update(dict.fromkeys(f"{group}-{n:02}" for n in range(first, last + 1)))
            number, position = last, following.end()
    return tuple(found)


def marked_proofs(root: Path) -> Proofs:
    """What the tests below a folder say they prove, in the order of the catalogue.

    Raises MarkError.
    """
    known = (*by_id(), *all_practices())
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for path, read in (
        *((path, _python_marks) for path in sorted(root.glob("packages/*/tests/**/test_*.py"))),
        *((path, _python_marks) for path in sorted((root / "tests").rglob("test_*.py"))),
        *((path, _rust_marks) for path in sorted((root / "rust").rglob("*.rs"))),
    ):
        name = path.relative_to(root).as_posix()
        for function, text in read(path.read_text(encoding="utf-8"), name):
            ids = requirement_ids(text)
            if not ids or set(ids) - set(known):
                raise MarkError(f"{name}: {function} is marked with {text!r}: no such requirement")
            for requirement_id in ids:
                found[requirement_id][f"{name}::{function}"] = None
    return {
        requirement_id: tuple(found[requirement_id]) for requirement_id in known if requirement_id in found
    }


def _python_marks(source: str, name: str) -> Iterator[tuple[str, str]]:
    """Functions that are tests, with the text of their marks."""
    if "mark.proves" not in source:
        return
    tree = ast.parse(source)
    outside = {id(node) for node in ast.walk(tree) if _is_mark(node)}
    for prefix, function in _functions(tree.body):
        for decorator in function.decorator_list:
            for node in ast.walk(decorator):
                if _is_mark(node) and function.name.startswith("test_"):
                    outside.discard(id(node))
                    yield prefix + function.name, ", ".join(ast.literal_eval(each) for each in node.args)
    if outside:
        raise MarkError(f"{name}: mark.proves stands on what is no test function")


def _functions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.proves"


def _rust_marks(source: str, name: str) -> Iterator[tuple[str, str]]:
    if "proves:" not in source:
        return
    marks = list(_RUST_PROOF.finditer(source))
    if len(marks) != source.count("// proves:") or any("#[test]" not in mark["attributes"] for mark in marks):
        raise MarkError(f"{name}: a comment 'proves:' stands before what is no test")
    for mark in marks:
        yield mark["name"], mark["ids"]
