"""The names that a plug-in may import, as their page lists them: they exist, and examples need no others."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from tests import ROOT

_DOCS: Final = ROOT / "packages" / "openpts" / "docs"
_ROW: Final = re.compile(r"^\| `(openpts[\w.]*)` \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE)
_CODE: Final = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _listed() -> set[tuple[str, str]]:
    page = (_DOCS / "plugins.md").read_text(encoding="utf-8")
    return {(module, name) for module, names in _ROW.findall(page) for name in re.findall(r"\w+", names)}


def _examples() -> Iterator[str]:
    for module in sorted((ROOT / "examples" / "plugin").rglob("*.py")):
        yield module.read_text(encoding="utf-8")
    for page in ("adding-a-test.md", "plugins.md"):
        yield from _CODE.findall((_DOCS / page).read_text(encoding="utf-8"))


def _imported(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openpts"):
            yield from ((str(node.module), alias.name) for alias in node.names)


def test_each_name_exists() -> None:
    listed = _listed()
    assert len(listed) > 50
    missing = [one for one in sorted(listed) if not hasattr(import_module(one[0]), one[1])]
    assert missing == []


def test_examples_import_no_others() -> None:
    used = {one for source in _examples() for one in _imported(source)}
    own = {one for one in used if "alignment" in one[0]}  # the test that a page adds
    assert sorted(used - own - _listed()) == []
    assert len(used) > 30
