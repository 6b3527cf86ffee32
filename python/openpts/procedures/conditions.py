"""The conditions of any test, told apart by their tag: what a record holds and a runner takes."""

from openpts.procedures.extended.benchmarks.conditions import BenchmarksConditions
from openpts.procedures.extended.entropy.conditions import EntropyConditions
from openpts.procedures.extended.fill.conditions import FillConditions
from openpts.procedures.extended.hdd.conditions import RotationalConditions
from openpts.procedures.extended.lifetime.conditions import LifetimeConditions
from openpts.procedures.extended.precon.conditions import PreconConditions
from openpts.procedures.extended.sustained.conditions import SustainedConditions
from openpts.procedures.extended.thermal.conditions import ThermalConditions
from openpts.procedures.pts.cbw.conditions import CompositeConditions
from openpts.procedures.pts.dirth.conditions import DemandIntensityConditions
from openpts.procedures.pts.hir.conditions import IdleRecoveryConditions
from openpts.procedures.pts.iops.conditions import IopsConditions
from openpts.procedures.pts.lat.conditions import LatencyConditions
from openpts.procedures.pts.tp.conditions import ThroughputConditions
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions

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
