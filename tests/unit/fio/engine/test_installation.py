"""Which fio is taken, with programs that stand in for it."""

from pathlib import Path

import pytest

from openpts.errors import EngineUnavailableError
from openpts_fio.engine.process import FioProgram, find_fio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def install(folder: Path, script: str) -> None:
    program = folder / "fio"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("version", ["fio-3.19", "fio-3.33", "fio-3.42-135-gf534", "fio-4.0"])
def test_one_that_serves(folder: Path, version: str) -> None:
    install(folder, f"echo {version}")
    assert find_fio(str(folder)) == FioProgram(str(folder / "fio"), version)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo fio-3.18", "fio-3.19 or later is needed, for total latencies"),
        ("echo fio-2.21", "fio-3.19 or later"),
        ("echo flexible", "'flexible', which is not a version"),
        ("exit 3", "--version failed"),
    ],
)
def test_one_that_does_not(folder: Path, script: str, reason: str) -> None:
    install(folder, script)
    with pytest.raises(EngineUnavailableError, match=reason):
        find_fio(str(folder))


def test_none_at_all(folder: Path) -> None:
    with pytest.raises(EngineUnavailableError, match="not installed: install the package fio"):
        find_fio(str(folder))
