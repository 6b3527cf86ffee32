"""Programs as benchmarks of a drive that is formatted for them, and what is undone of that afterwards."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openpts.errors import RefusedError, RunFailedError, TargetError
from openpts.record.reader import read_run
from openpts.vocabulary.command_run import RunKind
from tests.support import app_runs
from tests.support.app_runs import living, runs_of
from tests.support.openpts_process import Ended, openpts, start_openpts
from tests.support.processes import until
from tests.support.transcript import Golden

_MIB = 1 << 20


@pytest.fixture(autouse=True)
def _own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))


@pytest.fixture
def file(tmp_path: Path, attach: Callable[..., Path]) -> Iterator[str]:
    """A file as a target; ``attach`` sees to it that loop devices work here, one test at a time."""
    del attach
    yield f"file:{tmp_path / 'drive'}?size=128MiB"
    assert mounts() == []
    assert loops_over(tmp_path / "drive") == []


def mounts() -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if "openpts-app-" in line]


def loops_over(path: Path) -> list[str]:
    found = ("losetup", "--noheadings", "--output", "NAME", "--associated", str(path))
    return subprocess.run(found, check=True, capture_output=True, text=True).stdout.split()


def run_app(target: str, folder: Path, *words: str, options: tuple[str, ...] = ()) -> Ended:
    return app_runs.run_app(target, folder, *words, options=("--warm-runs", "1", *options))


def _error(ended: Ended, node: Path) -> str:
    """What a command ends with, whatever its node is."""
    return ended.stderr[ended.stderr.rindex("openpts: ") :].replace(str(node), "NODE")


@pytest.mark.slow
@pytest.mark.proves("SOL-BMK-04")
def test_a_file_is_formatted_filled_and_trimmed(file: str, tmp_path: Path) -> None:
    words = (
        "sh",
        "-c",
        "df --output=pcent,target . | tail -1; wc -c < openpts-fill; gzip -c openpts-fill | wc -c",
    )
    ended = run_app(file, tmp_path, *words, options=("--fill-level", "50"))
    assert ended.exit_code == 0, ended.stderr
    (report,) = read_run(tmp_path / "run").manifest.file_systems
    assert report.type == "ext4"
    assert report.made_by.startswith("mkfs.ext4 ")
    assert 45 <= report.used_pct <= 51
    assert "trimmed" in report.trim
    first, filled, zipped = (tmp_path / "run/output/01-conditioning-1.out").read_text().splitlines()
    assert first.split()[1] == report.directory
    assert int(filled) == report.filled_bytes >= 40 * _MIB
    assert int(zipped) > int(filled)
    assert not Path(report.directory).exists()
    assert "made by openpts" in ended.stdout


@pytest.mark.slow
def test_a_drive_is_formatted_with_consent_only(
    attach: Callable[..., Path], run: Callable[..., str], tmp_path: Path, golden: Golden
) -> None:
    node = attach("--direct-io=on", size_bytes=64 * _MIB)
    confirmed = ("--confirm-device-path", str(node))
    assert run_app(str(node), tmp_path, "true").exit_code == RefusedError.exit_code
    ended = run_app(str(node), tmp_path, "sh", "-c", "echo x > x", options=confirmed)
    assert ended.exit_code == 0, ended.stderr
    assert mounts() == []
    # what is on it now counts as any other file system
    again = run_app(
        str(node), tmp_path / "..", "true", options=(*confirmed, "--out", str(tmp_path / "again"))
    )
    assert again.exit_code == RefusedError.exit_code
    assert _error(again, node) == golden
    erasing = (*confirmed, "--erase-signatures", "--out", str(tmp_path / "again"))
    assert run_app(str(node), tmp_path, "true", options=erasing).exit_code == 0
    assert run("blkid", "-o", "value", "-s", "TYPE", node) == "ext4"


def test_a_mounted_drive_is_refused(
    attach: Callable[..., Path],
    run: Callable[..., str],
    mount: Callable[..., Path],
    tmp_path: Path,
    golden: Golden,
) -> None:
    node = attach(size_bytes=64 * _MIB)
    run("mkfs.ext4", "-q", node)
    mount(node)
    options = ("--confirm-device-path", str(node), "--erase-signatures")
    ended = run_app(str(node), tmp_path, "true", options=options)
    assert ended.exit_code == RefusedError.exit_code
    assert _error(ended, node) == golden


def test_a_program_may_have_the_raw_drive(file: str, tmp_path: Path) -> None:
    words = ("dd", "if=/dev/zero", "of={device}", "bs=1M", "count=16", "oflag=direct")
    ended = run_app(file, tmp_path, *words, options=("--file-system", "none"))
    assert ended.exit_code == 0, ended.stderr
    (warm,) = runs_of(tmp_path, RunKind.WARM)
    assert warm.until_exit.written_bytes == 16 * _MIB
    assert warm.until_exit.writes >= 1
    assert read_run(tmp_path / "run").manifest.file_systems[0].directory == ""


def test_a_command_that_fails_leaves_nothing_mounted(file: str, tmp_path: Path) -> None:
    assert run_app(file, tmp_path, "false").exit_code == RunFailedError.exit_code


def test_a_level_that_leaves_no_room_is_refused(file: str, tmp_path: Path) -> None:
    ended = run_app(file, tmp_path, "true", options=("--fill-level", "95"))
    assert ended.exit_code == TargetError.exit_code
    assert "choose a lower --fill-level" in ended.stderr


def _killed_in_its_command(file: str, tmp_path: Path) -> str:
    """A run that was killed while its command ran, in several processes; the mark of these."""
    mark = f"7{os.getpid()}.{time.time_ns() % 1_000_000}"
    words = ("sh", "-c", f"setsid sleep {mark} & sleep {mark}; true")
    process = start_openpts(
        "run", "app", file, "--out", str(tmp_path / "run"), "--no-report", "--", *words, cwd=tmp_path
    )
    until(lambda: len(living(mark)) == 2)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert len(mounts()) == 1
    assert len(loops_over(tmp_path / "drive")) == 1
    return mark


def test_what_a_killed_run_left_mounted_is_undone_by_the_next(file: str, tmp_path: Path) -> None:
    mark = _killed_in_its_command(file, tmp_path)
    options = ("--out", str(tmp_path / "next"), "--overwrite-file")
    ended = run_app(f"file:{tmp_path / 'drive'}", tmp_path, "true", options=options)
    assert ended.exit_code == 0, ended.stderr
    assert "is unmounted: an interrupted run of" in ended.stdout
    assert living(mark) == []


@pytest.mark.slow
def test_what_a_killed_run_left_mounted_is_undone_when_asked(file: str, tmp_path: Path) -> None:
    mark = _killed_in_its_command(file, tmp_path)
    restored = openpts("doctor", "--restore", cwd=tmp_path)
    assert "is unmounted: an interrupted run of" in restored.stdout
    assert living(mark) == []


@pytest.mark.slow
def test_a_killed_run_is_resumed_on_a_new_file_system(file: str, tmp_path: Path) -> None:
    count = "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n"
    script = f"{count}; test $n != 3 || kill -9 $PPID; sleep 0.2"
    ended = run_app(file, tmp_path, "sh", "-c", script, options=("--cold-runs", "1"))
    assert ended.exit_code == -signal.SIGKILL
    resumed = openpts("resume", str(tmp_path / "run"), "--overwrite-file", "--no-report", cwd=tmp_path)
    assert resumed.exit_code == 0, resumed.stderr
    manifest = read_run(tmp_path / "run").manifest
    names = [(one.name, one.attempt) for one in manifest.command_runs]
    assert names == [
        ("conditioning run 1", 1),
        ("cold run 1", 1),
        ("conditioning run 1", 2),
        ("warm run 1", 2),
    ]
    assert len(manifest.file_systems) == 2
    assert openpts("report", str(tmp_path / "run"), cwd=tmp_path).exit_code == 0
