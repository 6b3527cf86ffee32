"""What fio cannot do, by name."""

from collections.abc import Sequence

from openpts.errors import UsageError


def refusal(what: str, because: str = "") -> UsageError:
    """The error that says that fio has no such thing, and why what it has instead is not the same."""
    return UsageError(f"fio has no {what}{f': {because}' if because else ''}")


def whole_pcts(what: str, weights: Sequence[int]) -> tuple[int, ...]:
    """Weights in per cent of their sum. Raises UsageError unless all are whole, as fio has no others."""
    total = sum(weights)
    if total <= 0:
        raise UsageError(f"the {what} weigh nothing")
    if any(100 * weight % total for weight in weights):
        shares = ", ".join(f"{100 * weight / total:.4g} %" for weight in weights)
        raise refusal(f"fractions of a per cent for {what}", shares)
    return tuple(100 * weight // total for weight in weights)
