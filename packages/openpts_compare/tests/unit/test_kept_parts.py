"""Parts of reports are kept under all that they depend on; no report shows whether they were."""

import os
import shutil
from pathlib import Path

import pytest

from openpts.kept_files import KeptKind
from openpts.report import write
from openpts.report.record_files import record_files
from openpts.report.sources import ReportSource
from openpts.report.write import PARTS, ReportOptions, RequestedPart, make_report, part_digest, write_report
from openpts_compare.verification import differences, read_report
from openpts_pages.plots.worker_processes import worker_processes
from tests.support.report_cases import Reports

DATE = "2026-11-21T08:00:00Z"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(write, "part_digest", part_digest)
    return tmp_path / "cache" / "openpts" / "parts"


@pytest.fixture
def folder(reports: Reports, tmp_path) -> Path:
    return shutil.copytree(reports.folder("steady"), tmp_path / "run")


def made(folder: Path) -> bytes:
    with worker_processes(1) as workers:
        report, _, figures = make_report(ReportSource.of([folder]), ReportOptions(), workers)
    return repr((report, figures)).encode()


def digest(folder: Path, date: str = DATE, test: str = "iops") -> str | None:
    return part_digest(folder, test, date, record_files([folder]))


def test_what_is_kept_is_what_would_be_made(folder, cache, monkeypatch) -> None:
    first = made(folder)
    assert len(list(cache.iterdir())) == 1
    with monkeypatch.context() as patch:
        patch.setattr(RequestedPart, "made", None)
        assert made(folder) == first
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:-7])
    assert made(folder) == first


def test_verification_judges_again(folder, monkeypatch) -> None:
    source = ReportSource.of([folder])
    write_report(source, options=ReportOptions(html=False, pdf=False))
    monkeypatch.setattr(KeptKind, "read", lambda *_: pytest.fail("what was judged before is used"))
    assert not differences(read_report(folder / "report.json"), source)[0]


def test_nothing_is_kept_where_that_is_not_wanted(folder, cache, monkeypatch) -> None:
    first = made(folder)
    shutil.rmtree(cache)
    monkeypatch.setenv("OPENPTS_CACHE", "off")
    assert made(folder) == first
    assert not cache.exists()


def test_a_part_depends_on_its_record_its_place_and_its_date(folder, tmp_path) -> None:
    known = digest(folder)
    assert known == digest(folder)
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    others = {digest(moved), digest(folder, "2026-11-22T08:00:00Z")}
    with (folder / "run.db").open("ab") as record:
        record.write(b"\0")
    others.add(digest(folder))
    assert len(others) == 3
    assert known not in others


def test_a_part_depends_on_every_file_of_openpts(folder, tmp_path, monkeypatch) -> None:
    home = tmp_path / "openpts"
    home.mkdir()
    source = home / "__init__.py"
    source.write_text("")
    monkeypatch.setattr(write.openpts, "__file__", str(source))
    write._all_else.cache_clear()
    try:
        found = [digest(folder)]
        source.write_text("#")
        write._all_else.cache_clear()
        found.append(digest(folder))
        os.utime(source, (1, 1))
        write._all_else.cache_clear()
        found.append(digest(folder))
        (home / "another.py").touch()
        write._all_else.cache_clear()
        found.append(digest(folder))
    finally:
        write._all_else.cache_clear()
    assert len(set(found)) == len(found)


def test_a_part_of_another_package_s_test_is_made_each_time(folder, monkeypatch) -> None:
    class Other:
        package = type("Package", (), {"is_own": False})

    monkeypatch.setattr(write, "offers", lambda _kind: {"other": Other})
    assert digest(folder, test="other") is None
    assert digest(folder) is not None
    assert PARTS.read("nothing") is None
