import platform
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from openpts.host import software
from openpts.host.software import software_facts


@pytest.fixture
def wipefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where to put the program; nothing else is found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(software, "_SYSTEM_PROGRAM_FOLDERS", str(tmp_path))
    return tmp_path / "wipefs"


def test_what_takes_part(wipefs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wipefs.write_text("#!/bin/sh\necho wipefs from util-linux 2.38.1\n")
    wipefs.chmod(0o755)
    monkeypatch.setattr(software, "version", lambda name: "1.2.3")
    facts = software_facts()
    assert list(facts) == ["test_software", "python", "kernel", "wipefs"]
    assert facts["test_software"].value == "openpts 1.2.3"
    assert facts["python"].value == f"CPython {platform.python_version()}"
    assert facts["kernel"].value == f"Linux {platform.release()} {platform.machine()}"
    assert facts["wipefs"].value == "wipefs from util-linux 2.38.1"


def test_a_source_tree_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(software, "version", missing)
    fact = software_facts()["test_software"]
    assert fact.value == "openpts"
    assert "isn't installed" in fact.source


def test_a_missing_program_is_left_open(wipefs: Path) -> None:
    assert software_facts()["wipefs"].value is None


@pytest.mark.parametrize("script", ["exit 1", "exec /bin/sleep 60", "printf '\\377'"])
def test_a_program_that_fails_is_left_open(
    script: str, wipefs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(software, "_TIMEOUT_S", 0.5)
    wipefs.write_text(f"#!/bin/sh\n{script}\n")
    wipefs.chmod(0o755)
    fact = software_facts()["wipefs"]
    assert fact.value is None
    assert "failed" in fact.source
