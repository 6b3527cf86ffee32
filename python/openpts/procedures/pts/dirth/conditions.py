"""The conditions of the demand intensity test."""

from openpts.procedures.shared.demand.conditions import DemandConditions


class DemandIntensityConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="dirth"):
    """Demand intensity and response time histogram (PTS 14.2)."""
