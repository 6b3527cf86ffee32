"""The drive that a rehearsal stands for, and the preset that resembles it."""

from pathlib import Path
from typing import Any

import pytest

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.errors import TargetError, UsageError
from openpts.system_files import SystemRoots
from openpts_serve.rehearsal.reference_drive import (
    Overrides,
    Subject,
    Traits,
    matched_preset,
    subject_of,
    subject_of_disk,
    traits_of,
)
from tests.support.refusals import refusal
from tests.support.transcript import Golden

SHEET = """
name = "Drive of a data sheet"
capacity_bytes = 3_840_755_982_336
preset = "enterprise-tlc"
[rated]
tbw = 7008
random_write_iops = 130_000
"""


def subject(**words: Any) -> Subject:
    nothing: dict[str, Any] = dict.fromkeys(("like", "data_sheet", "preset", "capacity_bytes"))
    return subject_of(Overrides(**{**nothing, "rated": {}, **words}), SystemRoots())


def sheet(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sheet.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_preset_stands_for_itself() -> None:
    found = subject(like="client-qlc")
    assert (found.name, found.capacity_bytes) == ("client-qlc", 1_024_209_543_168)
    assert found.rated["tbw"] == 400
    assert found.preset.name == "client-qlc"


def test_another_capacity_has_none_of_the_presets_promises() -> None:
    found = subject(like="client-qlc", capacity_bytes=2 * 10**12, rated={"tbw": 800.0})
    assert found.capacity_bytes == 2 * 10**12
    assert dict(found.rated) == {"tbw": 800.0}


def test_a_data_sheet_says_what_the_drive_is(tmp_path: Path) -> None:
    found = subject(data_sheet=sheet(tmp_path, SHEET))
    assert found.name == "Drive of a data sheet"
    assert found.capacity_bytes == 3_840_755_982_336
    assert dict(found.rated) == {"tbw": 7008, "random_write_iops": 130_000}
    assert found.preset.name == "enterprise-tlc"
    assert found.reason == "the data sheet's choice"


def test_options_count_more_than_the_data_sheet(tmp_path: Path) -> None:
    found = subject(
        data_sheet=sheet(tmp_path, SHEET), preset="client-qlc", capacity_bytes=10**12, rated={"tbw": 1.0}
    )
    assert found.preset.name == "client-qlc"
    assert found.capacity_bytes == 10**12
    assert dict(found.rated) == {"tbw": 1.0, "random_write_iops": 130_000}
    assert found.reason == "the operator's choice"


def test_without_any_word_about_the_drive_there_is_nothing_to_rehearse() -> None:
    with pytest.raises(UsageError, match="--like"):
        subject()


def test_a_data_sheet_that_makes_no_sense_is_refused(tmp_path: Path, golden: Golden) -> None:
    cases = (
        "color = 'red'",
        "[rated]\nspeed = 3",
        "rated = 3",
        "capacity_bytes = 0",
        "[rated]\ntbw = true",
        "[rated]\ntbw = nan",
        "\nname = ]",
        "capacity_bytes = 1000.5",
        "name = 3",
        "preset = 3",
    )
    assert [refusal(subject, data_sheet=sheet(tmp_path, text), preset="theory") for text in cases] == golden


def test_a_capacity_in_powers_of_ten_is_a_whole_number_as_well(tmp_path: Path) -> None:
    capacity_bytes = subject(
        data_sheet=sheet(tmp_path, "capacity_bytes = 1.6e12"), preset="mlc"
    ).capacity_bytes
    assert (capacity_bytes, type(capacity_bytes)) == (1_600_000_000_000, int)


def test_a_capacity_that_no_drive_has_is_refused() -> None:
    with pytest.raises(UsageError, match="more than any drive has"):
        subject(like="client-qlc", capacity_bytes=10**23)


def test_a_missing_data_sheet_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        subject(data_sheet=tmp_path / "none.toml", preset="theory")


def test_a_drive_of_this_machine_is_known_by_sysfs_alone(server: SystemRoots, golden: Golden) -> None:
    found = subject_of_disk(BlockDevice.of_name("nvme0n1", server), None)
    assert found.name == "SAMSUNG MZWLO3T8HCLS-00A07 (nvme0n1)"
    assert found.capacity_bytes == 7_501_476_528 * 512
    assert found.preset.name == "enterprise-tlc"
    assert found.reason == golden
    assert not found.rated


def test_the_operators_preset_counts_more_than_the_match(server: SystemRoots) -> None:
    found = subject_of_disk(BlockDevice.of_name("nvme0n1", server), "client-qlc")
    assert found.preset.name == "client-qlc"
    assert found.reason == "the operator's choice"


def test_traits_of_a_sata_drive(server: SystemRoots) -> None:
    traits = traits_of(BlockDevice.of_name("sda", server))
    assert traits.kind is DeviceKind.ATA
    assert traits.volatile_cache is True
    assert not traits.over_usb


def traits(kind: DeviceKind, **changes: Any) -> Traits:
    nothing: dict[str, Any] = {"over_usb": False, "rotational": False, "volatile_cache": None}
    return Traits(name="drive", kind=kind, **{**nothing, **changes})


@pytest.mark.parametrize(
    ("found", "preset"),
    [
        (traits(DeviceKind.NVME, volatile_cache=False), "enterprise-tlc"),
        (traits(DeviceKind.NVME, volatile_cache=True), "client-qlc"),
        (traits(DeviceKind.NVME), "client-qlc"),
        (traits(DeviceKind.ATA, volatile_cache=True), "sata-reduction"),
        (traits(DeviceKind.SCSI), "sata-reduction"),
        (traits(DeviceKind.SCSI, over_usb=True), "tlc"),
        (traits(DeviceKind.SCSI, over_usb=True, rotational=True), "tlc"),
        (traits(DeviceKind.MMC), "log-block"),
    ],
)
def test_each_kind_of_drive_has_a_preset_and_a_reason(found: Traits, preset: str) -> None:
    name, reason = matched_preset(found)
    assert name == preset
    assert reason


@pytest.mark.parametrize(
    "found", [traits(DeviceKind.ATA, rotational=True), traits(DeviceKind.VIRTIO), traits(DeviceKind.LOOP)]
)
def test_what_no_preset_resembles_is_left_to_the_operator(found: Traits) -> None:
    with pytest.raises(TargetError, match="--preset"):
        matched_preset(found)


@pytest.mark.parametrize("kind", [DeviceKind.LOOP, DeviceKind.VIRTIO])
def test_what_only_the_kernel_calls_rotating_is_not_called_a_rotating_disk(kind: DeviceKind) -> None:
    with pytest.raises(TargetError, match="doesn't report what is behind it"):
        matched_preset(traits(kind, rotational=True))
