"""Folders of tests in memory: on a disk a file takes ten times as long, and few tests ask anything of it.

Those that do are marked ``on_disk``. The fixtures replace pytest's own where a conftest imports them.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final

import pytest

_MEMORY: Final = Path("/dev/shm")
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


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if not request.node.get_closest_marker("on_disk"):
        yield tmp_path
        return
    with TemporaryDirectory(prefix="openpts-tests-") as place:
        yield Path(place)
