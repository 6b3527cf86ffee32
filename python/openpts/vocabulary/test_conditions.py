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
from openpts.vocabulary.profile_conditions import PreconConditions, ProfileConditions

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
    | ProfileConditions
    | PreconConditions
)
