"""How much faster than a drive the simulation of one runs, in words."""

from openpts.units import NS_PER_S, format_duration


def simulated_time_text(simulated_ns: int, wall_s: float) -> str:
    """The time that passed for the drive and for its user: ``simulated 14 min 2 s in 3.20 s``."""
    return f"simulated {format_duration(simulated_ns)} in {format_duration(round(wall_s * NS_PER_S))}"
