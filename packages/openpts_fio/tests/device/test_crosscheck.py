"""`openpts crosscheck` as its user starts it, with the real fio."""

import math
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.errors import EngineUnavailableError
from openpts.units import MIB
from openpts_fio.engine.engine import find_fio
from tests.support.openpts_process import openpts, start_openpts
from tests.support.transcript import Golden

SHORT = ("--seconds", "0.2", "--ramp", "0", "--repeats", "2")
FIGURES = ("iops", "mean_latency_ns")


@pytest.fixture(scope="module")
def fio() -> None:
    try:
        find_fio()
    except EngineUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(16 * MIB))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("fio")
def test_reads_are_compared_and_change_nothing(file: Path) -> None:
    before, status = file.read_bytes(), file.stat()
    ended = openpts("crosscheck", f"file:{file}", *SHORT, "--json", cwd=file.parent)
    assert ended.exit_code == 0, ended.stderr
    result = ended.json
    assert [stimulus["name"] for stimulus in result["stimuli"]] == [
        "random-read-4k-qd1",
        "random-read-4k-qd1-pinned",
        "random-read-4k-qd32",
        "sequential-read-128k-qd32",
    ]
    for stimulus in result["stimuli"]:
        for figure in (stimulus[name] for name in FIGURES):
            assert figure["pairs"] == 2
            ratio = 1 + figure["difference_pct"] / 100
            assert ratio == pytest.approx(figure["native"] / figure["fio"])
            assert figure["low_pct"] < figure["difference_pct"] < figure["high_pct"]
            assert figure["agrees"] in {"yes", "no", "undecided"}
            # both work, and neither is off by a unit: more can't be said of a busy machine
            assert abs(math.log10(ratio)) < 1.5
    assert result["engines"]["native"]["io_path"]
    assert result["engines"]["fio"]["engine"].startswith("fio-")
    assert file.read_bytes() == before
    assert file.stat().st_mtime_ns == status.st_mtime_ns


@pytest.mark.usefixtures("fio")
def test_the_table_names_the_paths_and_judges(file: Path) -> None:
    one = ("--stimulus", "random-read-4k-qd1", "--io-path", "sync", "--limit", "99.9")
    ended = openpts("crosscheck", f"file:{file}", *SHORT, *one, cwd=file.parent)
    assert ended.exit_code == 0, ended.stderr
    assert "native    by sync" in ended.stdout
    assert "by psync" in ended.stdout
    assert "agrees within 99.9 %" in ended.stdout
    assert ended.stdout.count("random-read-4k-qd1") == 3


@pytest.mark.usefixtures("fio")
@pytest.mark.slow
@pytest.mark.needs("files")
def test_writes_need_consent(file: Path, golden: Golden) -> None:
    before = file.read_bytes()
    write = ("--stimulus", "random-write-4k-qd32")
    refused = openpts("crosscheck", f"file:{file}", *SHORT, *write, cwd=file.parent)
    assert refused.exit_code == 4
    assert refused.complaint == golden
    assert file.read_bytes() == before
    taken = openpts(
        "crosscheck", f"file:{file}", *SHORT, *write, "--overwrite-file", "--json", cwd=file.parent
    )
    assert taken.exit_code == 0, taken.stderr
    assert file.read_bytes() != before


@pytest.mark.usefixtures("fio")
@pytest.mark.slow
def test_a_drive_in_use_may_be_read_and_one_claimed_be_written(
    attach: Callable[..., Path], tmp_path: Path
) -> None:
    node = attach(size_bytes=16 * MIB)
    claim = os.open(node, os.O_RDONLY | os.O_EXCL)
    try:
        one = ("--stimulus", "random-read-4k-qd1")  # the others are read in tests of their own
        read = openpts("crosscheck", str(node), *SHORT, *one, "--json", cwd=tmp_path)
        assert read.exit_code == 0, read.stderr
        refused = openpts("crosscheck", str(node), *SHORT, "--writes", cwd=tmp_path)
        assert refused.exit_code == 4
    finally:
        os.close(claim)
    consent = ("--writes", "--confirm-device-path", str(node))
    written = openpts("crosscheck", str(node), *SHORT, *consent, "--json", cwd=tmp_path)
    assert written.exit_code == 0, written.stderr
    assert len(written.json["stimuli"]) == 7
    (pinned,) = [note for note in written.json["notes"] if note.startswith("pinned stimuli")]
    assert int(pinned.rpartition(" ")[2]) in os.sched_getaffinity(0)
    (threads,) = [note for note in written.json["notes"] if note.startswith("threads of the kernel")]
    assert f"{node.name}: loop driver" in threads


def test_without_fio_it_says_how_to_get_it(file: Path, tmp_path: Path, golden: Golden) -> None:
    env = shutil.which("env")
    assert env is not None
    ended = openpts("crosscheck", f"file:{file}", cwd=tmp_path, prefix=(env, f"PATH={tmp_path}"))
    assert ended.exit_code == 5
    assert ended.complaint == golden


@pytest.mark.usefixtures("fio")
@pytest.mark.needs("files")
def test_nothing_is_written_any_more_when_it_was_stopped(file: Path) -> None:
    write = ("--stimulus", "sequential-write-128k-qd32", "--overwrite-file", "--seconds", "60")
    process = start_openpts("crosscheck", f"file:{file}", *write, cwd=file.parent)
    before = file.read_bytes()
    give_up_s = time.monotonic() + 60
    while file.read_bytes() == before:  # the native engine begins
        assert time.monotonic() < give_up_s
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    after = file.read_bytes()
    assert after != before
    time.sleep(0.5)
    assert file.read_bytes() == after
