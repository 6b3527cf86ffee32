"""What a simulated drive says it is, under the keys of the report's header: nothing is made up."""

from importlib.metadata import version
from typing import Final

from openpts.units import format_capacity
from openpts.vocabulary.facts import Fact, Facts, SimulationFacts, TargetFacts

_NO_HARDWARE: Final = Fact("none (simulated)", "there is no hardware")


def simulated_facts(target: TargetFacts, simulation: SimulationFacts) -> Facts:
    """The facts of a simulated drive: its maker is openpts, its model the preset."""
    capacity_bytes = target.user_capacity_bytes
    return {
        "capacity": Fact(
            f"{format_capacity(capacity_bytes)} ({capacity_bytes:,} bytes)",
            f"{simulation.simulated_bytes:,} simulated bytes, each of which stands for {simulation.scale:,}",
        ),
        "manufacturer": Fact("openpts", "the simulator"),
        "model": Fact(simulation.preset, "name of the preset"),
        "serial": Fact(f"SIM{simulation.seed:04X}", "seed of the drive"),
        "firmware": Fact(version("openpts"), "version of openpts"),
        "interface": Fact("simulated", "the simulator"),
        "form_factor": _NO_HARDWARE,
        "nand_type": Fact(f"{simulation.model} model (simulated)", "kind of the preset's model"),
        "features": Fact(None, "see the preset's parameters"),
        "sector": Fact(f"{target.sector_bytes} B logical", "preset"),
        "file_system": Fact("none (simulated drive)", "the target is a simulated drive"),
        "pcie": _NO_HARDWARE,
        "hba": _NO_HARDWARE,
    }
