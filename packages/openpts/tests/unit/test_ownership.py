"""Claims of run folders and names, held by real processes, which are killed as a crash does it."""

import json
import os
import random
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts import ownership
from openpts.errors import RecordError
from openpts.ownership import (
    CLAIM_NAME,
    RunOwner,
    file_name,
    folder_claimed,
    holder_of,
    is_locked,
    new_run_id,
    owned,
    owned_descriptors,
    owned_name,
    owner_behind,
    read_owner,
    until_unlocked,
)
from openpts.programs import run_program
from openpts.system_files import SystemRoots
from tests.support.processes import die, dies, in_process, living

NAME = "nqn.2014-08.org.nvmexpress:uuid:4f1d0c5e"


def _owner(run_id: str | None = None) -> RunOwner:
    return RunOwner.this_process(run_id or new_run_id(), "/dev/nvme0n1", (NAME,), SystemRoots())


def _refused(folder: Path, owner: RunOwner, *, again: bool = True) -> str:
    with pytest.raises(RecordError) as raised, folder_claimed(folder, owner, again=again):
        pass
    return str(raised.value)


def test_run_ids_are_uuids_of_version_7_in_the_order_of_their_time() -> None:
    before_ms = time.time_ns() // 10**6
    ids = [uuid.UUID(new_run_id()) for _ in range(1000)]
    after_ms = time.time_ns() // 10**6
    assert len(set(ids)) == 1000
    assert {(one.version, one.variant) for one in ids} == {(7, uuid.RFC_4122)}
    times_ms = [one.int >> 80 for one in ids]
    assert times_ms == sorted(times_ms)
    assert before_ms <= times_ms[0] <= times_ms[-1] <= after_ms


def test_an_owner_is_known_by_more_than_its_process_number() -> None:
    owner = _owner()
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert owner.pid == os.getpid()
    assert owner.process_started_ticks == int(fields[19])
    assert owner.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert owner.host == os.uname().nodename


def test_a_claim_is_on_the_disk_before_anything_else_happens(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "runs/one"
    folder.mkdir(parents=True)
    synchronized = []

    def fsync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        synchronized.append((path, path.read_text() if path.is_file() else None))

    monkeypatch.setattr(os, "fsync", fsync)
    owner = _owner()
    with folder_claimed(folder, owner):
        file, *folders = synchronized
        assert [path for path, _ in folders] == [folder, folder.parent]
        assert file[0] == folder / CLAIM_NAME
        stored = json.loads(str(file[1]))
        assert stored["run_id"] == owner.run_id
        assert stored["folder"] == str(folder)
        assert stored["names"] == [NAME]
    assert read_owner(folder / CLAIM_NAME) == replace(owner, folder=str(folder))


def test_a_folder_is_claimed_once(tmp_path) -> None:
    first = _owner()
    with folder_claimed(tmp_path, first):
        pass
    held = replace(first, folder=str(tmp_path))
    assert _refused(tmp_path, _owner(), again=False) == (
        f"{tmp_path} belongs to {held}: choose another folder"
    )
    other = _owner()
    assert _refused(tmp_path, other) == f"{tmp_path} belongs to {held}, not to run {other.run_id}"


def test_a_run_takes_its_folder_again_when_its_process_has_been_killed(tmp_path) -> None:
    run_id = new_run_id()

    def run() -> None:
        with folder_claimed(tmp_path, _owner(run_id)):
            die()

    dies(run)
    again = _owner(run_id)
    with folder_claimed(tmp_path, again, again=True):
        lines = (tmp_path / CLAIM_NAME).read_text().splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first["run_id"] == second["run_id"] == run_id
    assert first["pid"] != second["pid"] == os.getpid()


def test_a_folder_in_use_is_not_taken_again(tmp_path) -> None:
    run_id = new_run_id()

    def run(wait: Callable[[], None]) -> None:
        with folder_claimed(tmp_path, _owner(run_id)):
            wait()

    with living(run) as process:
        told = _refused(tmp_path, _owner(run_id))
        assert told.startswith(f"{tmp_path} is in use by run {run_id} (process {process.pid} on ")
        assert told.endswith(
            f"folder {tmp_path}), or by a program that it has started: wait until it ends, or stop it; see "
            f"fuser -v {tmp_path / CLAIM_NAME}"
        )
        process.kill()
    with folder_claimed(tmp_path, _owner(run_id), again=True):
        pass


def test_a_program_that_outlives_its_run_keeps_the_claims(tmp_path) -> None:
    run_id, program = new_run_id(), tmp_path / "program"

    def run() -> None:
        with owned(NAME, _owner(run_id), tmp_path), folder_claimed(tmp_path, _owner(run_id)):
            started = subprocess.Popen(["sleep", "60"], pass_fds=owned_descriptors())
            program.write_text(str(started.pid))
            die()

    dies(run)
    assert "or by a program that it has started" in _refused(tmp_path, _owner(run_id))
    assert f"run {run_id}" in str(holder_of(NAME, tmp_path))
    with pytest.raises(BlockingIOError), owned(NAME, _owner(run_id), tmp_path):
        pass
    os.kill(int(program.read_text()), 9)
    _until_free(tmp_path)
    with owned(NAME, _owner(run_id), tmp_path), folder_claimed(tmp_path, _owner(run_id), again=True):
        pass


def _until_free(folder: Path) -> None:
    deadline_s = time.monotonic() + 10
    while holder_of(NAME, folder) is not None:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_line_that_a_power_cut_left_half_written_does_not_hide_the_claim(tmp_path) -> None:
    owner = _owner()
    with folder_claimed(tmp_path, owner):
        pass
    with (tmp_path / CLAIM_NAME).open("a") as file:
        file.write('{"run_id":"0')
    with folder_claimed(tmp_path, owner, again=True):
        pass
    first, torn, last = (tmp_path / CLAIM_NAME).read_text().splitlines()
    assert json.loads(first) == json.loads(last)
    assert torn == '{"run_id":"0'


@pytest.mark.parametrize("content", [None, "", '{"run_id":'])
def test_a_run_that_was_killed_over_its_claim_takes_its_folder(tmp_path, content) -> None:
    path, owner = tmp_path / CLAIM_NAME, _owner()
    if content is not None:
        path.write_text(content)
    with folder_claimed(tmp_path, owner, again=True):
        assert read_owner(path) == replace(owner, folder=str(tmp_path))


def test_what_is_no_file_is_no_claim(tmp_path, golden) -> None:
    path, elsewhere = tmp_path / CLAIM_NAME, tmp_path / "elsewhere"
    elsewhere.touch()
    path.symlink_to(elsewhere)
    assert _refused(tmp_path, _owner()) == golden
    path.unlink()
    os.mkfifo(path)
    assert _refused(tmp_path, _owner()) == golden
    assert elsewhere.read_text() == ""


@pytest.mark.parametrize("kind", ["a named pipe", "a symbolic link", "a folder", "file of holes"])
def test_a_claim_that_is_no_file_is_refused_at_once(kind, tmp_path) -> None:
    """Nothing waits for the other end of a pipe, or looks where a link leads."""
    path, elsewhere = tmp_path / CLAIM_NAME, tmp_path / "elsewhere"
    elsewhere.write_bytes(msgspec.json.encode(_owner()) + b"\n")
    makes: dict[str, Callable[[], object]] = {
        "a named pipe": lambda: os.mkfifo(path),
        "a symbolic link": lambda: path.symlink_to(elsewhere),
        "a folder": path.mkdir,
        "file of holes": lambda: os.truncate(path, 20 << 30),
    }
    if kind == "file of holes":
        path.touch()
    makes[kind]()
    assert read_owner(path) is None
    why = "most of them holes" if kind == "file of holes" else f"claim.jsonl is {kind}"
    for ask in (is_locked, until_unlocked):
        with pytest.raises(RecordError, match=why):
            ask(path)


@pytest.mark.parametrize("line", [b'{"run_id":"\xff"}', b"\xff", b"[" * 100_000])
def test_a_line_that_is_no_text_does_not_hide_the_claim(line, tmp_path) -> None:
    with folder_claimed(tmp_path, _owner()):
        pass
    with (tmp_path / CLAIM_NAME).open("ab") as file:
        file.write(line + b"\n")
    found = read_owner(tmp_path / CLAIM_NAME)
    assert found is None if len(line) > 65_536 else found is not None


def test_a_folder_that_cannot_be_claimed_says_why(tmp_path) -> None:
    assert _refused(tmp_path / "gone", _owner(), again=False) == (
        f"can't claim {tmp_path / 'gone'}: No such file or directory"
    )


def test_a_name_has_one_owner_among_all_processes(tmp_path) -> None:
    run_id = new_run_id()

    def other() -> object:
        try:
            with owned(NAME, _owner(), tmp_path):
                return "owned"
        except BlockingIOError:
            return holder_of(NAME, tmp_path)

    with owned(NAME, _owner(run_id), tmp_path):
        with owned(NAME, _owner(), tmp_path):
            assert holder_of(NAME, tmp_path) is None  # what is our own is in no run's way
        assert in_process(lambda: _in_other_process(other)) == str(replace(_owner(run_id), **_when(tmp_path)))
    assert in_process(other) == "owned"


def _in_other_process(function) -> object:
    """A fork has the names of its parent in its memory, unlike any real second process."""
    ownership._HELD.clear()
    return function()


def _when(folder: Path) -> dict[str, str]:
    (path,) = folder.glob("*.owner")
    owner = read_owner(path)
    return {"since": owner.since}


def test_the_note_follows_the_run_into_its_folder(tmp_path) -> None:
    folder, notes = tmp_path / "run", tmp_path / "notes"
    folder.mkdir()
    owner = _owner()
    with owned(NAME, owner, notes), folder_claimed(folder, owner):
        (note,) = notes.iterdir()
        assert read_owner(note) == replace(owner, folder=str(folder))


def test_a_target_with_a_lock_of_its_own_has_a_note_in_memory(cleanup) -> None:
    owner = _owner()
    cleanup.enter_context(owned(NAME, owner, None))
    (fd,) = owned_descriptors()
    assert owned_name(str(Path(f"/proc/self/fd/{fd}").readlink())) == file_name(NAME)
    assert owner_behind(Path(f"/proc/self/fd/{fd}")) == owner


def test_names_of_files_are_legible_and_tell_all_names_apart() -> None:
    names = [NAME, NAME.upper(), "a/b", "a b", "a-b", "", "eui." + "0" * 300, "\udcff"]
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(len(file) < 100 and "/" not in file and owned_name(f"openpts/{file}.owner") for file in files)
    assert file_name(NAME).startswith("nqn.2014-08.org.nvmexpress-uuid-4f1d0c5e-")


@pytest.fixture
def cleanup():
    with ExitStack() as stack:
        yield stack


def test_programs_that_erase_a_drive_inherit_the_claim_and_others_do_not(tmp_path) -> None:
    look = ("ls", "-l", "/proc/self/fd")
    with owned(NAME, _owner(), tmp_path):
        assert ".owner" in run_program(look, 10, to_the_end=True).stdout
        assert ".owner" not in run_program(look, 10).stdout
    assert ".owner" not in run_program(look, 10, to_the_end=True).stdout


def _contend(folder: Path) -> None:
    """Own the name again and again, and say so if another process was there meanwhile."""
    ownership._HELD.clear()
    inside, me = folder / "inside", str(os.getpid())
    while True:
        with suppress(BlockingIOError), owned(NAME, _owner(), folder / "locks"):
            inside.write_text(me)
            time.sleep(random.random() / 500)  # a place to be killed at
            word = "turn" if inside.read_text() == me else "loss"
            (folder / f"{word}-{me}-{time.monotonic_ns()}").touch()


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_of_many_that_are_killed_at_random_never_two_own_a_drive(tmp_path, kills) -> None:
    context, generator = get_context("fork"), random.Random(7)
    contenders = []
    for _ in range(kills):
        while len(contenders) < 4:
            contenders.append(context.Process(target=_contend, args=(tmp_path,)))
            contenders[-1].start()
        time.sleep(generator.random() / 50)
        killed = contenders.pop(generator.randrange(4))
        killed.kill()
        killed.join()
    for process in contenders:
        process.kill()
        process.join()
    assert not list(tmp_path.glob("loss-*"))
    assert len(list(tmp_path.glob("turn-*"))) > kills / 2
