"""YAML with places."""

import re
import warnings
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from openpts.config_files.schema_errors import Path, PlacedError, PlacedText, SourcePosition

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CORE: Final = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")}


def read_yaml(text: str) -> PlacedText:
    """Read a text of one document, without tags of its own and without aliases. Raises PlacedError."""
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():  # an anchor that is given twice is as unused as the first: no aliases
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            node = yaml.compose(text)
        reader = _Reader(yaml)
        content = {} if node is None else reader.value((), node)
    except MarkedYAMLError as error:
        problem = " ".join(str(error.problem or error.context or "is not YAML").split())
        raise PlacedError(_place(error.problem_mark or error.context_mark), problem) from error
    except YAMLError as error:
        raise PlacedError(SourcePosition(1, 1), " ".join(str(error).split())) from error
    except RecursionError as error:
        raise PlacedError(SourcePosition(1, 1), "lists or tables are nested too deep") from error
    if not isinstance(content, dict):
        raise PlacedError(SourcePosition(1, 1), "is not a table: write KEY: VALUE, one per line")
    return PlacedText(content, reader.places)


class _Reader:
    """Turns nodes into plain values and notes where each key and each entry of a list begins."""

    def __init__(self, yaml: YAML) -> None:
        self._yaml = yaml
        self._seen: set[int] = set()
        self.places: dict[Path, SourcePosition] = {}

    def value(self, path: Path, node: Node) -> Any:
        if id(node) in self._seen:
            raise PlacedError(
                _place(node.start_mark), "an alias of this place: write it out where it is used"
            )
        self._seen.add(id(node))
        if isinstance(node, MappingNode):
            return self._mapping(path, node)
        if isinstance(node, SequenceNode):
            for index, entry in enumerate(node.value):
                self.places[*path, index] = _place(entry.start_mark)
            return [self.value((*path, index), entry) for index, entry in enumerate(node.value)]
        if str(node.tag) not in _CORE:
            return _text(str(node.value), node)
        try:
            value = self._yaml.constructor.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise PlacedError(_place(node.start_mark), f"{node.value!r} can't be read: {error}") from error
        return _text(value, node) if isinstance(value, str) else value

    def _mapping(self, path: Path, node: MappingNode) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = _place(key_node.start_mark)
            if not isinstance(key_node, ScalarNode):
                raise PlacedError(place, "a key must be a word")
            key = _text(str(key_node.value), key_node)
            if key in values:
                raise PlacedError(place, f"{key} is given twice")
            self.places[*path, key] = place
            values[key] = self.value((*path, key), value_node)
        return values


def _text(value: str, node: Node) -> str:
    """As it is, if it can be written: half a surrogate pair is an escape in YAML and no character."""
    if _SURROGATE.search(value):
        raise PlacedError(_place(node.start_mark), "an escape names half a surrogate pair, which is no text")
    return value


def _place(mark: StringMark | None) -> SourcePosition:
    return SourcePosition(1, 1) if mark is None else SourcePosition(mark.line + 1, mark.column + 1)
