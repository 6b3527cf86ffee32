"""The conditions of the composite block size workload test."""

from openpts.procedures.shared.demand.conditions import DemandConditions


class CompositeConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="cbw"):
    """Composite block size workload (PTS 13.2)."""
