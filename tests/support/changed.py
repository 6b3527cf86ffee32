"""Prints the folders of tests that a change touches: ``python -m tests.support.changed BASE``.

They are those of the packages that differ from a commit and of all that import them. With a change of Rust,
or of what all packages share, it is every folder.
"""

import subprocess
import sys
from collections.abc import Iterable, Mapping

import grimp

from tests import ROOT
from tests.support.syntax_trees import PACKAGES

OF_ALL = (
    "rust/",
    "tests/support/",
    "tests/data/",
    "tests/__init__.py",
    "conftest.py",
    "pyproject.toml",
    "Cargo",
)


def imported_packages() -> dict[str, set[str]]:
    """The packages that each package imports."""
    names = sorted(path.parent.name for path in PACKAGES.glob("openpts*/__init__.py"))
    graph = grimp.build_graph(*names, cache_dir=None)
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in graph.modules:
        package = module.partition(".")[0]
        found[package] |= {used.partition(".")[0] for used in graph.find_modules_directly_imported_by(module)}
    return found


def touched(files: Iterable[str], imports: Mapping[str, set[str]]) -> set[str]:
    """Packages that have one of the files, and those that import them, directly or not."""
    files = list(files)
    if any(file.startswith(OF_ALL) for file in files):
        return set(imports)
    found = {parts[1] for file in files if (parts := file.split("/"))[0] == "packages"} & set(imports)
    while more := {name for name, used in imports.items() if used & found} - found:
        found |= more
    return found


def main() -> None:
    """Print the folders, in one line."""
    changed = subprocess.run(
        ["git", "diff", "--name-only", sys.argv[1]], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = touched(changed, imported_packages())
    folders = [f"packages/{name}/tests" for name in sorted(names) if (PACKAGES / name / "tests").is_dir()]
    sys.stdout.write(" ".join([*folders, "tests/repository"]) + "\n")


if __name__ == "__main__":
    main()
