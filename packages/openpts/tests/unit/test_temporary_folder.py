"""Folders that a process needs as long as it lives: one that was killed leaves none for good."""

import signal
import subprocess
import sys
from pathlib import Path

from openpts.temporary_folder import temporary_folder

_HOLDS = (
    "import sys; from pathlib import Path; from openpts.temporary_folder import temporary_folder\n"
    "with temporary_folder('x', Path(sys.argv[1])) as folder:\n"
    "    (folder / 'run').mkdir(); (folder / 'run/run.db').write_bytes(b'1')\n"
    "    print(folder, flush=True); sys.stdin.read()\n"
)


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_goes_when_the_next_is_made(tmp_path) -> None:
    """Also one that it had made and not marked yet."""
    killed, left = start(tmp_path)
    (tmp_path / "openpts-temporary-x-empty").mkdir()
    living, used = start(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "run/run.db").exists()
    with temporary_folder("y", tmp_path) as folder:
        assert {*tmp_path.iterdir()} == {used, folder}
    assert {*tmp_path.iterdir()} == {used}
    assert (used / "run/run.db").exists()
    living.communicate("")
    assert not list(tmp_path.iterdir())


def test_what_others_named_alike_stays(tmp_path) -> None:
    """A link leads to files that are none of ours, a file is no folder, a folder with files has no mark."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (tmp_path / "openpts-temporary-x-link").symlink_to(elsewhere)
    (tmp_path / "openpts-temporary-x-file").touch()
    (results := tmp_path / "openpts-temporary-x-results").mkdir()
    (results / "run.db").touch()
    (named := tmp_path / "openpts-report-of-today").mkdir()
    before = {*tmp_path.rglob("*")}
    with temporary_folder("x", tmp_path):
        pass
    assert {*tmp_path.rglob("*")} == before >= {elsewhere / "kept", named}


def test_processes_that_make_folders_at_once_take_none_from_each_other(tmp_path) -> None:
    """One may look for leftovers between the moments in which another makes its folder and locks it."""
    makes = (
        "import sys; from pathlib import Path; from openpts.temporary_folder import temporary_folder\n"
        "for _ in range(300):\n"
        "    with temporary_folder('x', Path(sys.argv[1])) as folder:\n"
        "        (folder / 'used').touch(exist_ok=False)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", makes, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert not list(tmp_path.iterdir())
