"""The conditions of the latency test."""

from openpts.procedures.shared.rounds.conditions import RoundConditions


class LatencyConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="lat"):
    """Latency test (PTS 9.2). ``nines`` None leaves the histogram at its length."""

    histogram_ns: int
    nines: int | None = None
