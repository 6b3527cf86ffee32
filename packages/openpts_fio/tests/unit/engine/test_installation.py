"""Which fio is taken, with programs that stand in for it."""

from pathlib import Path

import pytest

from openpts.errors import EngineUnavailableError
from openpts_fio.engine.engine import FioProgram, find_fio
from tests.support.refusals import refusal


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path


def install(folder: Path, script: str) -> str:
    """The folder as a PATH."""
    program = folder / "fio"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("version", ["fio-3.19", "fio-3.33", "fio-3.42-135-gf534", "fio-4.0"])
def test_one_that_serves(folder, version) -> None:
    assert find_fio(install(folder, f"echo {version}")) == FioProgram(str(folder / "fio"), version)


def test_one_that_does_not(folder, golden) -> None:
    cases = ("echo fio-3.18", "echo fio-2.21", "echo flexible", "exit 3")
    assert [refusal(find_fio, install(folder, script)) for script in cases] == golden


def test_none_at_all(folder) -> None:
    with pytest.raises(EngineUnavailableError, match="not installed: install the package fio"):
        find_fio(str(folder))
