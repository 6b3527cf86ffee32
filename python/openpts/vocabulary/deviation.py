"""The ledger's entry: one thing that a run does otherwise than the specification (PTS 1.1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """A departure from a requirement, with the value asked for and the one used.

    ``rule_id`` is the requirement's ID in docs/requirements.md; ``clause`` its place in the specification.
    """

    rule_id: str
    clause: str
    required: str
    used: str
    effect: str
