"""The verdicts of a gate in the forms of test runners: JUnit XML and TAP."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.gate.junit import CaseOutcome, JunitCase, junit_xml
from openpts_compare.limits.words import limit_line

# A limit without a verdict is not kept: the gate does not pass.
_OUTCOMES: Final = {
    Judgement.PASS: CaseOutcome.PASSED,
    Judgement.FAIL: CaseOutcome.FAILED,
    Judgement.NO_VERDICT: CaseOutcome.ERROR,
}


def gate_junit(limits: Iterable[JudgedLimit], runs: Sequence[str]) -> bytes:
    """A ``testcase`` for each limit; ``runs`` are the folders that were judged."""
    cases = (
        JunitCase(
            name=f"{limit.name} {limit.limit}",
            classname="openpts.gate",
            time_s=0.0,
            outcome=_OUTCOMES[limit.judgement],
            message=limit_line(limit),
            output=limit_line(limit) if limit.judgement is Judgement.PASS else "",
        )
        for limit in limits
    )
    return junit_xml("openpts gate", cases, {"runs": "; ".join(runs)})


def gate_tap(limits: Sequence[JudgedLimit]) -> Iterator[str]:
    """Lines of the Test Anything Protocol, version 14."""
    yield "TAP version 14"
    yield f"1..{len(limits)}"
    for number, limit in enumerate(limits, start=1):
        passed = limit.judgement is Judgement.PASS
        name = f"{limit.name} {limit.limit}".replace("#", "\\#")
        yield f"{'ok' if passed else 'not ok'} {number} - {name}"
        yield f"# {limit_line(limit)}"
