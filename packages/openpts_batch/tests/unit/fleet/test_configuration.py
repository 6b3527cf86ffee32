from pathlib import Path

import pytest

from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts_batch.fleet.configuration import Slot, parse_fleet, read_fleet

LAB = b"""
runs = "/srv/openpts"
program = "/opt/openpts/bin/openpts"

[hosts.h1]
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
    first, second = fleet.hosts.values()
    assert (first.name, first.runs, first.program) == ("h1", Path("/srv/openpts"), "/opt/openpts/bin/openpts")
    assert first.slots["s01"] == Slot("/dev/disk/by-path/pci-0000:02:00.0-nvme-1", "PM9A3")
    assert (second.runs, second.program) == (Path("/data/runs"), "openpts-nightly")
    assert fleet.slot("h2", "s00").target == "sim:mlc?capacity=4GB"


WRONG = (
    'backend = "slurm"\nhosts = {}', "hosts = {}", '[hosts.h1]\nprogramm = "a"\nslots = {}',
    "[hosts.h1]\nprogram = 1\nslots = {}", "[hosts.h1]\n", '[hosts."-h"]\nslots = {}',
    '[hosts.h]\nruns = "runs"\nslots = {}', 'program = "bin/o"\n[hosts.h]\nslots = {}',
    '[hosts.h.slots]\n0 = "/dev/a"', '[hosts.h.slots]\na = "nvme0n1"',
    '[hosts.h.slots]\na = { model = "x" }', '[hosts.h.slots]\na = "/dev/a"\nb = "/dev/a"',
    '[hosts.h]\nslots = { a = "/dev/a", b = 3 }',
)  # fmt: skip


def test_what_is_wrong_is_named_with_its_place(golden) -> None:
    said = {}
    for text in WRONG:
        with pytest.raises(WrittenFileError) as caught:
            parse_fleet(text.encode(), "fleet.toml")
        said[text] = caught.value.complaints
    assert said == golden


def test_all_that_is_wrong_is_named_at_once() -> None:
    text = b'runs = "x"\n[hosts.h]\nprogram = "./o"\n[hosts.h.slots]\n9 = "a"\n'
    with pytest.raises(WrittenFileError) as caught:
        parse_fleet(text, "f")
    assert [complaint.split(": ")[0] for complaint in caught.value.complaints] == [
        "f:1:1",
        "f:3:1",
        "f:5:1",
        "f:5:1",
    ]


def test_an_unknown_host_or_slot_is_refused_with_those_that_there_are() -> None:
    fleet = parse_fleet(LAB, "fleet.toml")
    with pytest.raises(UsageError, match="no host h11: did you mean h1"):
        fleet.host("h11")
    with pytest.raises(UsageError, match="no slot s09 on h1: known are s00, s01"):
        fleet.slot("h1", "s09")


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"there is no fleet file .*: name one with --fleet"):
        read_fleet(tmp_path / "fleet.toml")
