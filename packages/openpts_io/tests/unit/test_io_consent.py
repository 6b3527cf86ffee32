"""Whose serial number is whose, where several drives are named."""

from pathlib import Path

import pytest

from openpts.device.targets.target import BlockTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.purge import Consent
from openpts_io import io_options as io
from openpts_io.io_options import ConsentArgs


@pytest.fixture
def drives(monkeypatch) -> None:
    """Two drives with serial numbers SERIAL-sda and SERIAL-sdb."""
    monkeypatch.setattr(io, "parse_target", lambda text: BlockTarget(Path(text)))
    monkeypatch.setattr(io.BlockDevice, "of_node", lambda path, roots: path.name)
    monkeypatch.setattr(io, "serial_number", lambda device: Fact(f"SERIAL-{device}", "test"))


def consent_words(
    serials: tuple[str, ...] = (), device_paths: tuple[str, ...] = (), *, everything: bool = False
) -> ConsentArgs:
    return ConsentArgs(serials, device_paths, everything, everything)


@pytest.mark.usefixtures("drives")
def test_each_drive_finds_its_own_word() -> None:
    words = consent_words(serials=("SERIAL-sdb", "SERIAL-sda"), device_paths=("/dev/sdb",))
    assert words.for_target("/dev/sda", SystemRoots()).confirm_serial == "SERIAL-sda"
    second = words.for_target("/dev/sdb", SystemRoots())
    assert (second.confirm_serial, second.confirm_device_path) == ("SERIAL-sdb", "/dev/sdb")


@pytest.mark.usefixtures("drives")
def test_another_drives_word_confirms_nothing() -> None:
    consent = consent_words(serials=("SERIAL-sdb",)).for_target("/dev/sda", SystemRoots())
    assert consent.confirm_serial != "SERIAL-sda"
    assert consent_words().for_target("/dev/sda", SystemRoots()).confirm_serial is None


def test_a_simulated_drive_needs_no_word() -> None:
    words = consent_words(serials=("SERIAL-sdb",), everything=True)
    assert words.for_target("sim:enterprise-tlc", SystemRoots()) == Consent()
