"""Folders of tests in memory: on a disk a file takes ten times as long, and few tests ask anything of it.

Those that do are marked ``on_disk`` or lie in a folder ``device``. The fixtures replace pytest's own.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final

import pytest

_MEMORY: Final = Path("/dev/shm")
_IN_MEMORY: Final = {"unit", "simulated", "repository"}
# Far more than tests have there at once; in a container there may be 64 MiB.
_LEAST_FREE_BYTES: Final = 2 * 1024**3


@pytest.fixture(scope="session")
def tmp_path_factory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[pytest.TempPathFactory]:
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _LEAST_FREE_BYTES:
        yield tmp_path_factory
        return
    place = Path(mkdtemp(prefix="openpts-tests-", dir=_MEMORY))
    trace = request.config.trace.get("tmpdir")
    yield pytest.TempPathFactory(place / "tests", 0, "failed", trace, _ispytest=True)
    if not request.session.testsfailed:
        shutil.rmtree(place)


@pytest.fixture(scope="session")
def disk_path_factory(request: pytest.FixtureRequest) -> pytest.TempPathFactory:
    """As ``tmp_path_factory``, on the disk."""
    factory: pytest.TempPathFactory = request.config._tmp_path_factory  # type: ignore[attr-defined]
    return factory


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path: Path, disk_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    if not request.node.get_closest_marker("on_disk") and _IN_MEMORY & set(request.path.parts):
        yield tmp_path
        return
    # where --basetemp says; else not in the folder of pytest, which no other user may enter
    within = disk_path_factory.getbasetemp() if request.config.option.basetemp else None
    with TemporaryDirectory(prefix="openpts-tests-", dir=within) as place:
        yield Path(place)
