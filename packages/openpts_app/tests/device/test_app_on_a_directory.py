"""Programs as benchmarks of the drive below a directory: what reached it, how they end."""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from openpts.errors import RunFailedError, TargetError, UsageError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.vocabulary.command_run import RunKind
from tests.support.app_runs import living, run_app, runs_of
from tests.support.openpts_process import FIGURES, openpts, start_openpts
from tests.support.processes import until

_MIB = 1 << 20
_FILE_BYTES = 32 * _MIB
_READ = "cat {dir}/data > /dev/null"
_BURN = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
_DIRECT = (
    "import mmap, os, time; end = time.monotonic() + 1\n"
    "block = mmap.mmap(-1, 1 << 20)\n"
    "fd = os.open('direct', os.O_WRONLY | os.O_CREAT | os.O_DIRECT)\n"
    "while time.monotonic() < end: os.pwrite(fd, block, 0)"
)

_INTERRUPTED_AT_START = """
import os, signal
from openpts.cli.main import main
from openpts_app.drivers.commands import command_process

class Interrupting:
    def __getattr__(self, name):
        if name == "set_blocking":
            command_process.os = os
            signal.raise_signal(signal.SIGINT)
        return getattr(os, name)

command_process.os = Interrupting()
main()
"""
"""The first thing that is done to the command, once it runs, comes with Ctrl-C."""


@pytest.fixture
def directory(attach: Callable[..., Path], run: Callable[..., str], mount: Callable[..., Path]) -> Path:
    """An empty ext4 file system on a loop device of its own."""
    node = attach("--direct-io=on", size_bytes=256 * _MIB)
    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", node)
    return mount(node)


def page_cache_emptied() -> int:
    """How many times on this machine."""
    return int(dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())["drop_pagecache"])


@pytest.mark.proves("SOL-BMK-01", "SOL-BMK-02", "SOL-GEN-05", "SOL-GEN-06")
def test_a_cold_run_reads_the_drive_and_a_warm_run_memory(directory: Path, tmp_path: Path) -> None:
    (directory / "data").write_bytes(os.urandom(_FILE_BYTES))
    # other tests empty the page cache, too
    for others in range(5):
        tmp_path /= str(others)
        tmp_path.mkdir()
        before = page_cache_emptied()
        ended = run_app(directory, tmp_path, "sh", "-c", _READ, options=("--cold-runs", "1"))
        if page_cache_emptied() == before + 1:
            break
    assert ended.exit_code == 0, ended.stderr
    (conditioning,) = runs_of(tmp_path, RunKind.CONDITIONING)
    (cold,) = runs_of(tmp_path, RunKind.COLD)
    warm = runs_of(tmp_path, RunKind.WARM)
    assert cold.cold
    # of what others crowd out of memory meanwhile, some is read again
    assert _FILE_BYTES <= cold.until_exit.read_bytes <= 1.25 * _FILE_BYTES
    assert cold.process_read_bytes is not None
    assert _FILE_BYTES <= cold.process_read_bytes <= 1.5 * _FILE_BYTES  # the programs themselves, too
    assert len(warm) == 3
    assert all(one.until_exit.read_bytes < 0.1 * _FILE_BYTES for one in warm)
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.target.name.startswith("loop")
    assert manifest.file_systems[0].type == "ext4"
    assert manifest.file_systems[0].made_by == ""
    assert [one.rule_id for one in read_run(tmp_path / "run").ledger if one.rule_id == "SOL-GEN-06"] == []
    assert conditioning.number == 1
    assert manifest.file_systems[0].trim.startswith("not done: ")


def test_what_is_written_directly_is_what_reaches_the_drive(directory: Path, tmp_path: Path) -> None:
    words = ("dd", "if=/dev/zero", "of=x", "bs=1M", "count=24", "oflag=direct", "conv=notrunc")
    assert run_app(directory, tmp_path, *words).exit_code == 0
    for one in runs_of(tmp_path, RunKind.WARM):
        assert 24 * _MIB <= one.until_exit.written_bytes <= 24 * _MIB + _MIB // 4
        assert one.process_written_bytes is not None
        assert one.process_written_bytes >= 24 * _MIB
    assert "24+0 records out" in (tmp_path / "run/output/02-warm-1.err").read_text()


def test_what_is_left_in_memory_is_written_back_and_counted(directory: Path, tmp_path: Path) -> None:
    words = ("dd", "if=/dev/zero", "of=x", "bs=1M", "count=24", "conv=notrunc")
    assert run_app(directory, tmp_path, *words).exit_code == 0
    for one in runs_of(tmp_path, RunKind.WARM):
        assert one.until_exit.written_bytes + one.synced.written_bytes >= 24 * _MIB
        assert one.sync_ns > 0


def test_a_list_has_a_score_each_and_their_mean(directory: Path, tmp_path: Path) -> None:
    """Programs that wait for a known time, cold and warm: an hour has that many runs."""
    applications = {"short": "0.1", "long": "0.4"}
    table = '[[application]]\nname = "{}"\ncommand = ["sleep", "{}"]\n'
    (tmp_path / "apps.toml").write_text("".join(table.format(*one) for one in applications.items()))
    options = ("--until-rse", "0", "--warm-runs", "1", "--settle-seconds", "0.1", "--no-report", "--json")
    words = ("--applications", "apps.toml", "--out", "run", *options)
    ended = openpts("run", "app", str(directory), *words, cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    figures = ended.json
    for kind in ("warm", "cold"):
        most = {name: 3600 / float(seconds) for name, seconds in applications.items()}
        for name, one in figures["applications"].items():
            assert 0.5 * most[name] < one["scores"][kind] < most[name]
        scores = [one["scores"][kind] for one in figures["applications"].values()]
        assert figures["scores"][kind] == pytest.approx(statistics.geometric_mean(scores))
    assert [one.application for one in runs_of(tmp_path, RunKind.COLD)] == list(applications)
    run = read_run(tmp_path / "run")
    assert "Scores of the Applications" in [
        page.title for page in build_report(run, default_date(run)).pages()
    ]
    of_first, of_second = (
        [one for one in run.manifest.command_runs if one.application == name] for name in applications
    )
    began, rested = (datetime.fromisoformat(one.started_at) for one in (of_first[-1], of_second[0]))
    assert (rested - began).total_seconds() > of_first[-1].elapsed_ns / 1e9 + 0.1


def test_all_programs_of_a_list_are_looked_for_before_the_first_runs(directory: Path, tmp_path: Path) -> None:
    table = '[[application]]\nname = "{0}"\ncommand = ["{0}"]\n'
    (tmp_path / "apps.toml").write_text(table.format("true") + table.format("no-such-program"))
    ended = openpts("run", "app", str(directory), "--applications", "apps.toml", "--out", "run", cwd=tmp_path)
    assert ended.exit_code == UsageError.exit_code
    assert "command no-such-program not found" in ended.stderr


@pytest.mark.slow
def test_a_program_is_cpu_bound_or_drive_bound(directory: Path, tmp_path: Path) -> None:
    found = {}
    for name, code in (("burn", _BURN), ("direct", _DIRECT)):
        folder = tmp_path / name
        folder.mkdir()
        options = ("--warm-runs", "1", "--cold-runs", "0")
        ended = openpts(
            "run", "app", str(directory), "--out", str(folder / "run"), "--until-rse", "0", *options,
            "--json", "--", "/usr/bin/env", "python3", "-c", code, cwd=folder,
        )  # fmt: skip
        assert ended.exit_code == 0, ended.stderr
        (found[name],) = [one for one in ended.json["runs"] if one["kind"] == "warm"]
    # on a busy machine others may have the processor while it waits for it
    assert found["burn"]["bound"] == "CPU-bound" or found["burn"]["cpu_stall_pct"] > 20
    assert found["burn"]["busy_pct"] < 10
    direct = found["direct"]
    is_seen = direct["bound"] == "drive-bound" and direct["busy_pct"] > direct["cpu_pct"]
    assert is_seen or direct["cpu_stall_pct"] > 20, direct
    (burn,) = runs_of(tmp_path / "burn", RunKind.WARM)
    assert 0.4e9 <= burn.user_ns + burn.system_ns <= burn.elapsed_ns * 1.1


@pytest.mark.proves("SOL-STAT-01", "SOL-STAT-04")
def test_the_report_has_the_median_and_the_spread_of_what_was_measured(
    directory: Path, tmp_path: Path
) -> None:
    figure = ("--figure", r"value=value ([0-9]+):points", "--figure-better", "higher")
    script = "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; echo value $((100 + n * n))"
    ended = openpts(
        "run", "app", str(directory), "--out", str(tmp_path / "run"), "--json", "--until-rse", "0", *figure,
        "--warm-runs", "5", "--cold-runs", "0", "--no-report", "--", "sh", "-c", script, cwd=tmp_path,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    results = ended.json
    # the conditioning run is the first
    values = [100 + n * n for n in range(2, 7)]
    assert results["warm_figure"]["values"] == values
    assert results["warm_figure"]["median"] == statistics.median(values)
    expected_pct = 100 * statistics.stdev(values) / statistics.fmean(values) / len(values) ** 0.5
    assert results["warm_figure"]["rse_pct"] == pytest.approx(expected_pct)
    times = [one.elapsed_ns / 1e9 for one in runs_of(tmp_path, RunKind.WARM)]
    assert results["warm_seconds"]["median"] == statistics.median(times)
    assert openpts("report", str(tmp_path / "run"), *FIGURES, cwd=tmp_path).exit_code == 0
    assert openpts("verify", str(tmp_path / "run"), cwd=tmp_path).exit_code == 0
    (tmp_path / "run/output/01-conditioning-1.out").write_text("other\n")
    verified = openpts("verify", str(tmp_path / "run"), cwd=tmp_path)
    assert verified.exit_code != 0
    assert "output/01-conditioning-1.out was changed" in verified.stdout + verified.stderr


@pytest.mark.proves("SOL-STAT-05", "SOL-STAT-06")
@pytest.mark.slow
def test_runs_that_lie_apart_are_more_until_they_are_discarded(directory: Path, tmp_path: Path) -> None:
    script = "n=$(cat n 2>/dev/null || echo 1); echo $((n * 2)) > n; echo $n"
    figure = ("--figure", "n=([0-9]+)", "--figure-better", "lower")
    ended = openpts(
        "run", "app", str(directory), "--out", str(tmp_path / "run"), *figure, "--", "sh", "-c", script,
        cwd=tmp_path,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    assert len(runs_of(tmp_path, RunKind.WARM)) == 7
    ledger = read_run(tmp_path / "run").ledger
    assert [one.used for one in ledger if one.rule_id == "SOL-STAT-06" and one.used.startswith("n:")]


def test_a_directory_and_its_device_take_their_places(directory: Path, tmp_path: Path) -> None:
    script = 'pwd; echo {dir} {device} "$OPENPTS_TARGET_DIR" "$OPENPTS_TARGET_DEVICE"'
    assert run_app(directory, tmp_path, "sh", "-c", script).exit_code == 0
    node = read_run(tmp_path / "run").manifest.target.path
    printed = (tmp_path / "run/output/01-conditioning-1.out").read_text()
    assert printed == f"{directory}\n{directory} {node} {directory} {node}\n"
    assert sorted(path.name for path in directory.iterdir()) == ["lost+found"]


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    ("script", "limit_s", "failure"),
    [
        ("echo no disk >&2; exit 3", "60", "ended with exit status 3"),
        ("kill -SEGV $$", "60", "was ended by signal 11"),
        ("sleep 60", "0.4", "did not end within 0.40 s"),
    ],
)
def test_a_command_that_fails_ends_the_run(
    script: str, limit_s: str, failure: str, directory: Path, tmp_path: Path
) -> None:
    ended = run_app(directory, tmp_path, "sh", "-c", script, options=("--limit", limit_s))
    assert ended.exit_code == RunFailedError.exit_code
    record = read_run(tmp_path / "run")
    assert record.manifest.state is RunState.FAILED
    assert [one.failure for one in record.manifest.command_runs] == [failure]
    if "echo" in script:
        assert str(Path("run/output/01-conditioning-1.err")) in ended.stderr
    assert openpts("report", str(tmp_path / "run"), *FIGURES, cwd=tmp_path).exit_code == 0


def test_a_run_that_failed_goes_on_with_the_run_that_did(directory: Path, tmp_path: Path) -> None:
    script = "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; test $n -ne 3 && echo $n"
    assert run_app(directory, tmp_path, "sh", "-c", script).exit_code == RunFailedError.exit_code
    resumed = openpts("resume", str(tmp_path / "run"), "--no-report", cwd=tmp_path)
    assert resumed.exit_code == 0, resumed.stderr
    runs = read_run(tmp_path / "run").manifest.command_runs
    assert [(one.name, one.attempt, one.stands) for one in runs] == [
        ("conditioning run 1", 1, True),
        ("warm run 1", 1, True),
        ("warm run 2", 1, False),
        ("conditioning run 1", 2, True),
        ("warm run 2", 2, True),
        ("warm run 3", 2, True),
    ]
    assert "2 preparations" in "".join(one.used for one in read_run(tmp_path / "run").ledger)
    assert (tmp_path / "run/output/06-warm-3.out").read_text() == "6\n"
    assert openpts("report", str(tmp_path / "run"), *FIGURES, cwd=tmp_path).exit_code == 0


def test_an_interrupt_stops_all_that_the_command_started(directory: Path, tmp_path: Path) -> None:
    mark = f"9{os.getpid()}.{time.time_ns() % 1_000_000}"
    words = ("sh", "-c", f"sleep {mark} & sleep {mark}; true")
    process = start_openpts(
        "run", "app", str(directory), "--out", str(tmp_path / "run"), "--", *words, cwd=tmp_path
    )
    until(lambda: len(living(mark)) == 2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "0 runs of the command are kept" in stderr
    assert living(mark) == []
    record = read_run(tmp_path / "run")
    assert record.manifest.state is RunState.INTERRUPTED
    assert record.manifest.command_runs[0].failure == "was stopped by the operator"


def test_an_interrupt_while_the_command_starts_stops_it(directory: Path, tmp_path: Path) -> None:
    mark = f"7{os.getpid()}.{time.time_ns() % 1_000_000}"
    command = ("run", "app", str(directory), "--out", "run", "--", "sh", "-c", f"sleep {mark}; true")
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AT_START, *command], cwd=tmp_path, check=False, timeout=60
    )
    assert ended.returncode == 130
    assert living(mark) == []


def test_what_a_command_leaves_running_is_ended_and_entered(directory: Path, tmp_path: Path) -> None:
    mark = f"8{os.getpid()}.{time.time_ns() % 1_000_000}"
    ended = run_app(directory, tmp_path, "sh", "-c", f"setsid sleep {mark} > /dev/null 2>&1 &")
    assert ended.exit_code == 0, ended.stderr
    assert living(mark) == []
    assert [one.left_behind for one in runs_of(tmp_path, RunKind.WARM)] == [1, 1, 1]


@pytest.mark.slow
def test_a_long_output_is_kept_from_both_ends(directory: Path, tmp_path: Path) -> None:
    ended = run_app(directory, tmp_path, "seq", "1", "1000000", options=("--warm-runs", "1"))
    assert ended.exit_code == 0, ended.stderr
    (warm,) = runs_of(tmp_path, RunKind.WARM)
    kept = (tmp_path / "run" / warm.outputs[0]).read_bytes()
    whole = b"".join(b"%d\n" % n for n in range(1, 1_000_001))
    assert kept.startswith(whole[:_MIB])
    assert kept.endswith(whole[-_MIB:])
    assert warm.left_out_bytes == len(whole) - 2 * _MIB
    assert f"[{warm.left_out_bytes:,} bytes left out]".encode() in kept


@pytest.mark.slow
def test_without_the_right_to_drop_the_page_cache_the_run_says_so(directory: Path, tmp_path: Path) -> None:
    directory.chmod(0o777)
    out = tmp_path / "run"
    script = 'mount --bind -o ro /proc/sys /proc/sys && exec "$0" "$@"'
    ended = openpts(
        "run", "app", str(directory), "--out", str(out), "--no-report", "--until-rse", "0", "--", "true",
        cwd=tmp_path, prefix=("unshare", "--mount", "sh", "-c", script),
    )  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    (cold,) = runs_of(tmp_path, RunKind.COLD)
    assert not cold.cold
    assert cold.page_cache.startswith("not dropped: ")
    assert [one.rule_id for one in read_run(out).ledger].count("SOL-GEN-06") == 1


@pytest.mark.slow
def test_two_runs_are_compared_as_gain_in_speed(directory: Path, tmp_path: Path) -> None:
    for name, seconds in (("slow", "0.4"), ("fast", "0.2")):
        folder = tmp_path / name
        folder.mkdir()
        assert run_app(directory, folder, "sleep", seconds).exit_code == 0
    compared = openpts(
        "compare", str(tmp_path / "slow/run"), str(tmp_path / "fast/run"), "--json", cwd=tmp_path
    )
    assert compared.exit_code == 0, compared.stderr
    slow, fast = (
        statistics.median(one.elapsed_ns for one in runs_of(tmp_path / name, RunKind.WARM))
        for name in ("slow", "fast")
    )
    found = json.dumps(compared.json)
    delta = re.search(r'"warm_time".*?"delta_pct": ([0-9.]+)', found)
    assert delta is not None, found[:2000]
    assert float(delta[1]) == pytest.approx(100 * (slow / fast - 1))


@pytest.mark.parametrize("place", ["/dev/shm", "/proc"])
def test_a_directory_without_a_drive_below_is_refused(place: str, tmp_path: Path) -> None:
    ended = run_app(place, tmp_path, "true")
    assert ended.exit_code == TargetError.exit_code
    assert not (tmp_path / "run").exists()


@pytest.mark.needs("directory")
def test_a_command_without_dashes_or_program_is_refused(tmp_path: Path) -> None:
    for words in (
        ("run", "app", str(tmp_path), "true"),
        ("run", "app", str(tmp_path), "--", "no-such-program"),
    ):
        ended = openpts(*words, cwd=tmp_path)
        assert ended.exit_code == UsageError.exit_code, words
    assert list(tmp_path.iterdir()) == []
