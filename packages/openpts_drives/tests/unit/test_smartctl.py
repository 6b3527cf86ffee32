"""What smartctl says, taken from answers of real drives, of emulated ones, and of no sense at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts_drives.health.ata_health import (
    SmartctlAnswer,
    SmartctlError,
    ask_smartctl,
    ata_health,
    bridged_nvme_health,
    scsi_health,
    smartctl_command,
)
from openpts_drives.health.nvme_health import parse_smart_log
from tests.support.program_answers import says
from tests.support.published_drives import captured, published, smartctl_json_of_ata, smartctl_json_of_scsi


@pytest.fixture
def disk(server: SystemRoots) -> BlockDevice:
    return BlockDevice.of_name("sda", server)


def test_a_sleeping_disk_is_not_woken_and_nothing_is_set(disk) -> None:
    command = smartctl_command(disk)
    assert "--nocheck=standby" in command
    assert command[-1] == str(disk.node)
    # no self-test, no setting, no SCT command
    assert not {"-t", "--test", "-s", "--set", "-x", "--xall", "-S", "--saveauto"} & set(command)


@pytest.mark.parametrize("status", [0, 4, 8, 16, 32, 64, 128, 0xFC])
def test_a_verdict_on_the_drive_is_no_failure_to_read_it(disk, status) -> None:
    answer = ask_smartctl(disk, says(captured("qemu-sata"), status), 1)
    assert answer.name == "smartctl 7.3"
    assert answer.foretells_failure is False


def test_a_device_that_could_not_be_opened_is_a_reason(disk) -> None:
    with pytest.raises(SmartctlError, match="failed: No such device"):
        ask_smartctl(disk, says(captured("no-such-device"), 2), 1)


def test_a_standby_disk_is_a_reason(disk) -> None:
    said = {"smartctl": {"messages": [{"string": "Device is in STANDBY mode, exit(2)"}]}}
    with pytest.raises(SmartctlError, match="STANDBY"):
        ask_smartctl(disk, says(json.dumps(said), 2), 1)


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        ("", 1, "printed no JSON"),
        (captured("qemu-sata")[:700], 0, "printed no JSON"),
        ("smartctl 5.43: unknown option --json", 1, "unknown option"),
        ("[]", 0, "format version 1"),
        ("null", 0, "format version 1"),
        ('{"json_format_version": [2, 0]}', 0, "format version 1"),
        ('{"json_format_version": "1"}', 0, "format version 1"),
        ("{}", 1, "exit status 1 and no message"),
        ('{"smartctl": {"messages": "failed"}}', 2, "exit status 2"),
        ('{"smartctl": {"messages": [7, {"string": 8}]}}', 2, "exit status 2"),
        ("[" * 100_000, 0, "printed no JSON"),
        ("1" * 5000, 0, "printed no JSON"),
        (captured("scsi-debug"), -9, "exit status -9"),
    ],
)
def test_an_answer_without_sense_is_a_reason(disk, said, status, reason) -> None:
    with pytest.raises(SmartctlError, match=reason):
        ask_smartctl(disk, says(said, status), 1)


def test_control_characters_of_a_message_are_not_passed_on(disk) -> None:
    said = {"smartctl": {"messages": [{"string": "\x1b]0;pwned\x07" + "x" * 10_000}]}}
    with pytest.raises(SmartctlError) as caught:
        ask_smartctl(disk, says(json.dumps(said), 2), 1)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_an_emulated_scsi_disk_tells_its_temperature() -> None:
    told = scsi_health(SmartctlAnswer(json.loads(captured("scsi-debug"))))
    assert told.values == {"temperature_c": 38.0, "warning_limit_c": 65.0}


def test_one_without_a_thermometer_tells_0_and_that_is_none() -> None:
    assert scsi_health(SmartctlAnswer(json.loads(captured("qemu-scsi")))).values == {}


EXPECTED_OF_SCSI = {
    "kioxia-kpm6xrug3t84": {
        "temperature_c": 36,
        "warning_limit_c": 70,
        "power_on_hours": pytest.approx(24755.95),
        "percentage_used_pct": 3,
        "grown_defects": 0,
    },
    "hitachi-h109060sesun600g": {
        "temperature_c": 26,
        "warning_limit_c": 85,
        "power_on_hours": pytest.approx(22364.87, abs=0.01),
        "grown_defects": 0,
        "media_errors": 0,
    },
}


@pytest.mark.parametrize("drive", published("scsi"), ids=lambda drive: drive.name)
def test_sas_drives_as_published(drive) -> None:
    told = scsi_health(SmartctlAnswer(smartctl_json_of_scsi(drive)))
    assert told.values == EXPECTED_OF_SCSI[drive.name]


@pytest.mark.parametrize(
    ("version", "told"), [([7, 2], None), ([7, 3], None), ([7, 4], 240), ([8], 240), ("7.4", None)]
)
def test_defects_are_counted_only_by_a_smartctl_that_counts_them(version, told) -> None:
    # 7.3 told the bytes of the list under this name: 240 for 30 defects
    # (https://github.com/prometheus-community/smartctl_exporter/issues/118)
    tree = {"smartctl": {"version": version}, "scsi_grown_defect_list": 240}
    assert scsi_health(SmartctlAnswer(tree)).values.get("grown_defects") == told


def test_a_drive_may_have_its_temperature_in_the_environmental_log_only() -> None:
    tree = {"scsi_environmental_reports": {"temperature_1": {"current": 41}}}
    assert scsi_health(SmartctlAnswer(tree)).values == {"temperature_c": 41}


@pytest.mark.parametrize("current", [0, -41, 125, 255, -128, True, "38", None, [38], 1e400, 10**400])
def test_what_is_no_temperature_is_none(current) -> None:
    tree = {"temperature": {"current": current}}
    assert "temperature_c" not in scsi_health(SmartctlAnswer(tree)).values
    assert "temperature_c" not in ata_health(SmartctlAnswer(tree)).values


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TREES = [
    *(smartctl_json_of_ata(drive) for drive in published("ata")[:4]),
    *(smartctl_json_of_scsi(drive) for drive in published("scsi")),
    json.loads(captured("qemu-nvme")),
]


def test_an_nvme_drive_behind_a_bridge_tells_what_it_told_the_kernel() -> None:
    # smartctl asked the same emulated drive by NVMe; QEMU told 5 units of a thousand sectors
    told = bridged_nvme_health(SmartctlAnswer(json.loads(captured("qemu-nvme"))))
    page = bytearray(512)
    page[1:3] = (50 + 273).to_bytes(2, "little")
    page[32], page[64] = 5, 99
    by_the_kernel = parse_smart_log(bytes(page))
    assert told.values == {
        name: value for name, value in by_the_kernel.items() if not name.startswith("throttle")
    }


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


def _changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = _changed(tree[path[0]], path[1:], value)
    return copy


@given(st.data())
def test_anything_anywhere_in_the_tree_is_borne(data) -> None:
    tree = data.draw(st.sampled_from(TREES))
    changed = _changed(tree, data.draw(st.sampled_from(_places(tree)[1:])), data.draw(ANY_JSON))
    for health in (ata_health, scsi_health, bridged_nvme_health):
        told = health(SmartctlAnswer(changed))
        assert all(isinstance(value, float | int) for value in told.values.values())
        assert all(doubt.isprintable() for doubt in told.doubts)
