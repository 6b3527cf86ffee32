"""The core without its plug-ins: none can be found by its metadata, none can be imported."""

from importlib.metadata import version
from pathlib import Path
from typing import Final

import openpts
import openpts_contents
from openpts import plugins
from tests.support.plugin_folders import with_metadata

OF_PLUGINS: Final = frozenset({"app", "check", "fio", "line", "many", "practice", "traces", "watch", "web"})
"""What the packages beside the core are called behind ``openpts_``, and the folders of their tests."""


def core_folder(place: Path) -> Path:
    """A folder for ``PYTHONPATH`` with the package openpts, and metadata that offer what is in it."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "openpts").symlink_to(Path(openpts.__file__).parent)
    (place / "openpts_contents").symlink_to(Path(openpts_contents.__file__).parent)
    [own] = [package for package in plugins.packages() if package.is_own]
    entries = {
        name: where
        for name, where in own.entries.items()
        if where.startswith(("openpts.", "openpts_contents:"))
    }
    with_metadata(place, "openpts", entries, version("openpts"))
    return place
