"""What an operator gave for a test, wherever it was written, and what it makes of the standard conditions."""

from collections.abc import Mapping
from typing import Any, Final, Self

from msgspec import Struct, field

from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of

_ALTERNATIVES: Final = ({"step_seconds", "round_seconds"},)
"""Parameters that say the same thing: the one that wins leaves the others out."""


class Given(Struct, frozen=True):
    """Values by parameter; ``names`` say where each was written, for what is refused: ``--tc``."""

    values: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def over(self, other: "Given") -> Self:
        """Own values, and those of ``other`` that they don't replace."""
        replaced = set(self.values)
        for same in _ALTERNATIVES:
            if same & replaced:
                replaced |= same
        kept = [name for name in other.values if name not in replaced]
        return type(self)(
            {**{name: other.values[name] for name in kept}, **self.values},
            {**{name: other.names[name] for name in kept}, **self.names},
        )

    def name_of(self, *parameters: str) -> str:
        """Where the first of these that was given was written."""
        return next((self.names[name] for name in parameters if name in self.names), parameters[0])


def conditions_of(given: Given, standard: Conditions) -> Any:
    """The standard conditions of a test with what was given, in the order of its parameters.

    Raises UsageError, with the parameter's name, for a value that makes no sense; parameters that another
    test has are left out.
    """
    conditions: Any = standard
    for name, parameter in parameters_of(type(standard)).items():
        if name in given.values:
            conditions = parameter.applied(given.names[name], given.values[name], conditions)
    return conditions
