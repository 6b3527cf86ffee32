"""Rust crates and modules depend on each other one way, and unsafe code stays in its room."""

import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT

RUST = ROOT / "rust"
TESTBENCH = RUST.parent / "packages/testbench"
# each may use those behind it
FLOORS = {
    "testbench": TESTBENCH / "rust",
    "nvme-target": TESTBENCH / "nvme-target",
    "python": RUST / "python",
    "sim": RUST / "sim",
    "trace": RUST / "trace",
    "core": RUST / "core",
}

Module = tuple[str, ...]

_TESTS = re.compile(r"#\[cfg\([^\n]*\btest\b[^\n]*\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+ \{")
_USE = re.compile(r"(?m)^\s*(pub(?:\([a-z ]+\))? )?use ([^;]+);")
_INLINE = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


def _leaves(tree: str, before: str = "") -> Iterator[str]:
    """The paths of a ``use``, written out."""
    head, brace, inner = tree.partition("{")
    if not brace:
        yield before + re.sub(r"\s+as \w+$", "", tree.strip()).removesuffix("::self")
        return
    depth, part = 0, ""
    for letter in inner[: inner.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            if part.strip():
                yield from _leaves(part.strip(), before + head.strip())
            part = ""
        else:
            part += letter


class Crate:
    """The modules of a crate by their paths, and what each uses; tests are left out."""

    def __init__(self, root: Path) -> None:
        self.texts: dict[Module, str] = {}
        for file in root.rglob("*.rs"):
            parts = file.relative_to(root).with_suffix("").parts
            module = parts[:-1] if parts[-1] in {"mod", "lib"} else parts
            if not any(part.endswith(("tests", "testing")) for part in module):
                code = re.sub(r"//[^\n]*", "", file.read_text())
                self.texts[module] = _TESTS.split(code)[0]
        self.given_on = {
            (module, path[-1]): path
            for module, text in self.texts.items()
            for public, tree in _USE.findall(text)
            if public
            for path in self._paths(module, tree)
        }

    def uses(self) -> dict[Module, set[Module]]:
        """What each module uses itself; to give on what a module below has is no use."""
        found: dict[Module, set[Module]] = {}
        for module, text in self.texts.items():
            paths = [
                path
                for public, tree in _USE.findall(text)
                if not public
                for path in self._paths(module, tree)
            ]
            for inline in _INLINE.findall(_USE.sub("", text)):
                paths += self._paths(module, inline)
            found[module] = {self._home(path) for path in paths} - {module}
        return found

    def _paths(self, module: Module, tree: str) -> Iterator[Module]:
        for leaf in _leaves(tree):
            first, *rest = (part for part in leaf.split("::") if part)
            base = module
            if first == "crate":
                base = ()
            elif first == "super":
                base = module[:-1]
                while rest and rest[0] == "super":
                    base, rest = base[:-1], rest[1:]
            elif first != "self":
                if (*module, first) not in self.texts:
                    continue
                rest = [first, *rest]
            yield (*base, *rest)

    def _home(self, path: Module) -> Module:
        """The module in which what a path names is written."""
        known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.texts)
        name = path[len(known) : len(known) + 1]
        passed_on = self.given_on.get((known, name[0])) if name else None
        return known if passed_on is None or passed_on == path else self._home(passed_on)


def _circle(root: Path) -> list[str]:
    try:
        TopologicalSorter(Crate(root).uses()).prepare()
    except CycleError as error:
        return ["::".join(module) or "lib" for module in error.args[1]]
    return []


@pytest.mark.parametrize("crate", FLOORS)
def test_no_modules_use_each_other(crate) -> None:
    assert not _circle(FLOORS[crate] / "src")


def test_a_circle_is_found_through_what_a_module_gives_on(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use b::{Low, other::{High as Top}};\n")
    (tmp_path / "a/mod.rs").write_text("use crate::Low;\n// use super::b;\n#[cfg(test)]\nmod tests {\n}")
    (tmp_path / "b.rs").write_text("pub struct Low;\n")
    assert not _circle(tmp_path)
    (tmp_path / "b.rs").write_text("pub struct Low(super::a::Whole);\n")
    assert set(_circle(tmp_path)) == {"a", "b"}


@pytest.mark.parametrize("crate", FLOORS)
def test_crates_use_those_below_only(crate) -> None:
    manifest = tomllib.loads((FLOORS[crate] / "Cargo.toml").read_text())
    below = {f"openpts-{floor}" for floor in [*FLOORS][[*FLOORS].index(crate) + 1 :]} - {"openpts-python"}
    dependencies = set(manifest["dependencies"])
    assert {name for name in dependencies if name.startswith("openpts-")} <= below
    knows_python = crate in {"python", "testbench"}
    assert ("pyo3" in dependencies) == knows_python, "what joins to Python does nothing else"


def test_unsafe_code_is_allowed_in_one_room() -> None:
    allowed = {
        path.relative_to(RUST.parent).as_posix()
        for crate in FLOORS.values()
        for path in crate.glob("src/**/*.rs")
        if re.search(r"(allow|expect|warn)\([^)]*\bunsafe_code\b", path.read_text())
    }
    assert allowed == {"rust/core/src/machine/mod.rs"}
    for crate in ("sim", "nvme-target"):
        assert "#![forbid(unsafe_code)]" in (FLOORS[crate] / "src/lib.rs").read_text()
