"""The core with the package of pages, the example of a plug-in, and nothing else of openpts."""

import os
import sys
import tomllib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Final

from openpts import plugins
from tests import ROOT
from tests.support.plugin_folders import with_metadata
from tests.support.syntax_trees import PACKAGES

THERE: Final = frozenset({"openpts", "openpts_pages"})
OTHERS: Final = frozenset(path.name for path in PACKAGES.glob("openpts_*")) - THERE
EXAMPLE: Final = ROOT / "examples" / "plugin"
TESTS: Final = PACKAGES / "openpts" / "tests"
BESIDE_OTHERS: Final = frozenset(
    {
        "device/test_bad_input",
        "device/test_full_disk",
        "device/test_lost_terminal",
        "device/test_memory_pressure",
        "device/test_outputs_among_runs",
        "device/test_places_of_outputs",
        "device/test_room_on_loop",
        "device/test_run_on_a_file",
        "simulated/test_hooks",
        "unit/cli/test_displays",
        "unit/runner/test_concerns",
        "unit/runner/test_healing",
        "unit/runner/test_progress",
        "unit/runner/test_record_pause",
    }
)
"""Tests of the core that take what they run from another package: this list may only shrink."""


def is_beside_others(file: Path) -> bool:
    """Whether a file of tests needs another package."""
    return file.is_relative_to(TESTS) and file.relative_to(TESTS).with_suffix("").as_posix() in BESIDE_OTHERS


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


class _Refusing:
    """Finds no package beside the core."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def leave_the_core_alone() -> Path:
    """For this process, and for those that it starts; gives a folder to be removed at the end."""
    folder = Path(mkdtemp(prefix="openpts-core-"))
    place = str(core_folder(folder / "core"))
    sys.path.insert(0, place)
    for name in [name for name in sys.modules if name.partition(".")[0] in OTHERS]:
        del sys.modules[name]  # what fixtures of other packages' tests have loaded
    sys.meta_path.insert(0, _Refusing)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
    plugins.packages.cache_clear()
    return folder
