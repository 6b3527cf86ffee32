"""What a question refuses, in one transcript."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.cli.main import main
from tests.support.transcript import Transcript

ENDURANCE = ("--for", "endurance")
QUESTIONS = (
    ("check",),
    ("check", "/dev/shm"),
    ("check", "/nothing", "--for", "commit"),
    ("check", "file", "--for", "commit"),
    ("check", "sim:client-qlc"),
    ("check", "sim:client-qlc", "--for", "gaming"),
    ("check", "sim:client-qlc", "--for", "commit", "--heated", "10"),
    ("check", "sim:client-qlc?capacity=100MB", "--for", "stream"),
    ("check", "sim:client-qlc", "--for", "stream", "--size", "64MiB"),
    ("check", "sim:client-qlc", "--for", "commit", "--minutes", "1441"),
    ("check", "sim:client-qlc", "--for", "commit", "--like", "50GB/day"),
    ("check", "file", *ENDURANCE),
    ("check", "sim:client-qlc", *ENDURANCE),
    ("check", "sim:client-qlc", *ENDURANCE, "--like", "fifty a day"),
    ("check", "sim:client-qlc", *ENDURANCE, "--like", "50GB/day", "--minutes", "5"),
    ("check", "sim:client-qlc", *ENDURANCE, "--like", "50GB/day", "--out", "folder"),
    ("check", "sim:client-qlc", *ENDURANCE, "--like", "50GB/day", "--no-report"),
)


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_file(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    yield
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_what_is_refused(snapshot, monkeypatch) -> None:
    both = io.StringIO()
    monkeypatch.setattr(sys, "stdout", both)
    monkeypatch.setattr(sys, "stderr", both)
    for words in QUESTIONS:
        both.write(f"$ openpts {' '.join(words)}\n")
        monkeypatch.setattr(sys, "argv", ["openpts", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        both.write(f"exit code {ended.value.code}\n\n")
    assert both.getvalue() == snapshot.use_extension(Transcript)
