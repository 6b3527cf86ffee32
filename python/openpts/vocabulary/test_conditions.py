"""The conditions of any test, told apart by their tag: what a record holds and a runner takes."""

from openpts.vocabulary.conditions import (
    CompositeConditions,
    CrossStimulusConditions,
    DemandIntensityConditions,
    IdleRecoveryConditions,
    IopsConditions,
    LatencyConditions,
    ThroughputConditions,
    WriteSaturationConditions,
)
from openpts.vocabulary.entropy_conditions import EntropyConditions
from openpts.vocabulary.fill_conditions import FillConditions
from openpts.vocabulary.lifetime_conditions import LifetimeConditions
from openpts.vocabulary.profile_conditions import BenchmarksConditions, PreconConditions
from openpts.vocabulary.rotational_conditions import RotationalConditions
from openpts.vocabulary.sustained_conditions import SustainedConditions
from openpts.vocabulary.thermal_conditions import ThermalConditions

TestConditions = (
    IopsConditions
    | ThroughputConditions
    | LatencyConditions
    | WriteSaturationConditions
    | IdleRecoveryConditions
    | CrossStimulusConditions
    | CompositeConditions
    | DemandIntensityConditions
    | EntropyConditions
    | SustainedConditions
    | FillConditions
    | BenchmarksConditions
    | PreconConditions
    | ThermalConditions
    | LifetimeConditions
    | RotationalConditions
)
