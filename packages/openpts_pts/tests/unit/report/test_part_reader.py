"""Parts of a report are the same whichever process makes them; one that fails says what the reader would."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from openpts.errors import RecordError
from openpts.report.run_part import in_order, part_of
from openpts.report.sources import read_for_report
from openpts.report.write import RequestedPart, begin_parts, packed, parts_as_made, unpacked_part
from openpts_pages.plots.worker_processes import worker_processes
from tests.support.made_up_run import made_up_run

DATE = "2026-11-21T08:00:00Z"
CASES = ("failed", "hostile", "nothing")
# in a process of its own: this one may have threads, and is not forked then
READ = """
    import os, sys, msgspec
    from pathlib import Path
    from openpts.errors import RecordError
    from openpts_pages.plots.worker_processes import worker_processes
    from openpts.report import write
    make = write.part_of
    def elsewhere(run, date):
        assert os.getpid() != here
        return make(run, date)
    def end(run, date):
        os._exit(3)
    here, write.part_of = os.getpid(), {make}
    folders = [Path(name) for name in sys.argv[1:]]
    try:
        with worker_processes({processes}) as workers:
            wanted = [write.RequestedPart(folder, "2026-11-21T08:00:00Z", None) for folder in folders]
            begun = write.begin_parts(wanted, workers)
            parts = list(write.parts_as_made(begun))
        sys.stdout.buffer.write(msgspec.json.encode(sorted(parts, key=lambda part: part.folder)))
    except RecordError as error:
        print(error)
"""


def wanted(folders: list[Path]) -> list[RequestedPart]:
    return [RequestedPart(folder, DATE, None) for folder in folders]


def read(folders: list[Path], processes: int, *, make: str = "elsewhere") -> bytes:
    script = textwrap.dedent(READ).format(processes=processes, make=make)
    done = subprocess.run([sys.executable, "-c", script, *folders], check=True, stdout=subprocess.PIPE)
    return done.stdout


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_parts_are_the_same_from_any_number_of_processes(reports, processes) -> None:
    folders = [reports.folder(case) for case in CASES]
    expected = sorted(
        (part_of(read_for_report(folder), DATE) for folder in folders), key=lambda part: part.folder
    )
    with worker_processes(1) as workers:
        alone = sorted(parts_as_made(begin_parts(wanted(folders), workers)), key=lambda part: part.folder)
    assert alone == expected
    # 5 and 5.0 are equal, and other bytes
    assert read(folders, processes) == msgspec.json.encode(alone)


@pytest.mark.parametrize("test", ["wsat", "hir", "cbw", "entropy", "lifetime"])
def test_a_part_survives_the_way_between_processes(test) -> None:
    part = part_of(made_up_run(test), DATE)
    assert unpacked_part(packed(part)) == part


def test_a_record_that_can_t_be_read_is_told_from_the_other_process(reports, tmp_path) -> None:
    broken = tmp_path / os.fsdecode(b"broken\xff")
    broken.mkdir()
    (broken / "run.db").write_bytes(b"no database")
    with pytest.raises(RecordError, match="broken") as here:
        RequestedPart(broken, DATE, None).made()
    told = os.fsdecode(read([reports.folder("steady"), broken], 2))
    assert told.strip() == str(here.value)


def test_a_process_that_dies_is_no_empty_report(reports) -> None:
    told = read([reports.folder("steady"), reports.folder("failed")], 2, make="end")
    assert told.decode().strip() == "cannot read the records: a worker process ended early; see its output"


def test_the_largest_records_are_read_first_and_each_once(monkeypatch, tmp_path) -> None:
    for name, size in (("a", 50), ("b", 40), ("c", 30), ("d", 20), ("e", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.db").write_bytes(bytes(size))
    taken: list[str] = []
    monkeypatch.setattr(RequestedPart, "made", lambda part: taken.append(part.folder.name))
    with worker_processes(1) as workers:
        begin_parts(wanted([tmp_path / name for name in "edcba"]), workers)
    assert taken == list("abcde")


def test_parts_stand_in_order_whatever_order_they_came_in() -> None:
    parts = [part_of(made_up_run(test), DATE) for test in ("entropy", "xsr", "iops")]
    assert [part.name for part in in_order(parts)] == ["IOPS", "XSR", "ENTROPY"]
