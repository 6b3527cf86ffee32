"""What `openpts doctor` prints: in words and as JSON that keeps to its schema."""

import json
from io import StringIO

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from docs.schema_files import OUTPUTS
from rich.console import Console

from openpts.cli.doctor import Audit, audit_text, changes_text, doctor
from openpts.device.block_device import BlockDevice
from openpts.journal import Journal
from openpts.runner.doctor import Doctor, restore
from openpts.system_files import SystemRoots
from openpts.vocabulary.tuning import ChangeReport, Scenario
from tests.data.system_trees import laptop
from tests.support.processes import in_process
from tests.unit.host.recorded_systemd import RecordedSystemd

__all__ = ["laptop"]

SCHEMA = json.loads(OUTPUTS.read_text())


def examine(roots: SystemRoots, scenario: Scenario = Scenario.SYNTHETIC) -> Doctor:
    return Doctor(scenario, roots, BlockDevice.of_name("sdb", roots), RecordedSystemd("fstrim.timer"))


def printed(roots: SystemRoots, width: int, *, in_full: bool = False) -> str:
    out = StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    examined = examine(roots)
    console.print(audit_text(examined.findings(), "/dev/sdb", examined.scenario, width, in_full=in_full))
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
    audit = Audit.by(examined, "/dev/sdb", examined.findings(), changes, restored)
    content = msgspec.json.decode(msgspec.json.encode(audit))
    jsonschema.validate(content, SCHEMA)
    assert content["disk"] == "sdb"
    assert len(changes) == len(restored) > 0


def test_the_command_on_this_machine(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path))
    answer = CliRunner().invoke(doctor, ["--for", "real-world", "--json"])
    assert answer.exit_code == 0
    content = json.loads(answer.stdout)
    jsonschema.validate(content, SCHEMA)
    assert content["scenario"] == "real-world"
    assert sum(content["counts"].values()) == len(content["settings"])
    assert content["changes"] == content["restored"] == []
    again = CliRunner().invoke(doctor, ["--restore"])
    assert (again.exit_code, again.stdout) == (0, "Nothing to restore.\n")


def test_what_makes_no_sense_is_refused(golden) -> None:
    cases = (["--apply", "--restore"], ["sim:client-qlc"], ["/dev/null"], ["/dev/nothing-there"])
    assert [str(CliRunner().invoke(doctor, arguments).exception) for arguments in cases] == golden
