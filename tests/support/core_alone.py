"""The core with the packages that it still leads to, and no other."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Final

from openpts import plugins
from tests.support.plugin_folders import with_metadata
from tests.support.syntax_trees import PACKAGES

NEEDED: Final = frozenset(
    f"openpts_{name}"
    for name in ("batch", "compare", "contents", "drives", "host", "io", "pages", "pts", "sim")
)
OTHERS: Final = frozenset(path.name for path in PACKAGES.glob("openpts_*")) - NEEDED


def core_folder(place: Path) -> Path:
    """A folder for ``PYTHONPATH`` with the core and what it needs, and metadata that offer what is there."""
    place.mkdir(parents=True, exist_ok=True)
    there = {"openpts", *NEEDED}
    for name in there:
        (place / name).symlink_to(PACKAGES / name)
    [own] = [package for package in plugins.packages() if package.is_own]
    entries = {name: where for name, where in own.entries.items() if re.split("[.:]", where)[0] in there}
    with_metadata(place, "openpts", entries, version("openpts"))
    return place
