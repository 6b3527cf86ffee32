"""The core with the package of pages, the example of a plug-in, and nothing else of openpts."""

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Final

from openpts import plugins
from tests import ROOT
from tests.support.plugin_folders import with_metadata
from tests.support.syntax_trees import PACKAGES

THERE: Final = frozenset({"openpts", "openpts_pages"})
OTHERS: Final = frozenset(path.name for path in PACKAGES.glob("openpts_*")) - THERE
EXAMPLE: Final = ROOT / "examples" / "plugin"


def core_folder(place: Path) -> Path:
    """A folder for ``PYTHONPATH`` with both and the example, and metadata that offer what is there."""
    place.mkdir(parents=True, exist_ok=True)
    for name in THERE:
        (place / name).symlink_to(PACKAGES / name)
    [own] = [package for package in plugins.packages() if package.is_own]
    entries = {
        name: where
        for name, where in own.entries.items()
        if where.partition(":")[0].partition(".")[0] in THERE
    }
    with_metadata(place, "openpts", entries, version("openpts"))
    example = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (place / "acme_openpts").symlink_to(EXAMPLE / "acme_openpts")
    with_metadata(place, "acme_openpts", example["entry-points"][plugins.GROUP], example["version"])
    return place
