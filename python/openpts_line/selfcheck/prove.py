"""All checks, one after the other."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from openpts.temporary_folder import temporary_folder
from openpts_line.selfcheck.finding import Finding, Verdict

_ATTEMPTS: Final = 3
"""Other work on the host can spoil a check in real time; a fault is in each attempt."""


def prove(seconds: float) -> Iterator[Finding]:
    """Each check as it ends: those in virtual time, then ``seconds`` of I/Os in real time."""
    with temporary_folder("self-check") as folder:
        yield from _guarded("virtual drive", _virtual_drive)
        yield from _guarded("analysis", _analysis)
        yield from _guarded("steady state", lambda: _steady_state(folder))
        yield from _guarded("known answers", lambda: _known_answers(folder))
        for attempt in range(1, _ATTEMPTS + 1):
            place = folder / f"attempt-{attempt}"
            place.mkdir()
            findings = _guarded("known delays", partial(_in_real_time, seconds, place))
            if attempt == _ATTEMPTS or all(one.verdict is not Verdict.FAILED for one in findings):
                yield from findings
                return


def _guarded(check: str, found: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """What a check finds; one that ends with an error has failed."""
    try:
        return found()
    except Exception as error:  # noqa: BLE001 whatever a fault in any room raises
        fault = f"ended with {type(error).__name__}: {error}"
        text = "the check did not come to its end"
        return (Finding(check=check, verdict=Verdict.FAILED, text=text, faults=(fault,)),)


# What is checked is imported within: a module that can't be loaded is a finding, too.
def _virtual_drive() -> tuple[Finding, ...]:
    from openpts_line.selfcheck.virtual_drive import check_law  # noqa: PLC0415

    return (check_law(),)


def _steady_state(folder: Path) -> tuple[Finding, ...]:
    from openpts_line.selfcheck.virtual_drive import check_steady_state  # noqa: PLC0415

    return (check_steady_state(folder),)


def _known_answers(folder: Path) -> tuple[Finding, ...]:
    from openpts_line.selfcheck.known_answers import check_known_answers  # noqa: PLC0415

    return (check_known_answers(folder),)


def _analysis() -> tuple[Finding, ...]:
    from openpts_line.selfcheck.laws import check_laws  # noqa: PLC0415

    return (check_laws(),)


def _in_real_time(seconds: float, folder: Path) -> tuple[Finding, ...]:
    from openpts_line.selfcheck.clocks import ClockReading, judge_clocks  # noqa: PLC0415
    from openpts_line.selfcheck.real_path import check_path  # noqa: PLC0415

    first = ClockReading.now()
    path, histogram = check_path(seconds, folder)
    return path, histogram, judge_clocks(first, ClockReading.now())
