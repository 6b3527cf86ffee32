"""The list of drives, as text for terminals of several widths and as JSON."""

import json

import pytest
from click.testing import CliRunner

from openpts.cli import devices as devices_module
from openpts.cli.devices import devices
from openpts.device.guard.rules import Refusal
from openpts.device.identity.media import Media
from openpts.device.link.link import NegotiatedLink
from openpts.device.listing.drive_listing import DeviceListing, PurgeAbility, Verdict
from openpts.errors import UsageError
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.health import HealthReading

LONG_SERIAL = "S4EVNX0R512345678901"
MOUNTED = Refusal("mounted", "/dev/sda1 is mounted at /home", "see findmnt; unmount it if it isn't needed")
LISTINGS = [
    DeviceListing(
        path="/dev/nvme0n1",
        facts={
            "model": Fact("[bold]Drive of a long name", "/sys/block/nvme0n1/device/model"),
            "serial": Fact(LONG_SERIAL, "device/serial"),
            "firmware": Fact("2B2QEXM7", "device/firmware_rev"),
            "interface": Fact("NVMe 2.0 over PCIe", "transport"),
            "form_factor": Fact(None, "NVMe has no field for it"),
            "write_cache": Fact("WCE", "NVMe Get Features, 06h"),
        },
        capacity_bytes=1_920_383_410_176,
        sector_bytes=512,
        physical_sector_bytes=4096,
        media=Media("solid state", None, "queue/rotational"),
        link=NegotiatedLink("Gen 3 x4", "Gen 4 x4", ("the PCIe link runs at Gen 3 x4",), "PCI"),
        verdict=Verdict(),
        siblings=("/dev/nvme0n2",),
        health=HealthReading("NVMe log page 02h", {"temperature_c": 41.0, "percentage_used_pct": 3.0}),
        purge=(
            PurgeAbility("nvme-format", "NVMe Format NVM", True, True, "OACS", 60.0),
            PurgeAbility("overwrite", "overwriting", False, True, "any drive", None),
            PurgeAbility("sanitize", "NVMe Sanitize", True, False, "SANICAP is 0", None),
        ),
        warnings=("the PCIe link runs at Gen 3 x4",),
    ),
    DeviceListing(
        path="/dev/sda",
        facts={},
        capacity_bytes=10**9,
        sector_bytes=None,
        physical_sector_bytes=None,
        media=Media("rotational", 7200, "word 217"),
        link=NegotiatedLink(None, None, (), "nothing"),
        verdict=Verdict((MOUNTED,)),
        silent="no answer within 10 s: see dmesg",
    ),
]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "list_devices", lambda _roots, _patience_s: LISTINGS)


def _lines(width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return CliRunner().invoke(devices).output.splitlines()


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200, 240])
def test_a_line_per_drive_fits_and_says_whether_it_may_be_tested(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    heading, nvme, sata, *_ = _lines(width, monkeypatch)
    assert all(len(line) <= width for line in (heading, nvme, sata))
    for part in ("/dev/nvme0n1", "[bold]D", LONG_SERIAL, "1,920 GB"):
        assert part in nvme
    assert nvme.rstrip().endswith("free")
    assert sata.rstrip().endswith("no: mounted")


def test_a_wider_terminal_shows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = _lines(240, monkeypatch)[1]
    for part in (
        "2B2QEXM7",
        "NVMe 2.0 over PCIe",
        "Gen 3 x4",
        "SSD",
        "512/4096",
        "WCE",
        "41 C",
        "3 %",
        "nvme-format",
    ):
        assert part in wide
    assert "overwrite" not in wide
    assert "sanitize" not in wide


def test_what_is_wrong_stands_below_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    below = _lines(80, monkeypatch)[3:]
    assert below == [
        "/dev/nvme0n1: warning: the PCIe link runs at Gen 3 x4",
        "/dev/sda: no answer within 10 s: see dmesg",
        f"/dev/sda: {MOUNTED}",
    ]


def test_json_has_a_version_and_an_object_for_each_drive() -> None:
    told = json.loads(CliRunner().invoke(devices, ["--json"]).output)
    assert (told["schema"], told["schema_version"]) == ("openpts-devices", 1)
    nvme, sata = told["devices"]
    assert (nvme["path"], nvme["serial"], nvme["capacity_bytes"]) == (
        "/dev/nvme0n1",
        LONG_SERIAL,
        1_920_383_410_176,
    )
    assert nvme["link"] == {"current": "Gen 3 x4", "maximum": "Gen 4 x4"}
    assert nvme["safety"] == {"verdict": "free", "reason": None, "refusals": []}
    assert nvme["facts"]["form_factor"] == {"value": None, "source": "NVMe has no field for it"}
    assert nvme["other_namespaces"] == ["/dev/nvme0n2"]
    assert sata["model"] is None
    assert sata["rotation_rpm"] == 7200
    assert sata["silent"] == "no answer within 10 s: see dmesg"
    assert sata["safety"]["refusals"] == [
        {"rule": "mounted", "evidence": MOUNTED.evidence, "remedy": MOUNTED.remedy}
    ]


def test_the_details_name_the_place_of_each_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(devices_module, "list_device", lambda _device, _roots, _patience_s: LISTINGS[0])
    monkeypatch.setattr(devices_module, "_drive", lambda _node, _roots: None)
    output = CliRunner().invoke(devices, ["/dev/nvme0n1"]).output
    by_name = {line[:22].strip(): line[22:].split() for line in output.splitlines()}
    assert by_name["Model"][-1] == "/sys/block/nvme0n1/device/model"
    assert by_name["Form factor"] == ["not", "reported", "NVMe", "has", "no", "field", "for", "it"]
    assert by_name["Temperature"][:2] == ["41", "C"]
    assert by_name["Purge nvme-format"][:4] == ["yes,", "1", "min", "0"]
    assert by_name["Purge sanitize"] == ["no", "SANICAP", "is", "0"]
    assert "It may be tested, once it is confirmed." in output


@pytest.mark.parametrize("node", ["file:x?size=1GiB", "sim:client-qlc"])
def test_only_a_drive_has_details(node: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=": name a drive such as /dev/nvme0n1"):
        CliRunner().invoke(devices, [node], catch_exceptions=False)
