"""TOML with places: Python's own reader for the values, tree-sitter for where they are."""

import re
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from openpts.config_files.schema_errors import Path, PlacedError, PlacedText, SourcePosition

if TYPE_CHECKING:
    import tree_sitter

_AT: Final = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")


def read_toml(text: str) -> PlacedText:
    """Read a text. Raises PlacedError."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = _AT.search(message)
        line, column = (match[1], match[2]) if match and match[1] else (text.count("\n") + 1, 1)
        raise PlacedError(SourcePosition(int(line), int(column)), _AT.sub("", message)) from error
    except ValueError as error:  # Python reads no number of more than some thousand digits
        raise PlacedError(SourcePosition(1, 1), "a number has too many digits") from error
    except RecursionError as error:
        raise PlacedError(SourcePosition(1, 1), "lists or tables are nested too deep") from error
    # Libraries of their own: the end of a run, which may have no more memory, loads this module for nothing.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_toml  # noqa: PLC0415

    language = tree_sitter.Language(tree_sitter_toml.language())
    root = tree_sitter.Parser(language).parse(text.encode()).root_node
    return PlacedText(content, _Places(text).of(root))


class _Places:
    """Walks over the syntax tree and notes where each key and each entry of a list begins."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().split(b"\n")
        self._found: dict[Path, SourcePosition] = {}
        self._entries: dict[Path, int] = {}

    def of(self, document: "tree_sitter.Node") -> dict[Path, SourcePosition]:
        """The places of all values."""
        for node in document.named_children:
            if node.type == "pair":
                self._pair((), node)
            elif node.type in {"table", "table_array_element"}:
                self._table(node)
        return self._found

    def _table(self, node: "tree_sitter.Node") -> None:
        header, *pairs = [child for child in node.named_children if child.type != "comment"]
        path: Path = ()
        keys = list(_keys(header))
        for key in keys:
            path = (*path, _word(key))
            self._note(path, key)
            if key is keys[-1] and node.type == "table_array_element":
                self._entries[path] = self._entries.get(path, 0) + 1
            if path in self._entries:
                path = (*path, self._entries[path] - 1)
                self._note(path, key)
        for pair in pairs:
            if pair.type == "pair":
                self._pair(path, pair)

    def _pair(self, path: Path, node: "tree_sitter.Node") -> None:
        key_node, *values = [child for child in node.named_children if child.type != "comment"]
        for key in _keys(key_node):
            path = (*path, _word(key))
            self._note(path, key)
        for value in values:
            self._value(path, value)

    def _value(self, path: Path, node: "tree_sitter.Node") -> None:
        children = [child for child in node.named_children if child.type != "comment"]
        if node.type == "inline_table":
            for pair in children:
                self._pair(path, pair)
        if node.type == "array":
            for index, entry in enumerate(children):
                self._note((*path, index), entry)
                self._value((*path, index), entry)

    def _note(self, path: Path, node: "tree_sitter.Node") -> None:
        row, byte = node.start_point
        before = self._lines[row][:byte].decode(errors="replace")
        self._found.setdefault(path, SourcePosition(row + 1, len(before) + 1))


def _keys(node: "tree_sitter.Node") -> Iterator["tree_sitter.Node"]:
    """The keys of ``a``, ``"a"`` or ``a.b``."""
    if node.type == "dotted_key":
        for child in node.named_children:
            yield from _keys(child)
    else:
        yield node


def _word(key: "tree_sitter.Node") -> str:
    text = (key.text or b"").decode()
    return next(iter(tomllib.loads(f"{text} = 0"))) if key.type == "quoted_key" else text
