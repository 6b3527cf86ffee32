"""A question about a real disk: appends that are durable, and files that are gone, whatever ended it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.sample import Phase
from openpts_check import place
from openpts_check.drivers.disk_programs import Commits, Worker
from openpts_check.drivers.own_folder import new_name, remove_left
from openpts_check.place import Place
from openpts_check.purpose import APPEND_BYTES
from tests.support.loop_devices import Attach, Run
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts
from tests.support.processes import until

pytestmark = pytest.mark.on_disk

ANSWERS = {0, 10, 13}
SMALL = ("--for", "commit", "--size", "64MiB", "--repeats", "2", "--minutes", "0.04")


def left(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir() if one.name.startswith(".openpts-check"))


@pytest.mark.slow
@pytest.mark.needs("directory")
def test_commits_are_counted_timed_and_gone(tmp_path: Path) -> None:
    ended = openpts("check", str(tmp_path), *SMALL, "--json", "--out", "run", cwd=tmp_path)
    assert ended.exit_code in ANSWERS, ended.stderr
    assert left(tmp_path) == []
    run = read_run(tmp_path / "run")
    steps = run.phase(Phase.PROFILE)
    assert len(steps) == 4
    for step in steps:
        assert step.sample.flush.ios > 0
        assert step.sample.flush.bytes == 0
    answer = ended.json
    assert {one["key"] for one in answer["figures"]} >= {"fdatasync_p99_alone", "commits_per_s"}
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


@pytest.mark.needs("directory")
def test_what_is_appended_is_in_the_file(tmp_path: Path) -> None:
    """The process counts no commit that is not there: each is of so many bytes, one behind the other."""
    path = tmp_path / "log"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    appender = Worker(Commits.to(fd))
    try:
        appender.start("write", time.monotonic_ns() + 200_000_000)
        starts, writes, syncs = appender.columns()
    finally:
        appender.close()
        os.close(fd)
    count = len(starts)
    assert count > 0
    content = path.read_bytes()
    assert len(content) == 64 * MIB
    assert len(content.rstrip(b"\0")) <= count * APPEND_BYTES <= len(content.rstrip(b"\0")) + 8
    ends = [sum(each) for each in zip(starts, writes, syncs, strict=True)]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False)), "one after the other"


@pytest.mark.slow
@pytest.mark.needs("directory")
def test_small_files_are_made_read_and_gone(tmp_path: Path) -> None:
    words = ("--for", "build", "--repeats", "2", "--minutes", "0.08")
    ended = openpts("check", str(tmp_path), *words, "--json", "--out", "run", cwd=tmp_path)
    assert ended.exit_code in ANSWERS, ended.stderr
    assert left(tmp_path) == []
    for step in read_run(tmp_path / "run").phase(Phase.PROFILE):
        made, read = step.sample.write, step.sample.read
        assert (made.ios > 0, read.ios > 0) == ((True, False) if step.place.position == 0 else (False, True))
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


def test_a_folder_that_only_has_such_a_name_stays(tmp_path: Path) -> None:
    """One without the mark, one that others may look into, and one that is empty, which goes."""
    unmarked, open_to_all, empty = (tmp_path / new_name() for _ in range(3))
    for folder, mode in ((unmarked, 0o700), (open_to_all, 0o755), (empty, 0o700)):
        folder.mkdir(mode=mode)
    for folder in (unmarked, open_to_all):
        (folder / "data").touch()
    (open_to_all / ".made-by-openpts-check").mkdir()
    assert remove_left(tmp_path)
    assert sorted(tmp_path.rglob("data")) == sorted(one / "data" for one in (unmarked, open_to_all))
    assert not empty.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.needs("directory")
def test_a_question_that_is_stopped_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "check", str(tmp_path), "--for", "commit", "--size", "64MiB"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        while b"repeat 1" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert left(tmp_path) == []


@pytest.mark.slow
@pytest.mark.needs("directory")
def test_what_a_kill_has_left_the_next_question_removes(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "check", str(tmp_path), "--for", "commit", "--size", "64MiB"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        while b"repeat 1" not in process.stderr.readline():
            assert process.poll() is None
        process.kill()
    assert len(left(tmp_path)) == 1
    ended = openpts("check", str(tmp_path), *SMALL, "--no-report", cwd=tmp_path)
    assert "removed what a question that was killed had left" in ended.stderr
    assert ended.exit_code in ANSWERS, ended.stderr
    assert left(tmp_path) == []


@pytest.mark.needs("directory")
def test_one_question_at_a_time(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "check", str(tmp_path), "--for", "commit", "--size", "64MiB"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(lambda: len(left(tmp_path)) == 1)
        ended = openpts("check", str(tmp_path), *SMALL, cwd=tmp_path)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    assert ended.exit_code == 4, ended.stderr
    assert left(tmp_path) == []


def test_reads_that_a_cache_answers_are_no_answer(
    tmp_path: Path, attach: Attach, run: Run, cleanup: ExitStack
) -> None:
    """A file below a loop device without direct I/O is in memory: its disk is asked for nothing."""
    node, directory = attach(size_bytes=3 * 1024 * MIB), tmp_path / "mounted"
    run("mkfs.ext4", "-q", node)
    directory.mkdir()
    run("mount", node, directory)
    cleanup.callback(run, "umount", directory)
    words = ("--for", "kv", "--size", "256MiB", "--repeats", "2", "--minutes", ".03", "--no-report", "--json")
    answer = openpts("check", str(directory), *words, cwd=tmp_path).json
    loop = "the page cache of this host answers for a loop device without direct I/O: the disk was not asked"
    assert loop in answer["how_sure"]
    assert answer["next"][0].startswith("switch the loop device to direct I/O")
    assert answer["answer"] == "no verdict"


@pytest.mark.needs("directory")
def test_endurance_under_a_program_is_what_the_kernel_counts(tmp_path: Path) -> None:
    """On a disk without a log the kernel's count stands in; 32 MiB past the page cache are at least that."""
    program = f"dd if=/dev/zero of={tmp_path}/z bs=1M count=32 oflag=direct status=none"
    words = ("--for", "endurance", "--like", program, "--tbw", "600", "--json")
    ended = openpts("check", str(tmp_path), *words, cwd=tmp_path)
    found = json.loads(ended.stdout)
    assert ended.exit_code == 0, ended.stderr
    assert found["kernel_bytes"] >= 32 * MIB


def test_a_drive_is_asked_where_it_is_mounted_though_var_tmp_is_in_memory(
    attach: Attach, mount: Callable[..., Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = attach(size_bytes=64 * MIB)
    run("mkfs.ext4", "-q", node)
    mounted = mount(node)
    monkeypatch.setattr(place, "_FOR_USERS", Path("/dev/shm"))
    assert Path(Place.of(str(node), SystemRoots()).target).parent == mounted
