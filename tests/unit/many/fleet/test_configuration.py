from pathlib import Path

import pytest

from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts_many.fleet.configuration import Engine, Slot, parse_fleet, read_fleet
from tests.support.transcript import Golden

LAB = b"""
backend = "ssh"
runs = "/srv/openpts"
program = "/opt/openpts/bin/openpts"

[hosts.h1]
address = "10.77.0.2"
user = "root"
ssh_options = ["-p", "2222"]
housekeeping = "0-1,8"
[hosts.h1.slots]
s00 = "/dev/disk/by-path/pci-0000:01:00.0-nvme-1"
s01 = { target = "/dev/disk/by-path/pci-0000:02:00.0-nvme-1", model = "PM9A3" }

[hosts.h2]
runs = "/data/runs"
program = "openpts-nightly"
slots = { s00 = "sim:mlc?capacity=4GB", s01 = "sim:mlc?capacity=4GB", s02 = "file:/data/f?size=1GiB" }
"""


def test_a_host_has_what_the_file_says_of_it_or_of_all() -> None:
    fleet = parse_fleet(LAB, "fleet.toml")
    assert fleet.backend is Engine.SSH
    first, second = fleet.hosts.values()
    assert (first.name, first.address, first.user, first.ssh_options) == (
        "h1",
        "10.77.0.2",
        "root",
        ("-p", "2222"),
    )
    assert (first.runs, first.program) == (Path("/srv/openpts"), "/opt/openpts/bin/openpts")
    assert first.housekeeping == (0, 1, 8)
    assert first.slots["s01"] == Slot("/dev/disk/by-path/pci-0000:02:00.0-nvme-1", "PM9A3")
    assert (second.address, second.user, second.ssh_options, second.housekeeping) == ("h2", None, (), ())
    assert (second.runs, second.program) == (Path("/data/runs"), "openpts-nightly")
    assert fleet.slot("h2", "s00").target == "sim:mlc?capacity=4GB"


WRONG = (
    'backend = "slrm"\nhosts = {}',
    'backend = "ssh"\nhosts = {}',
    'backend = "ssh"\n[hosts.h1]\nadress = "a"\nslots = {}',
    'backend = "ssh"\n[hosts.h1]\nuser = 1\nslots = {}',
    'backend = "ssh"\n[hosts.h1]\n',
    'backend = "ssh"\n[hosts."-h"]\nslots = {}',
    'backend = "ssh"\n[hosts.h]\naddress = "-oProxyCommand=x"\nslots = {}',
    'backend = "ssh"\n[hosts.h]\nuser = "a b"\nslots = {}',
    'backend = "ssh"\n[hosts.h]\nruns = "runs"\nslots = {}',
    'backend = "ssh"\nprogram = "bin/o"\n[hosts.h]\nslots = {}',
    'backend = "ssh"\n[hosts.h]\nhousekeeping = "3-1"\nslots = {}',
    'backend = "ssh"\n[hosts.h.slots]\n0 = "/dev/a"',
    'backend = "ssh"\n[hosts.h.slots]\na = "nvme0n1"',
    'backend = "ssh"\n[hosts.h.slots]\na = { model = "x" }',
    'backend = "ssh"\n[hosts.h.slots]\na = "/dev/a"\nb = "/dev/a"',
    'backend = "ssh"\n[hosts.h]\nslots = { a = "/dev/a", b = 3 }',
)


def test_what_is_wrong_is_named_with_its_place(golden: Golden) -> None:
    said = {}
    for text in WRONG:
        with pytest.raises(WrittenFileError) as caught:
            parse_fleet(text.encode(), "fleet.toml")
        said[text] = caught.value.complaints
    assert said == golden


def test_all_that_is_wrong_is_named_at_once() -> None:
    text = b'backend = "ssh"\nruns = "x"\n[hosts.h]\nprogram = "./o"\n[hosts.h.slots]\n9 = "a"\n'
    with pytest.raises(WrittenFileError) as caught:
        parse_fleet(text, "f")
    assert [complaint.split(": ")[0] for complaint in caught.value.complaints] == [
        "f:2:1",
        "f:4:1",
        "f:6:1",
        "f:6:1",
    ]


def test_an_unknown_host_or_slot_is_refused_with_those_that_there_are() -> None:
    fleet = parse_fleet(LAB, "fleet.toml")
    with pytest.raises(UsageError, match="no host h11: did you mean h1"):
        fleet.host("h11")
    with pytest.raises(UsageError, match="no slot s09 on h1: known are s00, s01"):
        fleet.slot("h1", "s09")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no fleet file .*: name one with --fleet"):
        read_fleet(tmp_path / "fleet.toml")
