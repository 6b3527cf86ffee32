"""Finds what code says it implements, and what tests say they prove: requirement IDs in the sources.

Code names requirements in its comments and docstrings, one by one or as ``PTS-X-03, 05 and 07 to 09``. A
test names them in ``@pytest.mark.proves("PTS-X-03", "PTS-X-05..07")``, a Rust test in a comment before it
that begins with ``proves:``. Nothing is imported or run.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ID: Final = re.compile(r"PTS-([A-Z]+)-(\d\d)\b")
_RANGE: Final = re.compile(r"\s*(?:to|\.\.)\s*(?:PTS-[A-Z]+-)?(\d\d)\b")
_NEXT: Final = re.compile(r"(?:,|,?\s+and)\s*(\d\d)(?=\s*(?:[,.;:)\]]|to\b|and\b|$))")
_RUST_ITEM: Final = re.compile(
    r"\s*(?:pub(?:\([a-z]+\))?\s+)?(?:const\s+)?(?:unsafe\s+)?"
    r"(?:fn|struct|enum|trait|mod|const|static|type)\s+(\w+)"
)
_RUST_COMMENT: Final = re.compile(r"\s*//[/!]?\s?(.*)")
_RUST_PROOF: Final = "proves:"

Places = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A requirement's ID at a place in the sources, such as ``python/openpts/pts/iops.py:iops_test``."""

    requirement_id: str
    place: str


def requirement_ids(text: str) -> tuple[str, ...]:
    """All IDs that a text names, ranges and lists written out, each once."""
    found: dict[str, None] = {}
    for start in _ID.finditer(text):
        group, number, position = start[1], int(start[2]), start.end()
        found[f"PTS-{group}-{number:02}"] = None
        while following := _RANGE.match(text, position) or _NEXT.match(text, position):
            last = int(following[1])
            first = number + 1 if following.re is _RANGE else last
            found.update(dict.fromkeys(f"PTS-{group}-{n:02}" for n in range(first, last + 1)))
            number, position = last, following.end()
    return tuple(found)


def implementing_marks(root: Path) -> list[Mark]:
    """Marks of the package's Python and Rust code."""
    marks: list[Mark] = []
    for path in sorted((root / "python/openpts").rglob("*.py")):
        marks += _python_marks(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    for path in sorted(root.glob("rust/*/src/**/*.rs")):
        name = path.relative_to(root).as_posix()
        marks += [mark for mark, proof in _rust_marks(path.read_text(encoding="utf-8"), name) if not proof]
    return marks


def proving_marks(root: Path) -> list[Mark]:
    """Marks of the tests."""
    marks: list[Mark] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        marks += _proofs(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    for folder in ("src", "tests"):
        for path in sorted(root.glob(f"rust/*/{folder}/**/*.rs")):
            name = path.relative_to(root).as_posix()
            marks += [mark for mark, proof in _rust_marks(path.read_text(encoding="utf-8"), name) if proof]
    return marks


def places(marks: Iterable[Mark]) -> Places:
    """Where each requirement is marked, in the order found, each place once."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for mark in marks:
        found[mark.requirement_id][mark.place] = None
    return {requirement_id: tuple(where) for requirement_id, where in found.items()}


def _python_marks(source: str, name: str) -> Iterator[Mark]:
    if not _ID.search(source):
        return
    symbols = _Symbols(ast.parse(source))
    for line, text in (*_docstrings(symbols.tree), *_comments(source)):
        for requirement_id in requirement_ids(text):
            yield Mark(requirement_id, _place(name, symbols.at(line)))


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Strings that stand alone: docstrings, those of constants included, with the line before they end."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments with their last line; those on lines of their own, one below the other, are one."""
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        alone = not token.line[: token.start[1]].strip()
        if block and not (alone and token.start[0] == last + 1):
            yield last, " ".join(block)
            block = []
        block.append(token.string.lstrip("# "))
        last = token.start[0]
        if not alone:
            yield last, " ".join(block)
            block = []
    if block:
        yield last, " ".join(block)


class _Symbols:
    """Which function, class or constant a line of a module belongs to."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._spans: list[tuple[int, int, str]] = []
        self._collect(tree.body, "", 0)

    def _collect(self, body: Sequence[ast.stmt], prefix: str, before: int) -> None:
        named = ""
        for node in body:
            # comments before a statement belong to it, and a string after one tells what it is
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            name = named if is_text else _name(node)
            end = node.end_lineno or node.lineno
            if name:
                self._spans.append((before + 1, end, prefix + name))
            if isinstance(node, ast.ClassDef):
                self._collect(node.body, f"{prefix}{node.name}.", node.lineno)
            before, named = end, name

    def at(self, line: int) -> str:
        """The innermost symbol at that line; empty for what belongs to the whole module."""
        around = [(last - first, name) for first, last, name in self._spans if first <= line <= last]
        return min(around, default=(0, ""))[1]


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _proofs(source: str, name: str) -> Iterator[Mark]:
    if "proves" not in source:
        return
    symbols = _Symbols(ast.parse(source))
    for node in ast.walk(symbols.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "proves":
            continue
        symbol = symbols.at(node.lineno)
        place = _place(name, "" if symbol == "pytestmark" else symbol, "::")
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                for requirement_id in requirement_ids(argument.value):
                    yield Mark(requirement_id, place)


def _rust_marks(source: str, name: str) -> Iterator[tuple[Mark, bool]]:
    """Marks in comments, and whether each says that the function after it proves it."""
    if not _ID.search(source):
        return
    lines = source.splitlines()
    block: list[str] = []
    for number, line in enumerate(lines):
        if comment := _RUST_COMMENT.match(line):
            block.append(comment[1])
        else:
            for requirement_id in requirement_ids(line.partition("//")[2]):
                yield Mark(requirement_id, _place(name, _rust_symbol(lines, number, inside=True))), False
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not block or _RUST_COMMENT.match(following):
            continue
        text = " ".join(block)
        block = []
        of_file = line.lstrip().startswith("//!")
        symbol = "" if of_file else _rust_symbol(lines, number)
        for requirement_id in requirement_ids(text):
            yield Mark(requirement_id, _place(name, symbol)), _RUST_PROOF in text


def _rust_symbol(lines: Sequence[str], number: int, *, inside: bool = False) -> str:
    """The item that a comment stands before; else, or at the end of a line, the one that it stands in."""
    for line in [] if inside else lines[number + 1 :]:
        if item := _RUST_ITEM.match(line):
            return item[1]
        if not line.lstrip().startswith("#["):
            break
    for line in reversed(lines[: number + 1]):
        if item := _RUST_ITEM.match(line):
            return item[1]
    return ""


def _place(name: str, symbol: str, separator: str = ":") -> str:
    return f"{name}{separator}{symbol}" if symbol else name
