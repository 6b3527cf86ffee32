"""Outputs whose folder is missing, shut or full: one line, an exit code, and nothing left."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.full_disk import fill
from tests.support.openpts_process import openpts
from tests.support.transcript import Golden

RECORD_ERROR = 8
RUN_ID = re.compile(r"\d{4}-\d{8}T\d{6}Z-lat-\w{6}")

AS_ANY_USER = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Without what lets root into each folder; tests of the guard have drives to which only root may write."""

FILES = (
    ("export", "run", "--junit", "PLACE/junit.xml"),
    ("export", "run", "--csv-row", "PLACE/rows.csv"),
    ("gate", "run", "--limit", "lat.rnd_4_kib_rw0.art >= 0", "--junit", "PLACE/gate.xml"),
    ("trace", "convert", "recipe:boot", "-o", "PLACE/boot.csv", "--to", "msr"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "other", "--events", "PLACE/events"),
)
FOLDERS = (
    ("export", "run", "--parquet", "PLACE/tables"),
    ("export", "run", "--fio-json", "PLACE/fio"),
    ("report", "run", "--out", "PLACE/report"),
)
READING = (
    ("report", "PLACE/run"),
    ("verify", "PLACE/run"),
    ("trace", "check", "PLACE/trace.csv"),
    ("check", "PLACE", "--for", "commit"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "PLACE/run"),
    ("run", "lat", "file:PLACE/file?size=64MiB", "--quick"),
)


@pytest.fixture(scope="module")
def finished(disk_path_factory: pytest.TempPathFactory) -> Path:
    folder = disk_path_factory.mktemp("finished")
    assert (
        openpts("run", "lat", "sim:mlc", "--quick", "--no-report", "--out", "run", cwd=folder).exit_code == 0
    )
    return folder


@pytest.fixture
def place(finished: Path) -> Iterator[Path]:
    """A folder beside a finished run, of which nothing is left for the next test."""
    folder = finished / "place"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)
    folder.rmdir()


def said(
    cwd: Path, typed: tuple[tuple[str, ...], ...], place: str, prefix: tuple[str, ...] = ()
) -> list[str]:
    lines = []
    for words in typed:
        ended = openpts(*(word.replace("PLACE", place) for word in words), cwd=cwd, prefix=prefix)
        complaint = RUN_ID.sub("ID", ended.complaint).replace(f"{cwd}/", "")
        lines += [f"$ openpts {' '.join(words)}", f"{complaint} [{ended.exit_code}]"]
    return lines


@pytest.mark.slow
def test_no_folder_is_made_for_a_file(finished: Path, golden: Golden) -> None:
    assert said(finished, FILES, "slip/of/a/name") == golden
    assert sorted(one.name for one in finished.iterdir()) == ["run"]


@pytest.mark.needs("directory")
@pytest.mark.parametrize(
    ("mode", "typed"),
    [
        pytest.param(0o000, (FILES[0], READING[0], READING[-1]), id="none"),
        pytest.param(0o000, (*FOLDERS[:2], *READING[1:-1]), id="none, the others", marks=pytest.mark.slow),
        pytest.param(0o555, (*FILES, *FOLDERS), id="none to write", marks=pytest.mark.slow),
    ],
)
def test_a_folder_without_rights(
    mode: int, typed: tuple[tuple[str, ...], ...], place: Path, golden: Golden
) -> None:
    place.chmod(mode)
    assert said(place.parent, typed, "place", AS_ANY_USER) == golden


def test_a_full_disk(tmpfs: Path, finished: Path) -> None:
    fill(tmpfs)
    before = sorted(tmpfs.iterdir())
    for words in (FILES[1], *FOLDERS[::2]):
        ended = openpts(*(word.replace("PLACE", str(tmpfs)) for word in words), cwd=finished)
        assert ended.exit_code == RECORD_ERROR, words
        assert ended.complaint.endswith(": No space left on device"), words
    assert [one for one in tmpfs.rglob("*") if one.is_file()] == before


def test_an_index_on_a_full_disk(tmpfs: Path, finished: Path) -> None:
    pytest.importorskip("starlette", reason="needs openpts[web]")
    fill(tmpfs)
    ended = openpts("serve", ".", cwd=finished, XDG_CACHE_HOME=str(tmpfs))
    assert ended.exit_code == RECORD_ERROR, ended.stderr
    assert ended.complaint.startswith("openpts: can't keep the index of the library in "), ended.stderr
