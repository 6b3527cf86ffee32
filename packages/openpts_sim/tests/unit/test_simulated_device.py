"""How a simulated drive is made of what the operator names, and what is refused on the way."""

import pytest

from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts_sim import simulated_device
from openpts_sim.presets import load_preset
from openpts_sim.simulated_device import SimulatedDevice
from openpts_sim.simulated_target import parse_simulated_target

GIB = 2**30


def device(text: str) -> SimulatedDevice:
    return SimulatedDevice.of(parse_simulated_target(text))


def test_memory_that_the_host_does_not_have_is_refused_before_it_is_taken(monkeypatch) -> None:
    def one_gib(_roots: SystemRoots) -> int:
        return GIB

    monkeypatch.setattr(simulated_device, "available_memory_bytes", one_gib)
    with pytest.raises(UsageError, match=r"tables .* need 2\.97 GB, 1\.07 GB .*: take a scale of 3 or more"):
        device("sim:enterprise-tlc?capacity=1TB&scale=1")
    device("sim:enterprise-tlc?capacity=1TB&scale=3")


def test_a_scale_that_leaves_no_drive_is_refused_with_one_that_does() -> None:
    with pytest.raises(UsageError, match="take a scale of 1,085 or less"):
        device("sim:enterprise-tlc?scale=1000000")
    assert device("sim:enterprise-tlc?scale=1085").facts.scale == 1085


def test_a_capacity_that_makes_no_drive_is_refused_with_one_that_does() -> None:
    with pytest.raises(UsageError, match=r"take a capacity of .* or more"):
        device("sim:client-qlc?capacity=1MiB")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("program_us = 6800", 'program_us = "fast" # '),
        ("[page_mapped.nand]", "[page_mapped.nandx]"),
        ("physical_per_user = ", "physical_per_user = nan # "),
    ],
)
def test_parameters_that_make_no_sense_are_told_with_their_place(tmp_path, old, new, golden) -> None:
    text = load_preset("client-qlc").text
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as refused:
        device(f"sim:{tmp_path}/mine.toml")
    assert str(refused.value) == golden


def test_the_record_names_an_edited_copy_as_one(tmp_path) -> None:
    (tmp_path / "mine.toml").write_text(load_preset("client-qlc").text + "\n# faster\n")
    simulation = device(f"sim:{tmp_path}/mine.toml?capacity=16GB").drive.simulation
    assert simulation.preset == "client-qlc as edited in mine.toml"
