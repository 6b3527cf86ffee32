"""All checks, one after the other."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from openpts.errors import EngineUnavailableError
from openpts.temporary_folder import in_memory, temporary_folder
from openpts_line.selfcheck.finding import Finding, Verdict

_IN_VIRTUAL_TIME: Final = {
    "virtual drive": "virtual_drive",
    "analysis": "laws",
    "steady state": "steady_round",
    "known answers": "known_answers",
}
"""Modules with a check each, which takes a folder; a module that can't be loaded is a finding, too."""
_NEEDS_IO_URING: Final = ("known delays", "histogram", "batches", "loads")
_ATTEMPTS: Final = 3
"""Other work on the host can spoil a check in real time; a fault is in each attempt."""


def prove(seconds: float) -> Iterator[Finding]:
    """Each check as it ends: those in virtual time, then ``seconds`` of I/Os in real time."""
    with temporary_folder("self-check", in_memory()) as folder:
        for check, name in _IN_VIRTUAL_TIME.items():
            yield from _guarded(check, partial(_in_virtual_time, name, folder))
    with temporary_folder("self-check") as folder:
        for attempt in range(1, _ATTEMPTS + 1):
            place = folder / f"attempt-{attempt}"
            place.mkdir()
            findings = _guarded("known delays", partial(_in_real_time, seconds, place))
            if attempt == _ATTEMPTS or all(one.verdict is not Verdict.FAILED for one in findings):
                yield from findings
                return


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")


def _guarded(check: str, found: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """What a check finds; one that ends with an error has failed."""
    try:
        return found()
    except Exception as error:  # noqa: BLE001 whatever a fault in any room raises
        fault = f"ended with {type(error).__name__}: {error}"
        text = "the check did not come to its end"
        return (Finding(check=check, verdict=Verdict.FAILED, text=text, faults=(fault,)),)


def _in_virtual_time(name: str, folder: Path) -> tuple[Finding, ...]:
    return (_module(name).check(folder),)


def _in_real_time(seconds: float, folder: Path) -> tuple[Finding, ...]:
    from openpts.engine.native_build import FEATURES  # noqa: PLC0415 as above

    why = "" if FEATURES["traces"] else "the native module was built without traces, and reads no capture"
    clocks = _module("clocks")
    first = clocks.ClockReading.now()
    findings: tuple[Finding, ...] = ()
    if not why:
        try:
            findings = (*_module("real_path").check(seconds, folder), _module("loads").check(folder))
        except EngineUnavailableError as error:
            why = str(error)
    if why:
        findings = tuple(
            Finding(check=check, verdict=Verdict.NOT_POSSIBLE, text=why) for check in _NEEDS_IO_URING
        )
    return *findings, clocks.judge_clocks(first, clocks.ClockReading.now())
