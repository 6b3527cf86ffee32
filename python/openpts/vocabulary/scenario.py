"""The two ways in which a machine may be set up for a measurement (performance evaluation guide, 1.2)."""

from enum import StrEnum


# SOL-GEN-02
class Scenario(StrEnum):
    """What a run is to show; its value is the word for the command line and the report."""

    REAL_WORLD = "real-world"
    SYNTHETIC = "synthetic"

    @property
    def subject(self) -> str:
        """What is tested: a machine as its users have it, or the drive alone."""
        return "the platform" if self is Scenario.REAL_WORLD else "the drive"
