from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts_sim.simulated_target import simulated_facts

SIMULATION = SimulationFacts("enterprise-tlc", "a drive", "page-mapped", 67, 1_000_000_000, 255, ())
TARGET = TargetFacts(
    TargetKind.SIMULATED, "sim:enterprise-tlc", "sim:enterprise-tlc", 67_000_000_000, 512, SIMULATION
)
# of a drive that exists, by device/identity/identity.py
KEYS = {
    "capacity", "manufacturer", "model", "serial", "firmware", "interface", "form_factor", "nand_type",
    "features", "sector", "file_system", "pcie", "hba",
}  # fmt: skip


def test_nothing_is_made_up_to_look_like_a_product(golden) -> None:
    facts = simulated_facts(TARGET, SIMULATION)
    assert facts.keys() == KEYS
    assert (facts["manufacturer"].value, facts["model"].value) == ("openpts", "enterprise-tlc")
    assert facts["interface"].value == "simulated"
    assert facts["serial"].value == "SIM00FF"
    assert facts["capacity"].value == "67 GB (67,000,000,000 bytes)"
    assert facts["capacity"].source == golden
    assert all(facts[key].value == "none (simulated)" for key in ("form_factor", "pcie", "hba"))
