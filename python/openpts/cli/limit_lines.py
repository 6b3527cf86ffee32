"""Verdicts on limits in words."""

from collections.abc import Iterator

from openpts.runner.limits_kept import Limits
from openpts.vocabulary.limit import Judgement, LimitVerdict


def limit_lines(limits: Limits) -> Iterator[str]:
    """How many limits were kept, and a line for each that was not, or has no verdict."""
    if not limits:
        return
    found = [verdict.judgement for _, verdict in limits]
    yield (
        f"limits: {found.count(Judgement.PASS)} passed, {found.count(Judgement.FAIL)} failed, "
        f"{found.count(Judgement.NO_VERDICT)} without a verdict"
    )
    for name, verdict in limits:
        if verdict.judgement is not Judgement.PASS:
            yield f"{verdict.judgement}: {name}: {_text(verdict)}"


def _text(verdict: LimitVerdict) -> str:
    if verdict.judgement is Judgement.NO_VERDICT:
        return f"{verdict.limit}: {verdict.reason}"
    return (
        f"{verdict.limit}: measured {verdict.limit.in_unit(verdict.value or 0.0):,.6g} {verdict.limit.unit}"
    )
