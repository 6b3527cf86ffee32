"""Drive cycles on a file: what is written can be found there, and what is changed behind is noticed."""

import os
import struct
import time
from contextlib import suppress
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.sample import Phase, StepState
from tests.support.openpts_process import openpts, start_openpts
from tests.support.transcript import Golden

SIZE_BYTES = 32 * 2**20
SECTOR_BYTES = 512


def test_after_three_cycles_each_sector_is_of_the_third(tmp_path: Path) -> None:
    words = ("file:./x?size=32MiB", "--cycles", "3", "--no-report", "--out", "run", "--json")
    ended = openpts("run", "lifetime", *words, cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    assert ended.json["ended_by"] == "3 cycles, as asked for"
    assert (ended.json["whole_cycles"], ended.json["io_errors"], ended.json["compared"]) == (3, 0, True)
    content = (tmp_path / "x").read_bytes()
    assert len(content) == SIZE_BYTES
    for lba, at in enumerate(range(0, SIZE_BYTES, SECTOR_BYTES)):
        assert struct.unpack_from("<QQ", content, at + 16) == (lba, 3)
    cycles = read_run(tmp_path / "run").phase(Phase.DRIVE_CYCLE)
    assert [(step.sample.write.bytes, step.sample.read.bytes) for step in cycles] == [
        (SIZE_BYTES, 0),
        (0, SIZE_BYTES),
    ] * 3


def test_data_that_changed_ends_it_and_is_the_result(tmp_path: Path) -> None:
    """HYP-LIFE-02: a sector is overwritten from outside again and again, until a read finds it so."""
    path = tmp_path / "x"
    with start_openpts(
        *("run", "lifetime", "file:./x?size=32MiB", "--cycles", "500"),
        *("--out", "run", "--no-report"),
        cwd=tmp_path,
    ) as process:
        # not earlier: a file that another process has open is refused
        while process.poll() is None and not (path.exists() and path.stat().st_size == SIZE_BYTES):
            time.sleep(0.001)
        target = os.open(path, os.O_RDWR)
        while process.poll() is None:
            os.pwrite(target, b"\xff" * SECTOR_BYTES, 1000 * SECTOR_BYTES)
            with suppress(OSError):  # the kernel's, where a direct write of the run met our dirty page
                os.fsync(target)
            time.sleep(0.002)
        os.close(target)
        _, complaints = process.communicate()
    assert process.returncode == 0, complaints
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.COMPLETE
    (finished,) = run.manifest.cycles
    assert finished.outcome.ended_by.startswith("first failed read in cycle ")
    last = run.steps[-1].sample
    assert last.state is StepState.FAILED
    assert last.failure is not None
    first = last.failure.offset_bytes // SECTOR_BYTES
    assert first <= 1000 < first + last.failure.length_bytes // SECTOR_BYTES


@pytest.mark.needs("files")
def test_what_was_written_is_read_by_the_run_that_continues(tmp_path: Path) -> None:
    """Sectors that changed while nothing ran are found and counted, and life goes on."""
    options = ("--overwrite-file", "--no-report", "--json", "--cycles")
    words = ("run", "lifetime", "file:./x?size=32MiB", *options)
    assert openpts(*words, "2", "--out", "first", cwd=tmp_path).exit_code == 0
    with (tmp_path / "x").open("r+b") as target:
        for lba in (1000, 40_000):
            target.seek(lba * SECTOR_BYTES)
            target.write(b"\xff" * SECTOR_BYTES)
    strict = openpts(*words, "1", "--continue", "first", "--out", "strict", cwd=tmp_path)
    assert strict.exit_code == 0, strict.stderr
    assert strict.json["ended_by"].startswith("first failed read of what cycle 2 wrote: LBA 1000: no header")
    assert strict.json["cycles"] == []
    going_on = ("--stop-on", "failed-write", "--continue", "first", "--out", "second")
    patient = openpts(*words, "1", *going_on, cwd=tmp_path)
    assert patient.exit_code == 0, patient.stderr
    at_once, later = patient.json["read_back"]
    assert (at_once["errors"], later["errors"], patient.json["io_errors"]) == (0, 2, 2)
    assert at_once["age_ns"] < later["age_ns"] < 600 * 10**9
    assert [(cycle["number"], cycle["complete"]) for cycle in patient.json["cycles"]] == [(3, True)]
    run = read_run(tmp_path / "second")
    assert run.manifest.purges == ()
    (errors,) = [error for step in run.steps for error in step.sample.errors]
    assert errors.reason == "no header, the sector is not one that was written"
    block = 128 * 1024
    assert errors.first_offsets_bytes == tuple(lba * SECTOR_BYTES // block * block for lba in (1000, 40_000))
    content = (tmp_path / "x").read_bytes()
    assert {struct.unpack_from("<QQ", content, at + 16)[1] for at in range(0, SIZE_BYTES, SECTOR_BYTES)} == {
        3
    }


@pytest.mark.slow
@pytest.mark.needs("files")
def test_another_file_size_is_refused(tmp_path: Path, golden: Golden) -> None:
    words = ("run", "lifetime", "--no-report", "--cycles", "1", "--overwrite-file")
    assert openpts(*words, "file:./x?size=32MiB", "--out", "first", cwd=tmp_path).exit_code == 0
    refused = openpts(*words, "file:./y?size=16MiB", "--continue", "first", "--out", "second", cwd=tmp_path)
    assert refused.exit_code == 3
    assert refused.complaint == golden
    rested = openpts(
        *words,
        "file:./x?size=32MiB",
        "--continue",
        "first",
        "--rest-days",
        "1",
        "--out",
        "second",
        cwd=tmp_path,
    )
    assert rested.complaint == golden
