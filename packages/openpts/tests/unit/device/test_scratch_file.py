"""Files as targets, on the file system of the temporary folder and by way of the guard."""

import fcntl
import mmap
import os
import signal
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from openpts.device.guard.claims import Claim, ClaimKind, Usage
from openpts.device.guard.guard import check, open_target
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.scratch_file import FileUse, file_refusals
from openpts.device.targets.target import FileTarget
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.purge import Consent

pytestmark = [pytest.mark.on_disk, pytest.mark.needs("files")]

ROOTS = SystemRoots()
MARK = "user.openpts.scratch"


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "scratch"


def _open(path: Path, size_bytes: int | None = None, **consent: bool):
    return open_target(FileTarget(path, size_bytes), Consent(**consent), ROOTS)


def _fill(target: OpenTarget) -> None:
    """Write all of it, as a test does."""
    block = mmap.mmap(-1, MIB)
    block.write(MIB * b"x")
    for offset in range(0, target.facts.user_capacity_bytes, MIB):
        os.pwrite(target.fd, block, offset)


def test_a_new_file_is_private_allocated_marked_and_locked(path) -> None:
    with _open(path, 2 * MIB) as target:
        status = path.stat()
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert status.st_size == 2 * MIB
        assert status.st_blocks * 512 >= 2 * MIB
        assert struct.unpack_from("<Q", os.getxattr(path, MARK), 2) == (status.st_ino,)
        flags = fcntl.fcntl(target.fd, fcntl.F_GETFL)
        assert flags & os.O_DIRECT
        assert flags & os.O_ACCMODE == os.O_RDWR
        assert fcntl.fcntl(target.fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
        assert target.facts.kind is TargetKind.FILE
        assert target.facts.path == str(path)
        assert target.facts.user_capacity_bytes == 2 * MIB
        assert target.facts.sector_bytes in (512, 4096)
        assert target.device is None
        with pytest.raises(RefusedError, match=r"refused \[locked\]"), _open(path):
            pass


def test_the_file_is_closed_at_the_end_and_stays(path) -> None:
    with _open(path, MIB) as target:
        fd = target.fd
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert path.exists()


def test_our_own_file_is_taken_again_with_its_data(path) -> None:
    with _open(path, MIB) as target:
        _fill(target)
    with _open(path) as target:
        assert target.facts.user_capacity_bytes == MIB
    assert check(FileTarget(path, None), ROOTS) == ()


@pytest.mark.parametrize("size_bytes", [MIB, 4 * MIB])
def test_our_own_file_takes_another_size(size_bytes, path) -> None:
    with _open(path, 2 * MIB) as target:
        _fill(target)
    with _open(path, size_bytes):
        assert path.stat().st_size == size_bytes
        assert path.stat().st_blocks * 512 >= size_bytes


def test_a_file_of_somebody_else_is_refused_and_left_alone(path) -> None:
    path.write_bytes(MIB * b"x")
    with (
        pytest.raises(RefusedError, match=r"refused \[file-data\].*add --overwrite-file"),
        _open(path, 2 * MIB),
    ):
        pass
    assert path.read_bytes() == MIB * b"x"
    assert MARK not in os.listxattr(path)
    (refusal,) = check(FileTarget(path, None), ROOTS)
    assert refusal.rule_id == "file-data"


def test_the_operator_may_give_it_away(path) -> None:
    path.write_bytes(MIB * b"x")
    with _open(path, overwrite_file=True) as target:
        assert target.facts.user_capacity_bytes == MIB


def test_a_file_without_data_may_be_anybodys(path) -> None:
    path.touch()
    os.truncate(path, 3 * MIB)
    assert check(FileTarget(path, None), ROOTS) == ()
    with _open(path):
        assert path.stat().st_blocks * 512 >= 3 * MIB


@pytest.mark.parametrize(
    ("size_bytes", "proposed"), [(MIB + 512, "size=1MiB"), (10**6, "size=1MiB"), (512 * 10**6, "size=488MiB")]
)
def test_a_broken_size_is_refused_with_the_nearest_lower_one(size_bytes, proposed, path) -> None:
    with pytest.raises(TargetError, match=proposed), _open(path, size_bytes):
        pass
    assert not path.exists()


def test_a_file_that_is_there_needs_a_whole_size_too(path) -> None:
    path.touch()
    with pytest.raises(TargetError, match="is empty: give its size"), _open(path):
        pass
    os.truncate(path, 1000)
    with pytest.raises(TargetError, match="1,000 bytes are not a multiple of 1 MiB"), _open(path):
        pass


def test_more_than_the_file_system_holds_leaves_no_file(path) -> None:
    with pytest.raises(TargetError, match=r"needs .* more, but"), _open(path, 2**60):
        pass
    assert not path.exists()


def test_a_link_is_followed(path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.name)
    path.touch()
    with _open(link, MIB) as target:
        assert target.facts.path == str(path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_refused(make, path) -> None:
    make(path)
    with pytest.raises(TargetError), _open(path, MIB):
        pass


def test_a_folder_that_is_missing_is_named(path) -> None:
    with (
        pytest.raises(TargetError, match=r"can't open .*/no/scratch for writing"),
        _open(path.parent / "no/scratch", MIB),
    ):
        pass


def test_a_file_under_a_loop_device_or_in_swap_is_in_use(path) -> None:
    path.touch()
    claims = tuple(
        Claim(kind, text, path=path)
        for kind, text in (
            (ClaimKind.LOOP, "is the backing store of /dev/loop0"),
            (ClaimKind.SWAP, "is swap"),
        )
    )
    assert [refusal.rule_id for refusal in file_refusals(path, FileUse.SCRATCH, Usage(claims), ROOTS)] == [
        "swap",
        "loop",
    ]


def _refused(path: Path, says: str) -> None:
    (refusal,) = check(FileTarget(path, None), ROOTS)
    assert (refusal.rule_id, says in refusal.evidence) == ("file-data", True), refusal
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"refused \[file-data\].*add --overwrite-file"), _open(path):
        pass
    assert path.read_bytes() == before


def _used(path: Path) -> Path:
    with _open(path, MIB) as target:
        _fill(target)
    return path


def test_a_copy_with_its_mark_is_not_ours(path) -> None:
    copy = path.with_name("copy")
    subprocess.run(["cp", "-a", _used(path), copy], check=True)
    assert os.getxattr(copy, MARK) == os.getxattr(path, MARK)
    _refused(copy, "is a copy of a file of openpts")
    assert check(FileTarget(path, None), ROOTS) == ()


_NOTES = ["sh", "-c", 'printf notes | dd of="$0" conv=notrunc']


@pytest.mark.needs("mkfs.ext4")
@pytest.mark.parametrize("put", [["mkfs.ext4", "-q", "-F"], _NOTES])
def test_what_was_put_there_afterwards_is_not_ours(put, path) -> None:
    subprocess.run([*put, _used(path)], check=True, capture_output=True)
    assert MARK in os.listxattr(path)
    _refused(path, "was written to after openpts had left it")


def test_a_mark_that_says_nothing_counts_for_nothing(path) -> None:
    """As openpts made them up to version 0.1: they may have come with a copy."""
    path.write_bytes(MIB * b"x")
    os.setxattr(path, MARK, b"1")
    _refused(path, "holds data and no valid mark of openpts")


# takes a file, writes to it if told so, and is killed there
_KILLED = """
import os, signal, sys
from openpts.vocabulary.purge import Consent
from openpts.device.guard.guard import open_target
from openpts.device.targets.target import FileTarget
from openpts.system_files import SystemRoots
from pathlib import Path
from openpts.tests.unit.device.test_scratch_file import _fill
consent = Consent(overwrite_file=sys.argv[2] == "given away")
with open_target(FileTarget(Path(sys.argv[1]), 1 << 20), consent, SystemRoots()) as target:
    if sys.argv[3] == "writes":
        _fill(target)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _killed_at(path: Path, *how: str) -> None:
    ended = subprocess.run([sys.executable, "-c", _KILLED, path, *how], check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("before", ["new", "used before", "given away"])
def test_a_file_that_a_killed_run_has_left_is_taken_again(before, path) -> None:
    if before == "given away":
        path.write_bytes(MIB * b"x")
    if before == "used before":
        _used(path)
    _killed_at(path, before, "writes")
    assert check(FileTarget(path, None), ROOTS) == ()
    with _open(path):
        pass
    assert check(FileTarget(path, None), ROOTS) == ()


@pytest.mark.slow
@pytest.mark.needs("mkfs.ext4", "mkswap")
@pytest.mark.parametrize(
    ("put", "says"),
    [
        (["mkfs.ext4", "-q", "-F"], "holds ext4 at 0x438, and an earlier run on it was interrupted"),
        (["mkswap", "-q"], "holds swap at 0xff6, and an earlier run on it was interrupted"),
        (["truncate", "-s", "2M"], "has another size since a run on it was interrupted"),
    ],
)
def test_what_was_put_there_after_a_kill_is_not_ours(put, says, path) -> None:
    _killed_at(path, "new", "writes")
    subprocess.run([*put, path], check=True, capture_output=True)
    _refused(path, says)


def test_a_file_that_was_given_away_and_never_written_to_is_not_ours(path) -> None:
    path.write_bytes(MIB * b"x")
    _killed_at(path, "given away", "writes nothing")
    _refused(path, "holds data that openpts did not write")
    with _open(path, overwrite_file=True):
        pass
    assert os.listxattr(path) == []
    _refused(path, "holds data and no valid mark of openpts")
    assert path.read_bytes() == MIB * b"x"


def test_a_new_file_has_nothing_against_it(path) -> None:
    assert check(FileTarget(path, MIB), ROOTS) == ()
    assert not path.exists()


def test_ctrl_c_while_allocating_leaves_no_file(path, monkeypatch) -> None:
    def interrupted(fd: int, size_bytes: int, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("openpts.device.targets.scratch_file.allocate_fully", interrupted)
    with pytest.raises(KeyboardInterrupt), _open(path, MIB):
        pass
    assert not path.exists()
