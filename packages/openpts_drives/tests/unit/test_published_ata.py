"""SATA drives of real models: what may be told of each, from the attributes and statistics as published.

Where a drive tells the same in two places, the one is held against the other.
"""

import json

import pytest

from openpts.units import GB, GIB, MIB
from openpts_drives.health.ata_health import SmartctlAnswer, ata_health
from tests.support.published_drives import PublishedDrive, captured, published, smartctl_json_of_ata

DRIVES = published("ata")
SECTOR = 512

# host writes in bytes, NAND writes in bytes, per cent used, hours, degrees; None: must be left out
EXPECTED = {
    # statistics keep 32 bits, the attribute has no known unit
    "adata-asu800ss-256gt": (None, None, 16, 8381, None),
    "crucial-ct2000mx500ssd1": (109915144940 * SECTOR, None, 25, 17289, 33),
    # 2 % used in one place, 21 in the other; no thermometer
    "crucial-m4-256gb": (196891108568 * SECTOR, None, None, 75715, None),
    "intel-320-ssdsa2cw120g3": (658661459848 * SECTOR, None, 60, 88295, None),
    # 967,278 hours in one place, 72,484 in the other; 255 % used in one, 16 in the other
    "intel-520-ssdsc2cw240a3": (320975929825 * SECTOR, 225084 * GIB, None, None, None),
    "intel-s3500-ssdsc2bb160g4": (203931297632 * SECTOR, None, 25, 76251, 22),
    "intel-s3700-ssdsc2ba100g3": (2383278543578 * SECTOR, None, 30, 72560, 28),
    # 0 % used in one place, 45 in the other
    "kingston-sedc500m480g": (2664308069624 * SECTOR, 1512138 * GIB, None, 16773, 24),
    "kingston-sv300s37a240g": (154969 * GIB, None, 24, 68365, 28),
    "kingston-sv300s37a60g": (9708 * GIB, None, 40, 68555, 32),
    "micron-1100-256gb": (80021794573 * SECTOR, None, 27, 3272, 40),
    # 128 degrees
    "ocz-vertex3-120gb": (6643 * GIB, None, 1, 118974, None),
    "samsung-840-evo-120gb": (12696261943 * SECTOR, None, 4, 125794, 24),
    "samsung-850-pro-1tb": (26606479008 * SECTOR, None, 1, 120992, 26),
    "samsung-mz7ge480hmhp": (266451085955 * SECTOR, None, 16, 54079, 26),
    # its NAND_Writes carries no unit
    "samsung-mz7kh1t9hajr": (429290520498 * SECTOR, None, 0, 24395, 31),
    # 19,053 hours in one place, 20,300 in the other
    "sandisk-sd8sb8u256g1122": (25140221441 * SECTOR, 25000 * GIB, 14, None, 39),
    # its Total_LBAs_Written counts gigabytes
    "sandisk-sdlf1dar-480g": (277811982874 * SECTOR, None, 7, 18850, 26),
    "seagate-nytro-xa240le10003": (3936327355 * SECTOR, None, 0, 3967, 36),
    "skhynix-hfs960g32feh": (3683957466 * SECTOR, None, 0, 3559, 30),
    "toshiba-khk61rse960g": (674209866764 * SECTOR, None, 15, 15084, 27),
    "transcend-ts256gmts800s": (3040400333 * SECTOR, None, 1, 1035, 33),
    # statistics count no hours; its Media_Wearout_Indicator is not Intel's
    "wdc-wds100t2b0a": (259146970295 * SECTOR, None, 29, 35944, 27),
}

each_drive = pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: drive.name)


def _told(drive: PublishedDrive):
    return ata_health(SmartctlAnswer(smartctl_json_of_ata(drive)))


def test_there_are_models_enough() -> None:
    assert len({drive.identity["model"] for drive in DRIVES}) >= 20
    assert len({drive.identity["vendor"] for drive in DRIVES}) >= 3
    assert {drive.name for drive in DRIVES} == set(EXPECTED)


@each_drive
def test_what_is_unambiguous_is_told_and_nothing_else(drive) -> None:
    values = _told(drive).values
    names = ("host_write_bytes", "nand_write_bytes", "percentage_used_pct", "power_on_hours", "temperature_c")
    assert tuple(values.get(name) for name in names) == EXPECTED[drive.name]


@each_drive
def test_what_was_left_out_is_named_with_its_contradiction(drive) -> None:
    told = _told(drive)
    for name in ("host_write_bytes", "percentage_used_pct", "power_on_hours"):
        assert (name in told.values) != any(doubt.startswith(name) for doubt in told.doubts)


# an attribute whose unit its name tells, against the drive's own count of sectors
IN_NAMED_UNITS = {
    "intel-320-ssdsa2cw120g3": (10050376, 32 * MIB),
    "intel-520-ssdsc2cw240a3": (4894537, 32 * MIB),
    "intel-s3500-ssdsc2bb160g4": (3111744, 32 * MIB),
    "intel-s3700-ssdsc2ba100g3": (36365944, 32 * MIB),
    "kingston-sedc500m480g": (1270441, GIB),
    "sandisk-sd8sb8u256g1122": (11987, GIB),
    "sandisk-sdlf1dar-480g": (142208, GB),
    "transcend-ts256gmts800s": (46392, 32 * MIB),
    "wdc-wds100t2b0a": (123570, GIB),
}


@pytest.mark.parametrize("name", IN_NAMED_UNITS)
def test_host_writes_are_what_the_drive_says_elsewhere_in_other_units(name) -> None:
    (drive,) = (drive for drive in DRIVES if drive.name == name)
    count, unit = IN_NAMED_UNITS[name]
    assert _told(drive).values["host_write_bytes"] == pytest.approx(count * unit, rel=0.001, abs=unit)


def test_a_counter_in_gigabytes_tells_its_steps() -> None:
    (drive,) = (drive for drive in DRIVES if drive.name == "kingston-sv300s37a60g")
    assert _told(drive).values["host_write_unit_bytes"] == GIB
    (drive,) = (drive for drive in DRIVES if drive.name == "kingston-sedc500m480g")
    values = _told(drive).values
    assert values["nand_write_unit_bytes"] == GIB
    assert "host_write_unit_bytes" not in values


def test_errors_and_cycles() -> None:
    by_name = {drive.name: _told(drive).values for drive in DRIVES}
    assert by_name["wdc-wds100t2b0a"]["reallocated_sectors"] == 104
    assert by_name["sandisk-sdlf1dar-480g"]["media_errors"] == 52
    assert by_name["intel-s3700-ssdsc2ba100g3"]["pending_sectors"] == 0
    # smartmontools says of this one that it is bogus
    assert "pending_sectors" not in by_name["crucial-ct2000mx500ssd1"]
    assert by_name["kingston-sv300s37a60g"]["power_cycles"] == 293
    assert by_name["kingston-sv300s37a60g"]["unsafe_shutdowns"] == 265
    assert by_name["samsung-mz7kh1t9hajr"]["host_write_commands"] == 8129389095


def test_the_counts_beside_a_counter_that_wraps_are_worth_as_little() -> None:
    (drive,) = (drive for drive in DRIVES if drive.name == "crucial-ct2000mx500ssd1")
    told = _told(drive)
    assert not {"host_write_commands", "host_read_bytes", "host_read_commands"} & set(told.values)
    assert told.doubts == [
        "host_read_bytes left out: device statistics, whose other counters are wrong, 1100596803072"
    ]


def test_host_reads_are_told_where_nothing_contradicts_them() -> None:
    by_name = {drive.name: _told(drive).values for drive in DRIVES}
    assert by_name["intel-320-ssdsa2cw120g3"]["host_read_bytes"] == 68261167156 * SECTOR
    assert by_name["ocz-vertex3-120gb"]["host_read_bytes"] == 40071 * GIB
    assert by_name["crucial-m4-256gb"]["host_read_commands"] == 70419601
    assert "host_read_bytes" not in by_name["adata-asu800ss-256gt"]


def test_an_emulated_disk_as_smartctl_prints_it() -> None:
    told = ata_health(SmartctlAnswer(json.loads(captured("qemu-sata"))))
    assert told.values == {
        "temperature_c": 31.0,
        "power_cycles": 0.0,
        "power_on_hours": 1.0,
        "reallocated_sectors": 0.0,
    }
    assert told.doubts == []
