"""A directory whose owner puts links in the way of root, beforehand or meanwhile: all elsewhere stays."""

import ctypes
import hashlib
import mmap
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from openpts.device.guard.guard import open_target
from openpts.device.targets.target import FileTarget
from openpts.errors import OpenptsError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.purge import Consent
from openpts_check.check import PROCEDURE
from openpts_check.drivers.driver import CheckDriver
from openpts_check.drivers.own_folder import new_name, remove_left
from tests.support.openpts_process import openpts

pytestmark = [
    pytest.mark.on_disk,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root works in what others own"),
]

OWNER = 1000
_EXCHANGE, _HERE = 2, -100
TIMES = 2


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder of root's with names such as a question has, which stays as it is."""
    folder = tmp_path / "elsewhere"
    (folder / "files").mkdir(parents=True)
    for name in ("data", "log", "x", "files/17", "17"):
        (folder / name).write_text("Dear diary\n")
    with (folder / "sparse").open("wb") as file:
        file.truncate(64 * MIB)
    before = _contents(folder)
    yield folder
    assert _contents(folder) == before


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "another's"
    folder.mkdir()
    os.chown(folder, OWNER, OWNER)
    return folder


def _contents(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(folder)): (
            path.stat().st_blocks,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in folder.rglob("*")
    }


@contextmanager
def exchanging(directory: Path, prefix: str, link: str) -> Iterator[None]:
    """As long as the block lasts, the owner exchanges what has a name in the directory with a link there."""
    exchanged = mmap.mmap(-1, mmap.PAGESIZE)  # shared with the owner's process
    process = os.fork()
    if not process:
        with suppress(BaseException):
            os.chdir(directory)
            os.setgid(OWNER)
            os.setuid(OWNER)
            _exchange_names(prefix, link, exchanged)
        os._exit(0)
    try:
        time.sleep(0.05)
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    assert exchanged[0], "the owner came too late each time: no race"


def _exchange_names(prefix: str, link: str, exchanged: mmap.mmap) -> None:
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    while True:
        for path in Path().iterdir():
            if path.name.startswith(prefix):
                for _ in range(41):
                    if rename(_HERE, bytes(path), _HERE, os.fsencode(link), _EXCHANGE) == 0:
                        exchanged[0] = 1


def test_links_that_are_in_place_are_not_followed(directory: Path, elsewhere: Path, tmp_path: Path) -> None:
    for name, target in (
        (".openpts-check", "sparse"),
        (".openpts-check.log", "log"),
        (".openpts-check.files", "files"),
        (new_name(), "."),
    ):
        (directory / name).symlink_to(elsewhere / target)
    (directory / "17").write_text("Dear diary\n")
    before = sorted(directory.iterdir())
    words = ("--for", "build", "--repeats", "2", "--minutes", "0.02", "--size", "16MiB", "--no-report")
    ended = openpts("check", str(directory), *words, "--out", "run", cwd=tmp_path)
    assert ended.exit_code in {0, 10, 13}, ended.stderr
    assert sorted(directory.iterdir()) == before


def test_folders_of_other_owners_with_such_names_stay(directory: Path) -> None:
    folder = directory / new_name()
    (folder / ".made-by-openpts-check").mkdir(parents=True)
    (folder / "data").touch()
    for path in (folder, *folder.iterdir()):
        os.chown(path, OWNER, OWNER)
    folder.chmod(0o700)
    assert not remove_left(directory)
    assert (folder / "data").exists()


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("kind", ["link", "folder of root's"])
def test_names_that_are_exchanged_meanwhile(kind: str, directory: Path, elsewhere: Path) -> None:
    decoy = directory / "decoy"
    if kind == "link":
        decoy.symlink_to(elsewhere)
    else:
        (decoy / "files").mkdir(parents=True)
        decoy.chmod(0o700)
        for name in ("data", "log", "files/17"):
            (decoy / name).write_text("Dear diary\n")
    inode = decoy.lstat().st_ino
    with exchanging(directory, ".openpts-check-", "decoy"):
        for _ in range(TIMES):
            target = f"file:{directory / new_name()}?size=1MiB"
            with suppress(OpenptsError), CheckDriver(PROCEDURE).opened(target, Consent(), "a run"):
                pass
            with suppress(OpenptsError):
                remove_left(directory)
    (found,) = [one for one in directory.iterdir() if one.lstat().st_ino == inode]
    if stat.S_ISDIR(found.lstat().st_mode):
        assert sorted(str(one.relative_to(found)) for one in found.rglob("*")) == [
            "data",
            "files",
            "files/17",
            "log",
        ]


def test_a_scratch_file_whose_folder_is_exchanged(directory: Path, elsewhere: Path) -> None:
    (directory / "sub").mkdir()
    (directory / "decoy").symlink_to(elsewhere)
    for path in (directory / "sub", directory / "decoy"):
        os.chown(path, OWNER, OWNER, follow_symlinks=False)
    made, tries = 0, 0
    with exchanging(directory, "sub", "decoy"):
        while tries < 40 or (not made and tries < 5000):
            tries += 1
            target = FileTarget(Path(os.path.realpath(directory)) / "sub" / "new", MIB)
            with suppress(OpenptsError, OSError), open_target(target, Consent(), SystemRoots()) as opened:
                made += opened.made_here
                raise InterruptedError  # before anything is written to it
    assert made
