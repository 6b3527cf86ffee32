"""Parts of a report are the same whoever makes them, and a process that fails says what the reader would."""

import os
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path

import msgspec
import pytest

from openpts.errors import RecordError
from openpts.report import part_reader
from openpts.report.part_reader import read_parts
from openpts.report.run_part import RunPart, in_order, part_of
from openpts.report.tests import read_for_report
from tests.support.made_up_run import made_up_run
from tests.support.report_cases import Reports

DATE = "2026-11-21T08:00:00Z"
CASES = ("steady", "failed", "hostile", "simulated", "nothing")


def read(folders: list[Path], monkeypatch: pytest.MonkeyPatch, processes: int) -> list[RunPart]:
    """The tests themselves have threads, so that the count is given."""
    monkeypatch.setattr(part_reader, "_process_count", lambda _folders: processes)
    heard: list[RunPart] = []
    parts = read_parts(folders, DATE, heard.append)
    assert sorted(heard, key=lambda part: part.folder) == sorted(parts, key=lambda part: part.folder)
    return parts


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_parts_are_the_same_from_any_number_of_processes(
    reports: Reports, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    folders = [reports.folder(case) for case in CASES]
    expected = [part_of(read_for_report(folder), DATE) for folder in folders]
    found = read(folders, monkeypatch, processes)
    assert found == expected
    # 5 and 5.0 are equal, and other bytes
    alone = read(folders, monkeypatch, 1)
    assert msgspec.json.encode(found) == msgspec.json.encode(alone)


@pytest.mark.parametrize("test", ["wsat", "hir", "cbw", "entropy", "lifetime"])
def test_a_part_survives_the_way_between_processes(test: str) -> None:
    part = part_of(made_up_run(test), DATE)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(part), type=RunPart) == part


def test_a_record_that_can_t_be_read_is_told_from_the_other_process(
    reports: Reports, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / os.fsdecode(b"broken\xff")
    broken.mkdir()
    (broken / "run.db").write_bytes(b"no database")
    with pytest.raises(RecordError, match="broken"):
        read([reports.folder("steady"), broken], monkeypatch, 2)
    receiving, sending = Pipe(duplex=False)
    part_reader._send_parts([broken], DATE, sending)
    sending.close()
    with pytest.raises(RecordError, match="broken"):
        part_reader._received(receiving)


def test_after_a_failure_nobody_begins_another_record(reports: Reports, tmp_path: Path) -> None:
    turns = part_reader._Turns([reports.folder("steady"), tmp_path, tmp_path])
    assert next(iter(turns)) == reports.folder("steady")
    with pytest.raises(RecordError, match="this one"), part_reader._elsewhere(0, turns, DATE):
        raise RecordError("this one")
    with pytest.raises(OSError, match="descriptor"):
        next(iter(turns))


def test_a_process_that_dies_is_no_empty_report(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_reader, "_send_parts", lambda *_arguments: os._exit(3))
    with pytest.raises(RecordError, match="ended by itself"):
        read([reports.folder("steady"), reports.folder("failed")], monkeypatch, 2)


def test_the_largest_records_are_read_first_and_each_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, size in (("a", 50), ("b", 40), ("c", 30), ("d", 20), ("e", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.db").write_bytes(bytes(size))
    taken: list[str] = []
    any_part = part_of(made_up_run("lat"), DATE)

    def part(folder: Path, _date: str) -> RunPart:
        taken.append(folder.name)
        return msgspec.structs.replace(any_part, path=bytes(folder))

    monkeypatch.setattr(part_reader, "read_for_report", lambda folder: folder)
    monkeypatch.setattr(part_reader, "part_of", part)
    parts = read([tmp_path / name for name in "edcba"], monkeypatch, 1)
    assert taken == list("abcde")
    assert [part.folder.name for part in parts] == list("edcba")


def test_several_processes_are_used_where_there_are_processors() -> None:
    """In a process of its own: this one has threads of the test runner."""
    script = (
        "import os; from openpts.report.part_reader import _process_count; "
        "print(min(len(os.sched_getaffinity(0)), 4), _process_count(8), _process_count(1))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    processors, several, one = map(int, done.stdout.split())
    assert (several, one) == (processors, 1)


def test_parts_stand_in_order_whatever_order_they_came_in() -> None:
    parts = [part_of(made_up_run(test), DATE) for test in ("entropy", "xsr", "iops")]
    assert [part.name for part in in_order(parts)] == ["IOPS", "XSR", "ENTROPY"]
