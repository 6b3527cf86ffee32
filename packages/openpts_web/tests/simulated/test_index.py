"""What the index notices: runs that come, change, go on, end and go."""

import gc
import os
import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed, new_run_id
from openpts.record.batch import write_batch
from openpts.system_files import SystemRoots
from openpts_web import documents
from openpts_web import index as index_module
from openpts_web.documents import RunSummary
from openpts_web.index import Index
from openpts_web.queries import Filter, grouped, run_list, trend
from tests.support.batches import suite_entry, suite_of
from tests.support.library_runs import change_record, copied_run
from tests.support.limited_runs import invoke


@pytest.fixture
def runs(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(index_module, "_LOOK_AGAIN_S", 0.0)
    shutil.copytree(library / "tlc-2", tmp_path / "runs" / "first")
    return tmp_path / "runs"


def index_of(place: Path, **words: Any) -> Index:
    index = Index([str(place)], place.parent / "index.db")
    index.refresh()
    return index


def listed(index: Index, **words: str) -> dict[str, RunSummary]:
    index.wait()
    return {Path(one.place).name: one for one in run_list(index, Filter(**words)).runs}


def test_no_connection_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that ask in turn share one; those of an index that is gone are closed."""
    made: list[sqlite3.Connection] = []

    def connect(*args: Any, **words: Any) -> sqlite3.Connection:
        made.append(sqlite3.Connection(*args, **words))
        return made[-1]

    index = index_of(tmp_path)
    monkeypatch.setattr(sqlite3, "connect", connect)
    for _ in range(9):
        asking = threading.Thread(target=index.rows, args=("SELECT count(*) FROM run",))
        asking.start()
        asking.join()
    (connection,) = made
    assert connection.execute("SELECT 1").fetchone() == (1,)
    del index
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.slow
def test_a_run_is_read_once_and_again_when_it_has_changed(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    page_of_folder = index_module.page_of_folder
    monkeypatch.setattr(
        index_module, "page_of_folder", lambda folder: read.append(folder.name) or page_of_folder(folder)
    )
    index = index_of(runs)
    assert listed(index).keys() == {"first"}
    listed(index)
    assert listed(index_of(runs)).keys() == {"first"}
    assert read == ["first"]
    change_record(
        runs / "first", lambda sections: {"dut": sections["dut"] | {"model": {"value": "X9", "source": ""}}}
    )
    assert listed(index)["first"].model == "X9"
    assert read == ["first"] * 2
    assert listed(index, model="enterprise-tlc") == {}


def test_runs_come_and_go(runs: Path) -> None:
    index = index_of(runs)
    copied_run(runs / "first", runs / "suite" / "2-lat", test_id="second")
    assert listed(index).keys() == {"first", "2-lat"}
    assert listed(index, q="second").keys() == {"2-lat"}
    shutil.rmtree(runs / "suite")
    assert listed(index).keys() == {"first"}
    assert listed(index, q="second") == {}
    assert len(trend(index, Filter(test="lat"), "rnd_4_kib_rw0.art", "").points) == 1


def test_many_new_runs_are_read_while_the_library_answers(runs: Path) -> None:
    for number in range(12):
        copied_run(runs / "first", runs / f"more-{number}", test_id=f"run {number}")
    index = Index([str(runs)], runs.parent / "index.db")
    index.refresh()
    first = run_list(index, Filter())
    assert first.count + first.unread == 13
    index.wait()
    assert run_list(index, Filter()).count == 13
    assert index.unread == 0


def test_a_run_in_progress_is_one_as_long_as_a_process_works_on_it(runs: Path) -> None:
    folder = copied_run(runs / "first", runs / "now", test_id="now", state="running", ended_at=None)
    owner = RunOwner.this_process(new_run_id(), "sim:x", (), SystemRoots())
    with folder_claimed(folder, owner):
        index = index_of(runs)
        assert listed(index)["now"].in_progress
        page = index.page(listed(index)["now"].id)
        assert page is not None
        assert page.figures == ()  # a record that is being written is not read
    ended = listed(index)["now"]
    assert not ended.in_progress
    assert ended.is_cut_off
    page = index.page(ended.id)
    assert page is not None
    assert page.figures
    assert (folder / CLAIM_NAME).exists()


def test_an_index_of_another_version_is_made_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert listed(index_of(runs)).keys() == {"first"}
    monkeypatch.setattr(index_module, "version", lambda _: "another")
    index = Index([str(runs)], runs.parent / "index.db")
    assert run_list(index, Filter()).count == 0
    assert listed(index).keys() == {"first"}


def test_one_run_that_is_nonsense_leaves_the_others_readable(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied_run(runs / "first", runs / "odd", test_id="odd")
    copied_run(runs / "first", runs / "no\ntext", test_id="no text")
    (runs / os.fsdecode(b"\xff")).symlink_to(runs / "first")
    read = documents.read_for_report

    def failing(folder: Path) -> Any:
        if folder.name == "odd":
            raise ZeroDivisionError("a rate of a step without time")
        return read(folder)

    monkeypatch.setattr(documents, "read_for_report", failing)
    found = listed(index_of(runs))
    assert found.keys() == {"first", "odd"}
    assert found["odd"].state == "unreadable"
    assert found["odd"].reason == "a rate of a step without time"


def test_a_changed_run_is_seen_within_a_second(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    index = index_of(runs)
    copied_run(runs / "first", runs / "new", test_id="new")
    begun = time.monotonic()
    while "new" not in listed(index):
        time.sleep(0.05)
    assert time.monotonic() - begun < 5.0  # one second where nothing else runs: benches/web_library.py


def test_a_suite_is_one_row_of_its_tests_and_runs_are_newest_first(runs: Path) -> None:
    """The suite has its place by its last test; its tests are in the order in which they ran."""
    dates = {"1-iops": 1, "2-lat": 5, "alone-early": 2, "alone-late": 9, "alone": 4}
    for name, day in dates.items():
        place = runs / "suite" / name if name[0].isdigit() else runs / name
        copied_run(runs / "first", place, test_id=name, started_at=f"2026-02-0{day}T00:00:00+00:00")
    shutil.rmtree(runs / "first")
    write_batch(runs / "suite", suite_of(suite_entry("lat", "1-iops"), suite_entry("lat", "2-lat")))
    index = index_of(runs)
    index.wait()

    def rows(**words: str) -> list[list[str]]:
        return [
            [Path(one.place).name for one in row] for row in grouped(run_list(index, Filter(**words)).runs)
        ]

    assert rows() == [["alone-late"], ["1-iops", "2-lat"], ["alone"], ["alone-early"]]
    assert rows(order="up") == [["1-iops", "2-lat"], ["alone-early"], ["alone"], ["alone-late"]]
    assert rows(until="2026-02-02") == [["alone-early"], ["1-iops"]]
    assert Filter(until="2026-02-02", q="x", sort="test").narrowed == 1


def test_a_question_has_its_answer_in_the_list(tmp_path: Path) -> None:
    """The word that `openpts check` ends with, by its exit code, and what was asked."""
    words = ("--minutes", 0.1, "--size", "64MB", "--no-report", "--out", tmp_path / "runs" / "asked")
    error, said = invoke("check", "sim:client-qlc?capacity=64GB", "--for", "commit", *words)
    assert error is None, said
    (found,) = listed(index_of(tmp_path / "runs")).values()
    assert found.answer == "YES: Are commits of a database or of etcd durable fast enough on this disk?"
