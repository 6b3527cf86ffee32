"""No output goes among the files of a run that is not its own, or over what is no such output."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.errors import UsageError
from openpts.output_files import refuse_other_kind
from tests.support.openpts_process import openpts
from tests.support.transcript import Golden

RUN_ID = re.compile(r"\d{4}-\d{8}T\d{6}Z-lat-\w{6}")
LIMIT = ("--limit", "lat.rnd_4_kib_rw0.art >= 0")
INTO = (
    ("export", "r1", "--junit", "PLACE/run.db"),
    ("export", "r1", "--csv-row", "PLACE/report.json"),
    ("export", "r1", "--csv-row", "PLACE/new.csv"),
    ("export", "r1", "--parquet", "PLACE/tables"),
    ("export", "r1", "--fio-json", "PLACE/fio"),
    ("gate", "r1", *LIMIT, "--junit", "PLACE/claim.jsonl"),
    ("gate", "r1", *LIMIT, "--out", "PLACE"),
    ("compare", "r1", "r3", "--out", "PLACE/data"),
    ("report", "r1", "--out", "PLACE"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "new", "--events", "PLACE/events.jsonl"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "new", "--ocp-diag", "PLACE/ocp.jsonl"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "new", "--metrics", "PLACE/m.prom"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "PLACE/new"),
    ("io", "sim:mlc", "--seconds", "0.1", "--capture", "PLACE/data"),
    ("trace", "convert", "recipe:boot", "-o", "PLACE/boot.csv", "--to", "msr"),
)
OVER = (
    ("export", "r1", "--junit", "diary"),
    ("export", "r1", "--csv-row", "diary"),
    ("gate", "r1", *LIMIT, "--junit", "diary"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "new", "--events", "diary"),
    ("run", "lat", "sim:mlc", "--quick", "--out", "new", "--metrics", "diary.prom"),
)


@pytest.fixture(scope="module")
def made(disk_path_factory: pytest.TempPathFactory) -> Path:
    folder = disk_path_factory.mktemp("runs")
    words = ("run", "lat", "sim:mlc", "--quick", "--no-report", "--out", "r1")
    assert openpts(*words, cwd=folder).exit_code == 0
    assert openpts("report", "r1", "--no-html", "--no-pdf", cwd=folder).exit_code == 0
    for name in ("r2", "r3"):
        shutil.copytree(folder / "r1", folder / name)
    return folder


@pytest.fixture
def runs(made: Path) -> Iterator[Path]:
    """Three finished runs, of which the second has to stay as it is, by name and by content."""
    (made / "link").symlink_to("r2")
    for name in ("diary", "diary.prom"):
        (made / name).write_text("Dear diary\n")
    before = _contents(made)
    yield made
    assert _contents(made) == before
    for name in ("link", "diary", "diary.prom"):
        (made / name).unlink()


def _contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("place", [pytest.param("r2", marks=pytest.mark.slow), "link"])
def test_nothing_is_written_into_another_run(place: str, runs: Path, golden: Golden) -> None:
    lines = []
    for words in INTO[:: 1 if place == "r2" else 4]:
        ended = openpts(*(word.replace("PLACE", place) for word in words), cwd=runs)
        assert ended.exit_code in {2, 8}, (words, ended.stderr)
        complaint = RUN_ID.sub("ID", ended.complaint).replace(f"{runs}/", "")
        lines += [f"$ openpts {' '.join(words)}", complaint]
    assert lines == golden


def test_what_is_no_such_output_stays(runs: Path, golden: Golden) -> None:
    lines = []
    for words in OVER:
        ended = openpts(*words, cwd=runs)
        assert ended.exit_code == 2, (words, ended.stderr)
        lines += [f"$ openpts {' '.join(words)}", ended.complaint.replace(f"{runs}/", "")]
    assert lines == golden


@pytest.mark.slow
def test_an_output_replaces_one_of_its_kind_only(made: Path, tmp_path: Path) -> None:
    run, kinds = str(made / "r1"), {"--junit": "a.xml", "--csv-row": "a.csv"}
    for option, name in kinds.items():
        for _ in range(2):
            assert openpts("export", run, option, name, cwd=tmp_path).exit_code == 0
    assert openpts("export", run, "--csv-row", "a.csv", "--no-header", cwd=tmp_path).exit_code == 0
    assert openpts("export", run, "--csv-row", "a.csv", cwd=tmp_path).exit_code == 0
    assert openpts("gate", run, *LIMIT, "--junit", "a.xml", cwd=tmp_path).exit_code in {0, 13}
    for _ in range(2):
        assert openpts("export", run, "--parquet", "tables", cwd=tmp_path).exit_code == 0
    for option, name in zip(kinds, reversed(kinds.values()), strict=True):
        before = (tmp_path / name).read_bytes()
        assert openpts("export", run, option, name, cwd=tmp_path).exit_code == 2
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.slow
def test_a_report_replaces_that_of_before_and_nothing_else(made: Path, tmp_path: Path) -> None:
    words = ("report", str(made / "r1"), "--out", "out")
    for _ in range(2):
        assert openpts(*words, cwd=tmp_path).exit_code == 0
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for path in [
        *(one for one in files if one.suffix != ".csv"),
        *[one for one in files if one.suffix == ".csv"][:1],
    ]:
        content = path.read_bytes()
        path.write_text("Dear diary\n")
        ended = openpts(*words, cwd=tmp_path)
        assert ended.exit_code == 2, (path, ended.stderr)
        assert path.read_text() == "Dear diary\n"
        path.write_bytes(content)


def test_a_run_has_its_own_outputs_in_its_folder(made: Path) -> None:
    assert openpts("report", "r3", "--no-pdf", cwd=made).exit_code == 0
    assert openpts("report", "r3", "--redact", "--no-pdf", "--out", "r3/redacted", cwd=made).exit_code == 0
    shutil.rmtree(made / "r3" / "redacted")


@pytest.mark.parametrize("objects", [10, 4_393, 100_000])
def test_a_pdf_is_known_by_its_author_before_the_table_of_its_objects(objects: int, tmp_path: Path) -> None:
    pdf = b"%PDF-1.7\n" + b"page" * 50_000 + b"<</Author (openpts)>>" + b"0000946089 00000 n\r\n" * objects
    (path := tmp_path / "report.pdf").write_bytes(pdf)
    refuse_other_kind(path, pdf)
    path.write_bytes(pdf.replace(b"openpts", b"another"))
    with pytest.raises(UsageError, match="no such output of openpts"):
        refuse_other_kind(path, pdf)
