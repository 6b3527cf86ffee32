"""What `openpts doctor --self` says: in words, as JSON that keeps to its schema, and by its exit code."""

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from docs.schema_files import OUTPUTS

from openpts import programs
from openpts.cli.doctor import doctor
from openpts.cli.installation import failure_of, installation_text
from openpts.engine.io_uring import refused_by
from openpts.errors import EngineUnavailableError, OpenptsError
from openpts.runner import installation
from openpts.runner.installation import IO_URING, Part, parts
from openpts.system_files import SystemRoots
from tests.support.machine import forbid_io_uring
from tests.support.processes import in_process

REFUSED = "Operation not permitted (os error 1)"


def a_part(name: str, found: str | None, *, is_needed: bool) -> Part:
    return Part(name=name, found=found, purpose="this", is_needed=is_needed, install={"any": f"get {name}"})


def without_programs(monkeypatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(programs, "_SYSTEM_PROGRAM_FOLDERS", str(folder))


def test_what_is_missing_has_a_line_for_each_distribution(tmp_path, monkeypatch, snapshot) -> None:
    without_programs(monkeypatch, tmp_path)
    lost = a_part("native module", None, is_needed=True)
    found = (lost, *(part for part in parts(SystemRoots()) if "Debian" in part.install and not part.found))
    assert "\n".join(line.plain for line in installation_text(found)) == snapshot


def test_a_program_of_a_package_that_is_missing_is_named(tmp_path, monkeypatch) -> None:
    without_programs(monkeypatch, tmp_path)
    for name in ("sg_vpd", "sg_format", "sg_sanitize", "fio"):
        (tmp_path / name).touch(mode=0o755)
    of = {part.name: part for part in parts(SystemRoots())}
    assert (of["sg3-utils"].found, of["fio"].found) == (None, str(tmp_path / "fio"))
    assert of["sg3-utils"].why == "no program sg_opcodes, sg_requests"


@pytest.mark.with_plugins
@pytest.mark.parametrize("has_pip", [True, False])
def test_a_library_that_is_missing_is_pips_to_install(has_pip, monkeypatch) -> None:
    monkeypatch.setattr(installation, "_version", lambda name: None if name in {"click", "duckdb"} else "1")
    monkeypatch.setattr(installation, "find_spec", lambda name: name if has_pip else None)
    missing = {part.name: part for part in parts(SystemRoots()) if part.name in {"click", "duckdb"}}
    assert {name: part.is_needed for name, part in missing.items()} == {"click": True, "duckdb": False}
    for part in missing.values():
        assert list(part.install) == (["PyPI"] if has_pip else [])
        assert ("wheelhouse" in part.why) is not has_pip
    assert isinstance(failure_of([*missing.values()]), OpenptsError)


def test_the_exit_code_tells_what_is_needed() -> None:
    fine, optional = a_part("a", "1", is_needed=True), a_part("b", None, is_needed=False)
    ring, library = a_part(IO_URING, None, is_needed=True), a_part("d", None, is_needed=True)
    assert failure_of([fine, optional]) is None
    assert isinstance(failure_of([fine, ring]), EngineUnavailableError)
    both = failure_of([library, ring])
    assert both is not None
    assert (type(both), str(both)) == (OpenptsError, "needed and missing: d, io_uring")


@pytest.mark.with_plugins
def test_the_command_on_this_machine_keeps_to_its_schema() -> None:
    answer = CliRunner().invoke(doctor, ["--self", "--json"])
    content = json.loads(answer.stdout)
    jsonschema.validate(content, json.loads(OUTPUTS.read_text()))
    of = {part["name"]: part["found"] for part in content["parts"]}
    assert (answer.exit_code == 0) is (of["io_uring"] == "available")
    assert of["native module"].endswith(("x86_64", "aarch64"))
    assert of["click"]


def test_a_filter_of_system_calls_is_named(golden) -> None:
    def filtered() -> str:
        forbid_io_uring()
        return next(part.why for part in parts(SystemRoots()) if part.name == IO_URING)

    assert in_process(filtered) == golden


@pytest.mark.parametrize(
    ("setting", "filter_mode", "named"),
    [("2", 0, "io_uring_disabled is 2"), ("1", 2, "io_uring_disabled is 1"), ("0", 2, "seccomp")],
)
def test_the_setting_is_named_before_the_filter(setting, filter_mode, named, tmp_path) -> None:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "self").mkdir()
    (tmp_path / "sys/kernel/io_uring_disabled").write_text(f"{setting}\n")
    (tmp_path / "self/status").write_text(f"Name:\tpython\nSeccomp:\t{filter_mode}\n")
    assert named in refused_by(REFUSED, SystemRoots(proc=tmp_path))
    assert "memory" in refused_by("Cannot allocate memory (os error 12)", SystemRoots(proc=tmp_path))


@pytest.mark.parametrize("other", ["--apply", "--restore", "file:x"])
def test_it_looks_at_openpts_alone(other, golden) -> None:
    answer = CliRunner().invoke(doctor, ["--self", other])
    assert answer.exit_code != 0
    assert str(answer.exception) == golden
