"""No link of a folder is followed, whatever it stands for, and files are replaced as a whole."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts import run_folder_files
from openpts.run_folder_files import (
    check_files,
    check_folder,
    make_empty_file,
    open_file,
    read_file,
    write_files,
)
from tests.support.processes import die, dies, living


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


NO_FILES: dict[str, Callable[[Path], object]] = {
    "a symbolic link": lambda path: path.symlink_to("/etc/passwd"),
    "a symbolic link, and": lambda path: path.symlink_to("missing"),
    "a folder": lambda path: path.mkdir(),
    "a named pipe": os.mkfifo,
    "a socket": _socket,
}


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_neither_written_nor_read(kind, tmp_path) -> None:
    NO_FILES[kind](tmp_path / "b")
    with pytest.raises(OSError, match=f"b is {kind}"):
        write_files(tmp_path, {"a": b"1", "b": b"2", "c/d": b"3"})
    assert names(tmp_path) <= {"b", "c"}
    with pytest.raises(OSError, match=f"b is {kind}"):
        read_file(tmp_path, "b")  # would wait for ever on a pipe
    with pytest.raises(OSError, match=f"b is {kind}"):
        check_files(tmp_path, ["a", "b"])
    with pytest.raises(FileExistsError):
        make_empty_file(tmp_path, "b")


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes are made by root")
def test_a_device_is_neither_written_nor_read(tmp_path) -> None:
    os.mknod(tmp_path / "b", 0o600 | 0o020000, os.makedev(1, 3))
    for act in (
        lambda: write_files(tmp_path, {"b": b"2"}),
        lambda: read_file(tmp_path, "b"),
        lambda: check_files(tmp_path, ["b"]),
    ):
        with pytest.raises(OSError, match="b is a character device: remove it, or put a file in its place"):
            act()


def test_a_link_on_the_way_is_not_followed(tmp_path) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a").write_bytes(b"precious")
    (folder / "data").symlink_to(elsewhere)
    for act in (
        lambda: write_files(folder, {"data/a": b"1"}),
        lambda: read_file(folder, "data/a"),
        lambda: check_files(folder, ["data/a"]),
        lambda: check_folder(folder, "data"),
        lambda: make_empty_file(folder, "data/b"),
    ):
        with pytest.raises(OSError, match="data is a symbolic link"):
            act()
    assert names(elsewhere) == {"a"}
    assert (elsewhere / "a").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["../a", "b/../../a", "/etc/passwd", "", "."])
def test_no_name_leads_out_of_the_folder(name, tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"precious")
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(OSError, match="no name within the folder"):
        read_file(folder, name)
    with pytest.raises(OSError, match="no name within the folder"):
        write_files(folder, {name: b"1"})
    with pytest.raises(OSError, match="no name within the folder"):
        check_folder(folder, name)
    assert (tmp_path / "a").read_bytes() == b"precious"


def test_the_folder_that_was_named_may_be_a_link(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "latest").symlink_to("run")
    write_files(tmp_path / "latest", {"a": b"1", "data/b": b"2"})
    assert read_file(tmp_path / "latest", "data/b") == b"2"
    assert names(tmp_path / "run") == {"a", "data", "data/b"}


def test_another_name_of_the_old_file_keeps_it(tmp_path) -> None:
    (tmp_path / "precious").write_bytes(b"old")
    os.link(tmp_path / "precious", tmp_path / "report")
    write_files(tmp_path, {"report": b"new"})
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert (tmp_path / "report").read_bytes() == b"new"


def test_a_reader_of_the_old_file_reads_it_to_its_end(tmp_path) -> None:
    write_files(tmp_path, {"report": b"old"})
    with open_file(tmp_path, "report") as file:
        write_files(tmp_path, {"report": b"new"})
        assert file.read() == b"old"


def test_new_files_have_the_rights_that_the_user_gives_to_new_files(tmp_path) -> None:
    (tmp_path / "by the shell").touch()
    write_files(tmp_path, {"a": b"1"})
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "by the shell").stat().st_mode


def test_a_file_that_can_t_be_written_leaves_all_as_they_were(tmp_path) -> None:
    write_files(tmp_path, {"a": b"old", "b": b"old"})
    with pytest.raises(OSError, match="name too long"):
        write_files(tmp_path, {"a": b"new", "b": b"new", "c" * 300: b""})
    assert names(tmp_path) == {"a", "b"}
    assert read_file(tmp_path, "a") == b"old"


def test_a_full_disk_leaves_all_as_they_were(tmp_path) -> None:
    """Of a disk that takes 64 KiB of each file."""
    write_files(tmp_path, {"a": b"old", "b": b"old"})
    script = f"""
        import resource, signal
        from pathlib import Path
        from openpts.run_folder_files import write_files
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        write_files(Path({str(tmp_path)!r}), {{"a": b"new", "b": bytes(65537)}})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, check=False)
    assert done.returncode == 1
    assert names(tmp_path) == {"a", "b"}
    assert {read_file(tmp_path, name) for name in ("a", "b")} == {b"old"}


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path) -> None:
    contents = (b"1" * 1_000_000, b"2" * 1_000_000)
    write_files(tmp_path, {"a": contents[0]})
    script = f"""
        import itertools
        from pathlib import Path
        from openpts.run_folder_files import write_files
        print("ready", flush=True)
        for digit in itertools.cycle((b"1", b"2")):
            write_files(Path({str(tmp_path)!r}), {{"a": digit * 1_000_000}})
    """
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as one:
            one.stdout.readline()
            for _ in range(20):
                assert read_file(tmp_path, "a") in contents
            one.send_signal(signal.SIGKILL)
        assert read_file(tmp_path, "a") in contents


def test_drafts_of_a_killed_process_are_removed_and_those_of_a_living_one_kept(tmp_path) -> None:
    def write_and_stop() -> None:
        rename = os.rename
        os.rename = lambda *_, **__: die()
        try:
            write_files(tmp_path, {"a": b"1", "data/b": b"2"})
        finally:
            os.rename = rename

    def write_and_wait(wait: Callable[[], None]) -> None:
        os.rename = lambda *_, **__: wait()
        write_files(tmp_path, {"a": b"3"})

    dies(write_and_stop)
    assert any(name.startswith(".openpts-") for name in names(tmp_path))
    with living(write_and_wait) as other:
        write_files(tmp_path, {"c": b"4"})
        left = {name for name in names(tmp_path) if name.startswith(".openpts-")}
        assert len(left) == 2  # the folder of the living, and its draft
        other.kill()
    write_files(tmp_path, {"c": b"5"})
    assert names(tmp_path) == {"c", "data"}


def test_new_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch) -> None:
    happened: list[str] = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda fd: (happened.append("sync"), fsync(fd)))
    monkeypatch.setattr(os, "rename", lambda *a, **k: (happened.append("rename"), rename(*a, **k)))
    write_files(tmp_path, {"a": b"1", "data/b": b"2"})
    assert happened == ["sync", "sync", "rename", "rename", "sync", "sync"]


def test_a_file_of_holes_is_not_read_and_one_with_some_is(tmp_path) -> None:
    """It takes no time to make and to send, and hours to read."""
    for name, size in (("few", 1 << 20), ("many", 20 << 30)):
        (tmp_path / name).write_bytes(b"begin")
        os.truncate(tmp_path / name, size)
    assert read_file(tmp_path, "few").rstrip(b"\0") == b"begin"
    with pytest.raises(OSError, match="many has 21,474,836,480 bytes, most of them holes"):
        read_file(tmp_path, "many")


def test_holes_between_data_count_together(tmp_path) -> None:
    with (tmp_path / "a").open("wb") as file:
        for place in range(8):
            file.seek(place << 28)
            file.write(bytes(4096))
    with pytest.raises(OSError, match="most of them holes"), open_file(tmp_path, "a"):
        pass


def test_what_is_larger_than_memory_should_hold_is_not_read_into_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_folder_files, "MOST_BYTES", 4)
    (tmp_path / "a").write_bytes(b"1234")
    assert read_file(tmp_path, "a") == b"1234"
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(OSError, match="a is larger than 4 bytes"):
        read_file(tmp_path, "a")


def test_what_was_exchanged_for_a_pipe_while_it_was_opened_is_not_read(tmp_path, monkeypatch) -> None:
    os.mkfifo(tmp_path / "a")
    monkeypatch.setattr(run_folder_files, "_check", lambda *_: None)
    with pytest.raises(OSError, match="a is a named pipe"):
        read_file(tmp_path, "a")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders of another user")
def test_a_folder_of_another_user_that_is_named_like_drafts_stays(tmp_path) -> None:
    others, own = (tmp_path / f".openpts-{digit * 16}.new" for digit in "01")
    for folder in (others, own):
        folder.mkdir()
        (folder / "0").write_text("Dear diary\n")
    os.chown(others, 1000, 1000)
    write_files(tmp_path, {"new": b""})
    assert sorted(path.name for path in tmp_path.iterdir()) == [others.name, "new"]
    assert (others / "0").read_text() == "Dear diary\n"


def test_what_was_put_in_the_place_of_drafts_stays(tmp_path, monkeypatch) -> None:
    mkdir = os.mkdir

    def exchanged(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        mkdir(name, mode, dir_fd=dir_fd)
        (tmp_path / name / "0").write_text("Dear diary\n")

    monkeypatch.setattr(os, "mkdir", exchanged)
    with pytest.raises(OSError, match="exchanges names"):
        write_files(tmp_path, {"new": b""})
    assert [path.read_text() for path in tmp_path.rglob("0")] == ["Dear diary\n"]
