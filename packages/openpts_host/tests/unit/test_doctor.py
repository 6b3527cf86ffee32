"""What `openpts doctor` prints, also with `--self`: words, JSON that keeps to its schema, exit codes."""

import json
from io import StringIO
from pathlib import Path

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from docs.schema_files import OUTPUTS
from openpts import programs
from openpts.device.block_device import BlockDevice
from openpts.engine.native import refused_by
from openpts.errors import EngineUnavailableError, OpenptsError
from openpts.journal import Journal
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import ChangeReport, Scenario
from openpts_host.cli import installation
from openpts_host.cli.doctor import Doctor, audit_text, changes_text, doctor, restore
from openpts_host.cli.installation import IO_URING, Part, failure_of, installation_text, parts
from openpts_host.tests.unit.recorded_systemd import RecordedSystemd
from tests.data.system_trees import laptop
from tests.support.machine import forbid_io_uring
from tests.support.processes import in_process

__all__ = ["laptop"]

# not jsonschema.validate, which judges the schema each time
VALIDATOR = jsonschema.Draft202012Validator(json.loads(OUTPUTS.read_text()))


def examine(roots: SystemRoots, scenario: Scenario = Scenario.SYNTHETIC) -> Doctor:
    return Doctor(scenario, roots, BlockDevice.of_name("sdb", roots), RecordedSystemd("fstrim.timer"))


def printed(roots: SystemRoots, width: int, *, in_full: bool = False) -> str:
    out = StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    examined = examine(roots)
    console.print(audit_text(examined.audit("/dev/sdb"), width, in_full=in_full))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_it_fits_the_terminal_and_begins_with_what_is_bad(width, laptop) -> None:
    text = printed(laptop, width)
    assert max(map(len, text.splitlines())) <= width
    headings = [line.split(":")[0] for line in text.splitlines() if line[:1].isupper() and line[:3].isupper()]
    assert headings == ["BAD", "NOTE", "UNKNOWN", "GOOD"]
    first = " ".join(text.split("BAD")[0].split())
    assert first.startswith("/dev/sdb, for a synthetic measurement, which tests the drive: 14 bad, ")


@pytest.mark.parametrize("width", [80, 120])
def test_a_bad_setting_is_shown_with_all_that_is_known(width, laptop) -> None:
    words = " ".join(printed(laptop, width).split())
    for part in ("Frequency governor", "powersave", "performance", "default", "a low clock", "--apply"):
        assert part in words, part


def test_what_is_good_is_short_unless_asked_for(laptop) -> None:
    assert len(printed(laptop, 80, in_full=True).splitlines()) > len(printed(laptop, 80).splitlines())


def test_a_name_in_brackets_is_no_markup_and_controls_reach_no_terminal(laptop) -> None:
    (laptop.sys / "class/thermal/thermal_zone1/type").write_text("[red]\x1b[31mhot[/red]\n")
    text = printed(laptop, 120)
    assert "[red]" in text
    assert "\x1b" not in text


def test_changes_are_told_once_for_all_processors() -> None:
    changes = [
        ChangeReport(
            "governor",
            f"/sys/devices/system/cpu/cpufreq/policy{n}/scaling_governor",
            "powersave",
            "performance",
        )
        for n in range(64)
    ]
    changes.append(
        ChangeReport("turbo", "/sys/x/y/no_turbo", "1", "0", "no permission: only root may change it")
    )
    lines = [text.plain for text in changes_text(changes, asked=True)]
    assert lines[0] == (
        "set      Frequency governor: powersave -> performance (cpufreq/policy0/scaling_governor and 63 more)"
    )
    assert lines[1].startswith("not set  Turbo: 1, wanted 0: no permission")
    assert len(lines) == 3


@pytest.mark.slow
@pytest.mark.parametrize("scenario", list(Scenario))
def test_the_json_keeps_to_its_schema(scenario, laptop) -> None:
    examined, journal = examine(laptop, scenario), Journal(laptop.sys.parent / "journal", laptop)
    _, changes = in_process(lambda: examined.apply(journal))
    restored = restore(journal, laptop, examined.run)
    audit = examined.audit("/dev/sdb", changes, restored)
    content = msgspec.json.decode(msgspec.json.encode(audit))
    VALIDATOR.validate(content)
    assert content["disk"] == "sdb"
    assert len(changes) == len(restored) > 0


def test_the_command_on_this_machine(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path))
    answer = CliRunner().invoke(doctor, ["--for", "real-world", "--json"])
    assert answer.exit_code == 0
    content = json.loads(answer.stdout)
    VALIDATOR.validate(content)
    assert content["scenario"] == "real-world"
    assert sum(content["counts"].values()) == len(content["settings"])
    assert content["changes"] == content["restored"] == []
    again = CliRunner().invoke(doctor, ["--restore"])
    assert (again.exit_code, again.stdout) == (0, "Nothing to restore.\n")


def test_what_makes_no_sense_is_refused(golden) -> None:
    cases = (["--apply", "--restore"], ["sim:client-qlc"], ["/dev/null"], ["/dev/nothing-there"])
    assert [str(CliRunner().invoke(doctor, arguments).exception) for arguments in cases] == golden


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


def test_the_command_on_this_machine_keeps_to_its_schema() -> None:
    answer = CliRunner().invoke(doctor, ["--self", "--json"])
    content = json.loads(answer.stdout)
    VALIDATOR.validate(content)
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
