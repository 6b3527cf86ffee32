"""A simulated drive tells what its data sheet has, under the names of claims."""

from openpts.device.targets.simulated_target import parse_simulated_target
from openpts.pages.model import Verdict
from openpts.runner.simulated_device import SimulatedDevice
from openpts.simulation.presets import load_preset
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.purpose import Purpose
from openpts_practice.rows.sustained.report import claims_of
from openpts_practice.rows.sustained.results import claims_page
from openpts_practice.rows.sustained.script import standard_conditions


def rated(name: str) -> dict[str, str | None]:
    facts = SimulatedDevice.of(parse_simulated_target(f"sim:{name}")).identity()
    return {key: fact.value for key, fact in facts.items() if key.startswith("rated_")}


def test_rates_in_the_units_of_claims() -> None:
    preset = load_preset("client-qlc").rated
    assert rated("client-qlc") == {
        "rated_sequential_write_mb_per_s": f"{preset['sequential_write_bytes_per_s'] / 1e6:.12g}",
        "rated_sequential_read_mb_per_s": f"{preset['sequential_read_bytes_per_s'] / 1e6:.12g}",
        "rated_random_write_iops": f"{preset['random_write_iops']:.12g}",
        "rated_random_read_iops": f"{preset['random_read_iops']:.12g}",
    }


def test_a_drive_of_another_capacity_is_not_held_against_the_claims_of_the_full_model(golden) -> None:
    facts = SimulatedDevice.of(parse_simulated_target("sim:client-qlc?capacity=256GB")).identity()
    rates = {key: fact for key, fact in facts.items() if key.startswith("rated_")}
    assert {fact.value for fact in rates.values()} == {None}
    assert {fact.source for fact in rates.values()} == {
        "rated by the preset client-qlc for 1,024 GB, not for 256 GB"
    }
    claims, source = claims_of(standard_conditions(DriveClass.CLIENT, 1), facts)
    assert claims == ()
    assert not source.stands_in
    (told,) = claims_page((), source, "a load", Purpose()).blocks
    assert isinstance(told, Verdict)
    assert told.text == golden


def test_a_drive_of_no_data_sheet_tells_nothing() -> None:
    assert rated("oracle") == {}
