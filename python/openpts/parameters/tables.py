"""The parameters of each test: what an operator may change of its standard conditions (PTS 7 to 14).

Values are in the operator's units. What is not given keeps the specification's value; what is given is
applied in the order of the table's fields.
"""

from collections.abc import Mapping
from typing import Final

from openpts.parameters.common_table import CommonParameters
from openpts.parameters.continuous_tables import (
    CrossStimulusParameters,
    IdleRecoveryParameters,
    WriteSaturationParameters,
)
from openpts.parameters.demand_tables import CompositeParameters, DemandIntensityParameters
from openpts.parameters.endurance_tables import LifetimeParameters, ThermalParameters
from openpts.parameters.entropy_table import EntropyParameters
from openpts.parameters.fill_table import FillParameters
from openpts.parameters.profile_tables import BenchmarksParameters, PreconParameters
from openpts.parameters.rotational_table import RotationalParameters
from openpts.parameters.round_tables import IopsParameters, LatencyParameters, ThroughputParameters
from openpts.parameters.sustained_table import SustainedParameters

TABLES: Final[Mapping[str, type[CommonParameters]]] = {
    "iops": IopsParameters,
    "tp": ThroughputParameters,
    "lat": LatencyParameters,
    "wsat": WriteSaturationParameters,
    "hir": IdleRecoveryParameters,
    "xsr": CrossStimulusParameters,
    "cbw": CompositeParameters,
    "dirth": DemandIntensityParameters,
    "entropy": EntropyParameters,
    "sustained": SustainedParameters,
    "fill": FillParameters,
    "benchmarks": BenchmarksParameters,
    "precon": PreconParameters,
    "thermal": ThermalParameters,
    "lifetime": LifetimeParameters,
    "hdd": RotationalParameters,
}
"""The table of each test, by its short name."""
