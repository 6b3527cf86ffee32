"""`openpts doctor --self-test`: does the instrument measure what is known beforehand?"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from openpts.cli.standard_streams import print_document, wrapped
from openpts.errors import EngineUnavailableError, OpenptsError
from openpts.temporary_folder import in_memory, temporary_folder
from openpts.vocabulary.document import Document
from openpts_compare.selftest.finding import SelfTestFinding, SelfTestVerdict

SECONDS: Final = 10.0
_ATTEMPTS: Final = 3
"""Other work on the host can spoil a check in real time; a fault is in each attempt."""
_INDENT: Final = " " * 30
_FAILURE: Final = (
    "the instrument does not measure what it has to ({}): trust no figure of it, and install openpts again, "
    "or report this with the output of `openpts doctor --self`"
)


class SelfTest(Document, frozen=True, kw_only=True, tag="openpts.self-test/1"):
    """All checks of the instrument."""

    verdict: SelfTestVerdict
    checks: tuple[SelfTestFinding, ...]


def show_self_test(*, as_json: bool) -> None:
    """Print each check as it ends. Raises OpenptsError if anything is not as it has to be."""
    findings = []
    for finding in all_checks(SECONDS):
        findings.append(finding)
        if not as_json:
            _print(finding)
    failed = [finding.check for finding in findings if finding.verdict is SelfTestVerdict.FAILED]
    failure = OpenptsError(_FAILURE.format(", ".join(failed))) if failed else None
    if as_json:
        verdict = SelfTestVerdict.FAILED if failed else SelfTestVerdict.PASSED
        print_document(SelfTest(verdict=verdict, checks=tuple(findings)), failure)
    if failure is not None:
        raise failure


def _print(finding: SelfTestFinding) -> None:
    click.echo(wrapped(f"{finding.verdict:<14}{finding.check:<16}{finding.text}", sys.stdout, indent=_INDENT))
    figures = ", ".join(f"{name} {value:.4g}" for name, value in finding.figures.items())
    for line in (*filter(None, [figures]), *finding.faults):
        click.echo(wrapped(f"{_INDENT}{line}", sys.stdout, indent=_INDENT))


def all_checks(seconds: float) -> Iterator[SelfTestFinding]:
    """Each check as it ends: known answers in virtual time, then ``seconds`` of I/Os in real time."""
    with temporary_folder("self-test", in_memory()) as folder:
        yield from _guarded("known answers", _known_answers, folder)
    with temporary_folder("self-test") as folder:
        for attempt in range(1, _ATTEMPTS + 1):
            place = folder / f"attempt-{attempt}"
            place.mkdir()
            findings = _guarded("known delays", lambda where: _in_real_time(seconds, where), place)
            if attempt == _ATTEMPTS or all(one.verdict is not SelfTestVerdict.FAILED for one in findings):
                yield from findings
                return


def _guarded(
    check: str, found: Callable[[Path], tuple[SelfTestFinding, ...]], folder: Path
) -> tuple[SelfTestFinding, ...]:
    """What a check finds; one that ends with an error has failed."""
    try:
        return found(folder)
    except Exception as error:  # noqa: BLE001 whatever a fault in any room raises
        fault = f"ended with {type(error).__name__}: {error}"
        text = "the check did not come to its end"
        return (SelfTestFinding(check=check, verdict=SelfTestVerdict.FAILED, text=text, faults=(fault,)),)


def _known_answers(folder: Path) -> tuple[SelfTestFinding, ...]:
    # Imported here: a module that can't be loaded is a finding, too.
    from openpts_compare.selftest.known_answers import check  # noqa: PLC0415

    return (check(folder),)


def _in_real_time(seconds: float, folder: Path) -> tuple[SelfTestFinding, ...]:
    from openpts.engine.native import FEATURES  # noqa: PLC0415 as above
    from openpts_compare.selftest.known_delays import ClockReading, check, judge_clocks  # noqa: PLC0415 as above

    why = "" if FEATURES["traces"] else "the native module was built without traces, and reads no capture"
    first = ClockReading.now()
    findings: tuple[SelfTestFinding, ...] = ()
    if not why:
        try:
            findings = check(seconds, folder)
        except EngineUnavailableError as error:
            why = str(error)
    if why:
        findings = tuple(
            SelfTestFinding(check=name, verdict=SelfTestVerdict.NOT_POSSIBLE, text=why)
            for name in ("known delays", "histogram")
        )
    return *findings, judge_clocks(first, ClockReading.now())
