"""Digests of the eight tests' reports on a drive that the self-test does not know, for seeded faults."""

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import msgspec

from openpts.temporary_folder import temporary_folder

TraceFunction = Callable[[FrameType, str, object], "TraceFunction | None"]
TARGET = "sim:client-qlc?capacity=1200MB&scale=1"
_TIME_SCALE = 0.0003
_CALLS_HEARD = 50  # of each function: a trace of all of them would take minutes


def report_digests() -> dict[str, dict[str, str]]:
    """By test and table, as known answers are."""
    # Imported here, so that lines that are executed once, such as constants, are seen.
    from openpts.fields.time_scale import at_time_scale  # noqa: PLC0415
    from openpts.procedures.pts.suite import PTS  # noqa: PLC0415
    from openpts.report.sources import read_for_report  # noqa: PLC0415
    from openpts.runner.order import Order  # noqa: PLC0415
    from openpts.runner.run import run_test  # noqa: PLC0415
    from openpts.vocabulary.consent import Consent  # noqa: PLC0415
    from openpts.vocabulary.drive_class import DriveClass  # noqa: PLC0415
    from openpts.vocabulary.people import People  # noqa: PLC0415
    from openpts.vocabulary.purge import PurgeChoice  # noqa: PLC0415
    from openpts_line.selftest.known_answers import digests  # noqa: PLC0415

    found = {}
    with temporary_folder("reference") as folder:
        for test, procedure in PTS.items():
            order = Order(
                target=TARGET,
                drive_class=DriveClass.CLIENT,
                adjust=lambda conditions: at_time_scale(conditions, _TIME_SCALE),
                consent=Consent(),
                purge_choice=PurgeChoice.AUTO,
                people=People(),
                command_line=("reference",),
                folder=folder / test,
                seed=11,
            )
            found[test] = digests(read_for_report(run_test(procedure, order, []).folder))
    return found


def executed_lines(packages: Path) -> list[tuple[str, int]]:
    """Files below the packages, and their lines that take part in the reports."""
    lines: set[tuple[str, int]] = set()
    called: set[str] = set()
    calls: Counter[CodeType] = Counter()
    place = f"{packages}/"

    def heard(frame: FrameType, event: str, _what: object) -> TraceFunction | None:
        name = frame.f_code.co_filename
        if not name.startswith(place):
            return None
        if event == "call":
            calls[frame.f_code] += 1
            if calls[frame.f_code] > _CALLS_HEARD:
                return None
        is_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
        lines.add((name.removeprefix(place), frame.f_lineno))
        if is_function:
            called.add(name.removeprefix(place))
        return heard

    sys.settrace(heard)
    report_digests()
    sys.settrace(None)
    return sorted((file, line) for file, line in lines if file in called)


if __name__ == "__main__":
    found = executed_lines(Path(sys.argv[2])) if sys.argv[1:2] == ["--lines"] else report_digests()
    sys.stdout.write(msgspec.json.encode(found).decode())
