"""The package as syntax trees, for what its modules must not do."""

import ast
from pathlib import Path
from typing import Final

import openpts

PACKAGE: Final = Path(openpts.__file__).parent
TREES: Final = tuple(
    (path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
    for path in sorted(PACKAGE.rglob("*.py"))
)
"""Each with its module's path in the package."""
