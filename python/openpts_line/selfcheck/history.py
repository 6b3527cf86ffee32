"""Self-checks that were made on this machine, a line each, and their figures as control charts."""

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct

from openpts.engine.native_build import build
from openpts.errors import OpenptsError
from openpts.journal import state_folder
from openpts.run_folder_files import read_file, write_files
from openpts.vocabulary.facts import Fact, Facts
from openpts_line.selfcheck.control_chart import Chart, chart_of
from openpts_line.selfcheck.finding import Finding, Verdict

_NAME: Final = "self-checks.jsonl"
_MOST: Final = 5000
_CHARTED: Final = frozenset(
    {"raw_ppm", "real_ppm", "median_error_us", "late_median_us", "drift_us", "largest_difference_pct"}
)


class SelfCheck(Struct, frozen=True, kw_only=True):
    """One self-check: when, on which host, with what, and what it found. ``at`` is ISO 8601, UTC."""

    at: str
    host: str
    kernel: str
    build: str
    verdict: Verdict
    figures: dict[str, float]
    faults: tuple[str, ...] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Self:
        """Of this moment and this host."""
        failed = any(finding.verdict is Verdict.FAILED for finding in findings)
        return cls(
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            host=platform.node(),
            kernel=platform.release(),
            build=build(),
            verdict=Verdict.FAILED if failed else Verdict.PASSED,
            figures={
                f"{finding.check}: {name}": value
                for finding in findings
                for name, value in finding.figures.items()
            },
            faults=tuple(f"{finding.check}: {fault}" for finding in findings for fault in finding.faults),
        )


def keep(check: SelfCheck) -> Path:
    """Add a line to those that are kept. Raises OSError."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [*(msgspec.json.encode(one) for one in kept_checks()[1 - _MOST :]), msgspec.json.encode(check)]
    write_files(folder, {_NAME: b"\n".join(lines) + b"\n"})
    return folder / _NAME


def kept_checks() -> tuple[SelfCheck, ...]:
    """All that are kept, the oldest first; none where there is no file. Raises OpenptsError."""
    folder = state_folder()
    try:
        content = read_file(folder, _NAME)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise OpenptsError(f"{folder / _NAME} can't be read: {error.strerror}") from error
    try:
        return tuple(msgspec.json.decode(line, type=SelfCheck) for line in content.splitlines())
    except msgspec.DecodeError as error:
        raise OpenptsError(f"{folder / _NAME} makes no sense, move it away: {error}") from error


def charts(checks: Sequence[SelfCheck]) -> Iterator[Chart]:
    """Control charts of what this host is measured by: individual values with their moving range."""
    own = [check for check in checks if check.host == platform.node()]
    for name in dict.fromkeys(name for check in own for name in check.figures):
        if name.rpartition(": ")[2] in _CHARTED:
            yield chart_of(name, [(check.at, check.figures[name]) for check in own if name in check.figures])


def last_self_check() -> Facts:
    """What the last self-check of this build on this host said, for a run's record; empty without one."""
    try:
        own = [one for one in kept_checks() if one.host == platform.node() and one.build == build()]
    except OpenptsError:
        return {}
    return {"self_check": Fact(own[-1].verdict, f"openpts self-check, {own[-1].at}")} if own else {}
