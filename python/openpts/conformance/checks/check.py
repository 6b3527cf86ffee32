"""The form of a check."""

from collections.abc import Callable, Mapping

from openpts.conformance.evidence import Evidence
from openpts.conformance.finding import Finding

Check = Callable[[Evidence], Finding]
Checks = Mapping[str, Check]
"""By the requirement's ID."""
