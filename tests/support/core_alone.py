"""The core without its plug-ins: none can be found by its metadata, none can be imported."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Final

import openpts
import openpts_contents
from openpts import plugins
from tests.support.plugin_folders import with_metadata

OF_PLUGINS: Final = frozenset({"app", "check", "fio", "line", "many", "practice", "traces", "watch", "web"})
"""What the packages beside the core are called behind ``openpts_``, and the folders of their tests."""


class _Refusing:
    """Finds no package beside the core."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0].removeprefix("openpts_") in OF_PLUGINS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


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


def leave_the_core_alone() -> None:
    """For this process, and for those that it starts."""
    place = str(core_folder(Path(mkdtemp(prefix="openpts-core-"), "core")))
    sys.path.insert(0, place)
    sys.meta_path.insert(0, _Refusing)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
    plugins.packages.cache_clear()
