"""Each wrong input gets one clear line and an exit code, and leaves nothing behind."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.openpts_process import SHORT, openpts
from tests.support.transcript import Golden

WRONG = (
    ("run", "iops"),
    ("run", "iops", "file:x?size=64MiB", "--nonsense"),
    ("run", "tea", "file:x?size=64MiB"),
    ("run", "iops", "file:x?size=64MiB", "--max-rounds", "0"),
    ("run", "iops", "file:x?size=64MiB", "--step-seconds", "-1"),
    ("run", "iops", "file:x?size=64MiB", "--step-seconds", "1", "--round-seconds", "56"),
    ("run", "iops", "file:x?size=many"),
    ("run", "iops", "file:x?size=64M"),
    ("run", "iops", "file:x?color=red"),
    ("run", "iops", "file:x"),
    ("run", "iops", "file:x?size=100000001B"),
    ("run", "iops", "file:x?size=16MiB"),
    ("run", "iops", "file:no/such/folder/x?size=64MiB"),
    ("run", "iops", "file:.?size=64MiB"),
    ("run", "iops", "."),
    ("run", "iops", "/dev/no-such-drive"),
    ("run", "iops", "/dev/zero"),
    ("report", "no-run"),
    ("tea",),
)


@pytest.mark.slow
def test_one_line_that_says_what_is_wrong(tmp_path: Path, golden: Golden) -> None:
    said = []
    for words in WRONG:
        ended = openpts(*words, cwd=tmp_path)
        said.append(f"$ {shlex.join(words)}\n{ended.complaint}\n[{ended.exit_code}]\n")
    assert "".join(said) == golden
    assert list(tmp_path.iterdir()) == []


def test_with_json_the_complaint_is_an_object_as_well(tmp_path: Path) -> None:
    ended = openpts("run", "iops", "file:x?size=16MiB", "--json", cwd=tmp_path)
    assert ended.json == {
        "schema": "openpts.error/1",
        "error": ended.complaint.removeprefix("openpts: "),
        "exit_code": 3,
    }


def test_a_run_folder_that_holds_something_is_not_touched(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1/notes").write_text("mine")
    ended = openpts("run", "iops", "file:x?size=256MiB", *SHORT, "--out", "r1", cwd=tmp_path)
    assert ended.exit_code == 8
    assert ended.complaint == golden
    assert [path.name for path in (tmp_path / "r1").iterdir()] == ["notes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_file_system_is_named_and_nothing_stays(tmp_path: Path) -> None:
    image, mount = tmp_path / "image", tmp_path / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    mounted = subprocess.run(
        ["mount", "-o", "loop", str(image), str(mount)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no loop mount here: {mounted.stderr.decode()}")
    try:
        ended = openpts("run", "iops", f"file:{mount}/x?size=256MiB", *SHORT, cwd=tmp_path)
        assert ended.exit_code == 3
        assert "free" in ended.complaint
        assert not (mount / "x").exists()
    finally:
        subprocess.run(["umount", str(mount)], check=True)
