"""Libraries as files: a function of their runs, whatever their order and how often each was added."""

import base64
import io
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from openpts_many.archive.engine import Engine
from openpts_many.archive.store import Store
from openpts_many.archive.tables import RUN_VIEW, columns_of_archive
from openpts_web.publish import write
from tests.simulated.web.conftest import enter, entries_of
from tests.simulated.web.publishing import called, published
from tests.support.transcript import Golden


@pytest.fixture
def halves(archive: Path, library: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two archives that share a hundred runs, one of them in a later state in the second."""
    rows = sorted(entries_of(archive), key=lambda row: str(row["run"]))
    for row in rows:
        if row["file_table"]:
            row |= {"file_table": [], "file_bytes": [], "file_sha256": []}
    later = rows[150] | {"added_at": "2099-01-01", "state": "later", "content_sha256": "another"}
    for name, part in (("a", rows[:200]), ("b", [*rows[100:150], later, *rows[151:]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "archive.json").write_bytes((archive / "archive.json").read_bytes())
        enter(tmp_path / name, part)
    return tmp_path / "a", tmp_path / "b"


def files_of(place: Path) -> dict[str, bytes]:
    return {str(one.relative_to(place)): one.read_bytes() for one in place.rglob("*") if one.is_file()}


def test_tables_are_those_of_the_archive(archive: Path, library: Path) -> None:
    engine = Engine(Store.of(str(archive)), None)
    files = {
        "runs": [library / "data/runs.parquet"],
        "measures": sorted((library / "data").glob("measures-*.parquet")),
        "deviations": [library / "data/deviations.parquet"],
    }
    for name, parts in files.items():
        names = RUN_VIEW if name == "runs" else tuple(columns_of_archive()[name])
        of_library = [
            row for one in parts for row in parquet.read_table(one, columns=list(names)).to_pylist()
        ]
        columns, rows = engine.answer(f"SELECT {', '.join(names)} FROM {name}")
        of_archive = [dict(zip(columns, row, strict=True)) for row in rows]
        for row in of_library:
            if "labels" in row:
                row["labels"] = dict(row["labels"])
        assert sorted(map(repr, of_library)) == sorted(map(repr, of_archive))
    assert len(files["measures"]) == 2


def test_each_twin_hands_over_the_bytes_of_its_file(library: Path) -> None:
    twins = sorted(library.rglob("*.parquet.js"))
    assert len(twins) == 4
    for twin in twins:
        name, text = json.loads(
            "[" + twin.read_text().removeprefix("openptsFile(").removesuffix(");\n") + "]"
        )
        assert name == str(twin.relative_to(library)).removesuffix(".js")
        assert base64.b64decode(text, validate=True) == (library / name).read_bytes()


def test_the_same_runs_are_the_same_bytes_however_they_came(
    halves: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = halves
    ways: dict[str, list[tuple[Path, ...]]] = {
        "ab": [(a, b)], "ba": [(b, a)], "a, b": [(a,), (b,)], "b, a, a, both": [(b,), (a,), (a,), (b, a)],
    }  # fmt: skip
    made = {}
    for name, steps in ways.items():
        for sources in steps:
            published(*sources, tmp_path / name)
        made[name] = files_of(tmp_path / name)
    published(tmp_path / "ab", tmp_path / "of libraries")
    published(a, tmp_path / "one")
    published(b, tmp_path / "other")
    published(tmp_path / "other", tmp_path / "one", tmp_path / "merged")
    for name in ("of libraries", "merged"):
        made[name] = files_of(tmp_path / name)
    assert len(parquet.read_table(io.BytesIO(made["ab"]["data/runs.parquet"]))) == 301
    for name, files in made.items():
        assert {one: files[one] == made["ab"][one] for one in files} == dict.fromkeys(made["ab"], True), name
    states = parquet.read_table(tmp_path / "ab/data/runs.parquet", columns=["state"])["state"].to_pylist()
    assert states.count("later") == 1


def test_two_runs_of_one_id_are_refused(halves: tuple[Path, Path], tmp_path: Path, golden: Golden) -> None:
    a, _ = halves
    [row, *_] = entries_of(a)
    (tmp_path / "c").mkdir()
    (tmp_path / "c/archive.json").write_bytes((a / "archive.json").read_bytes())
    enter(tmp_path / "c", [row | {"run": "one", "origin": "here"}])
    published(tmp_path / "c", tmp_path / "site")
    before = files_of(tmp_path / "site")
    next((tmp_path / "c/catalogue").iterdir()).unlink()
    enter(tmp_path / "c", [row | {"run": "one", "origin": "there"}])
    code, said = called(tmp_path / "c", tmp_path / "site")
    assert code != 0
    assert said == golden
    assert files_of(tmp_path / "site") == before


def test_what_cannot_be_published_is_refused_before_anything_is_written(
    archive: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.txt").write_text("mine")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer/library.json").write_text(
        '{"format":"openpts.library","version":"2.0","runs":0,"measures":[],"files":[]}'
    )
    said = [called(archive, tmp_path / "full"), called(archive, tmp_path / "newer")]
    said.append(called(tmp_path / "nothing", tmp_path / "site"))
    monkeypatch.setattr(write, "BROWSER", tmp_path)
    said.append(called(archive, tmp_path / "site"))
    assert all(code for code, _ in said)
    assert "\n".join(f"{code}: {text}".replace(str(tmp_path), "FOLDER") for code, text in said) == golden
    assert not (tmp_path / "site").exists()
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_a_folder_of_git_is_no_obstacle_and_what_is_of_no_use_any_more_goes(
    archive: Path, library: Path, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    published(archive, tmp_path)
    about = (tmp_path / "library.json").read_text()
    (tmp_path / "library.json").write_text(about.replace('"index.html"', '"index.html", "gone.js", "old.js"'))
    (tmp_path / "old.js").write_text("old")
    (tmp_path / "README").write_text("mine")
    published(archive, tmp_path)
    assert files_of(tmp_path) == files_of(library) | {"README": b"mine"}


def test_reports_lie_beside_the_pages(
    archive: Path, lat_run: Path, library: Path, tmp_path: Path, golden: Golden
) -> None:
    assert called(archive, tmp_path / "site", "--reports", lat_run)[0] != 0  # it has none yet
    (lat_run / "report.html").write_text("<p>a report")
    (lat_run / "report.json").write_text('{"redacted": false}')
    try:
        published(archive, tmp_path / "site", "--reports", lat_run)
        [report] = (tmp_path / "site/reports").iterdir()
        assert report.read_text() == "<p>a report"
        before = files_of(tmp_path / "site")
        published(archive, tmp_path / "site")
        assert files_of(tmp_path / "site") == before
        redacted = [row | {"redacted": True} for row in entries_of(archive)]
        (tmp_path / "redacted").mkdir()
        (tmp_path / "redacted/archive.json").write_bytes((archive / "archive.json").read_bytes())
        enter(tmp_path / "redacted", [row | {"file_table": [], "file_bytes": []} for row in redacted])
        code, said = called(tmp_path / "redacted", tmp_path / "other", "--reports", lat_run)
        assert code != 0
        assert said.replace(str(lat_run), "RUN") == golden
    finally:
        (lat_run / "report.html").unlink()
        (lat_run / "report.json").unlink()
