"""What no entry point reaches leaves: modules, and functions, classes and constants that nothing names."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests import ROOT
from tests.support.syntax_trees import module_name, nodes

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())

_BY_PYTHON: Final = ("openpts", "openpts.__main__")
"""What Python itself looks for."""

_USED_ELSEWHERE: Final = {
    "RULES_AT_THE_DOOR": "the table of docs/safety.md",
    "RunsFigures": "docs/outputs.schema.json",
    "_repr_html_": "notebooks",
    "action_stop": "textual: what a key does",
    "log_message": "http.server",
    "main_loop": "uvicorn",
    "on_mount": "textual",
    "process_request": "socketserver",
    "service_actions": "socketserver",
}
"""What a library calls by its name, or a page of the manual is held against."""

_IN_RUST: Final = re.compile(
    r"^(?P<attributes>(?:[ \t]*#\[.*\]\n)*)[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*"
    r"(?:fn|struct|enum|trait|type|static|const) (?P<name>[a-zA-Z]\w+)",
    re.MULTILINE,
)


def _modules() -> Mapping[str, Sequence[ast.AST]]:
    return {module_name(path): of_module for path, of_module in nodes()}


def _entry_points() -> set[str]:
    scripts = PROJECT["project"]["scripts"].values()
    plugins = PROJECT["project"]["entry-points"]["openpts.plugins"].values()
    return {place.partition(":")[0] for place in (*scripts, *plugins)}


def _parts() -> set[str]:
    """The modules of a test's folder that are loaded by name: ``procedure.part("report")``."""
    return {
        str(node.args[0].value)
        for of_module in _modules().values()
        for node in of_module
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "part"
        and isinstance(node.args[0], ast.Constant)
    }


def _reached_from(module: str, of_module: Sequence[ast.AST], parts: set[str]) -> Iterator[str]:
    for node in of_module:
        match node:
            case ast.ImportFrom(module=str(source)):
                yield from (source, *(f"{source}.{alias.name}" for alias in node.names))
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.Constant(value=str(text)) if re.fullmatch(r"openpts[\w.]*(:\w+)?", text):
                yield text.partition(":")[0]
            case ast.Call(func=ast.Name(id="Procedure")):
                yield from (f"{module}.{part}" for part in parts)
    yield from (module[: dot.start()] for dot in re.finditer(r"\.", module))


def test_every_module_is_reached_from_an_entry_point() -> None:
    modules, parts = _modules(), _parts()
    reached, open_ends = set[str](), {*_BY_PYTHON, *_entry_points()}
    while open_ends:
        module = open_ends.pop()
        if module in modules and module not in reached:
            reached.add(module)
            open_ends |= set(_reached_from(module, modules[module], parts))
    assert "\n".join(sorted(modules.keys() - reached)) == ""


def test_every_entry_point_is_a_module() -> None:
    assert sorted(_entry_points() - _modules().keys()) == []


def test_every_name_is_used_somewhere_but_where_it_is_defined() -> None:
    words = Counter[str]()
    for file in (*(ROOT / "packages").glob("openpts*/**/*"), ROOT / "pyproject.toml"):
        if "tests" not in file.parts and file.suffix in {
            ".py",
            ".pyi",
            ".j2",
            ".html",
            ".js",
            ".toml",
            ".typ",
        }:
            words.update(re.findall(r"\w+", file.read_text()))
    unused = [
        f"{module}.{name}"
        for module, of_module in _modules().items()
        for name in _defined(of_module)
        if words[name] == 1 and not name.startswith("__") and name not in _USED_ELSEWHERE
    ]
    assert "\n".join(unused) == ""


def _defined(of_module: Sequence[ast.AST]) -> Iterator[str]:
    """Functions, classes, methods and constants; not fields of data, which readers outside have use for."""
    for parent in of_module:
        for node in parent.body if isinstance(parent, ast.Module | ast.ClassDef) else ():
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    if not node.decorator_list or isinstance(parent, ast.ClassDef):
                        yield node.name
                case ast.AnnAssign(target=ast.Name(id=name)) if isinstance(parent, ast.Module):
                    yield name
                case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(parent, ast.Module):
                    yield name


def test_every_name_in_rust_is_used_somewhere() -> None:
    """The compiler does not warn of what is public."""
    crates = [path for folder in ("rust", "packages", "fuzz") for path in (ROOT / folder).rglob("*.rs")]
    texts = {path: re.sub(r"//.*", "", path.read_text()) for path in crates if "target" not in path.parts}
    words = Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    for path in (ROOT / "packages").rglob("*.py*"):
        if path.suffix in {".py", ".pyi"}:
            words.update(re.findall(r"\w+", path.read_text()))
    unused = [
        f"{path.relative_to(ROOT)}: {found['name']}"
        for path, text in texts.items()
        for found in _IN_RUST.finditer(text)
        if words[found["name"]] == 1 and "test" not in found["attributes"]
    ]
    assert [one for one in unused if not one.endswith((" deref", " deref_mut", " main"))] == []
