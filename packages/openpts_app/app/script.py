"""Application benchmark (app).

Purpose
    What a drive does to the time of a program that its operator cares for, and whether the drive or the
    processor is what the program waits for.
Clause
    None: practice beyond the specification. The discipline is that of the Solidigm guide, sections 4 and 5.1.
Steps
    The file system is made, filled and trimmed, or taken as it is. A conditioning run of the program, which
    counts for nothing; cold runs, the page cache dropped before each; warm runs. Two warm runs at a time are
    added until they lie close together.
Pass rule
    None. A set of warm runs that never lies close together is discarded.
Reported
    Median, range and relative standard error of the times, and of a figure that the program prints; of each
    run the I/O that reached the drive, processor time, and what it was bound by.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.ledger import Standard
from openpts.vocabulary.command_run import (
    Application,
    CommandRequest,
    CommandRun,
    FileSystemSettings,
    PrepareFileSystem,
    RunKind,
)
from openpts.vocabulary.requests import CycleFinished, Outcome, Script, answer_in
from openpts_app.app import AppConditions
from openpts_app.app.results import warm_runs_to_add

_COLD_RUNS: Final = 1
_WARM_RUNS: Final = 3


# One cold run, three warm ones and up to seven, on ext4.
standard_conditions: Final = Standard(
    AppConditions, write_cache_enabled=True, command=(), cold_runs=_COLD_RUNS, warm_runs=_WARM_RUNS
)


def file_system_settings(conditions: AppConditions) -> FileSystemSettings:
    """How a drive is prepared."""
    return FileSystemSettings(conditions.file_system, conditions.fill_level_pct, conditions.seed)


# SOL-BMK-02
def script(conditions: AppConditions, user_capacity_bytes: int) -> Script:
    """Runs of each program, whatever the capacity of what it runs on."""
    del user_capacity_bytes
    yield PrepareFileSystem(file_system_settings(conditions))
    for one in conditions.listed:
        first = _request(conditions, one, RunKind.CONDITIONING, 1)
        yield replace(first, rest_ns=conditions.settle_ns)
        for number in range(1, conditions.cold_runs + 1):
            yield _request(conditions, one, RunKind.COLD, number)
        warm: list[CommandRun] = []
        while missing := warm_runs_to_add(conditions, warm):
            for _ in range(missing):
                request = _request(conditions, one, RunKind.WARM, len(warm) + 1)
                warm.append(answer_in(CommandRun, (yield request)))
    yield CycleFinished(Outcome(steady_round=None, last_round=0))


def _request(conditions: AppConditions, one: Application, kind: RunKind, number: int) -> CommandRequest:
    return CommandRequest(kind, number, one.command, conditions.limit_ns, conditions.figure, one.name)
