"""What the runs of a program come to: sets with their spread, and what the program waited for."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import geometric_mean
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.run_comparison import Quality, RunSet
from openpts.units import NS_PER_S
from openpts.vocabulary.command_run import CommandRun, DeviceCounts, RunKind
from openpts.vocabulary.verdict import Better
from openpts_app.app import AppConditions

MUCH_PCT: Final = 70.0
LITTLE_PCT: Final = 50.0
_THOUSAND: Final = 1000
_HOUR_S: Final = 3600

BOUND_RULE: Final = (
    f"Drive-bound: the drive had an I/O outstanding for {MUCH_PCT:g} % of the time or more, and the command "
    f"used less than {LITTLE_PCT:g} % of one processor. CPU-bound: the command used {MUCH_PCT:g} % of one "
    f"processor or more, and the drive had an I/O outstanding for less than {LITTLE_PCT:g} % of the time. "
    "Neither: anything else. The rule is openpts' own."
)


class LimitedBy(StrEnum):
    """What a faster drive would do to a program: DRIVE much, CPU nothing."""

    DRIVE = "drive-bound"
    CPU = "CPU-bound"
    NEITHER = "neither"


_BOUND_WORDS: Final = {LimitedBy.NEITHER: "neither CPU-bound nor drive-bound"} | {
    bound: str(bound) for bound in (LimitedBy.CPU, LimitedBy.DRIVE)
}


class AppResults(Struct, frozen=True):
    """The runs that count, by kind, in their order."""

    conditions: AppConditions
    runs: tuple[CommandRun, ...]

    def of_kind(self, kind: RunKind) -> tuple[CommandRun, ...]:
        """Runs of the program of one kind that count."""
        return tuple(run for run in self.runs if run.kind is kind and run.stands)

    def times(self, kind: RunKind) -> RunSet | None:
        """Times of the runs of a kind in seconds; None without any."""
        return time_set(self.conditions, self.of_kind(kind))

    def printed(self, kind: RunKind) -> RunSet | None:
        """The program's own figure; None if it was not asked for."""
        return figure_set(self.conditions, self.of_kind(kind))

    @property
    def parts(self) -> "Mapping[str, Self]":
        """The results of each application of a list, by name; of one command itself, without a name."""
        conditions = self.conditions
        if not conditions.applications:
            return {"": self}
        return {
            one.name: replace(
                self,
                conditions=replace(conditions, applications=(one,)),
                runs=tuple(run for run in self.runs if run.application == one.name),
            )
            for one in conditions.applications
        }

    def score(self, kind: RunKind) -> float | None:
        """Runs in an hour: 3,600 s over the median time, of a list their geometric mean.

        None where an application has no run of the kind, or too wide a set of them.
        """
        parts = [self] if len(self.conditions.listed) == 1 else list(self.parts.values())
        times = [one.times(kind) for one in parts]
        kept = [one.median for one in times if one is not None and one.quality is not Quality.DISCARDED]
        return _HOUR_S / geometric_mean(kept) if len(kept) == len(times) else None

    def median_run(self, kind: RunKind) -> CommandRun | None:
        """The run whose time is the median of its kind."""
        times = self.times(kind)
        if times is None:
            return None
        return next(run for run in self.of_kind(kind) if run.elapsed_ns / NS_PER_S == times.median)


def time_set(conditions: AppConditions, runs: Sequence[CommandRun]) -> RunSet | None:
    """Times of runs in seconds."""
    values = tuple(run.elapsed_ns / NS_PER_S for run in runs)
    return RunSet(values, Better.LOWER, conditions.set_rule) if values else None


def figure_set(conditions: AppConditions, runs: Sequence[CommandRun]) -> RunSet | None:
    """Figures that the runs printed."""
    values = tuple(run.figure for run in runs if run.figure is not None)
    if conditions.figure is None or not values:
        return None
    return RunSet(values, conditions.figure_better or Better.UNJUDGED, conditions.set_rule)


# SOL-STAT-02, 03, 05, 06, 09
def warm_runs_to_add(conditions: AppConditions, warm: Sequence[CommandRun]) -> int:
    """Warm runs that are still to come before they are judged again; 0: there are enough, or too many."""
    if len(warm) < conditions.warm_runs:
        return conditions.warm_runs - len(warm)
    if not conditions.until_rse_pct:
        return 0
    sets = (time_set(conditions, warm), figure_set(conditions, warm))
    return max(found.to_add for found in sets if found is not None)


def decimals(value: float | None) -> int:
    """So many that a time or a figure has three digits at least."""
    return 0 if value is not None and abs(value) >= _THOUSAND else 3


def total(run: CommandRun) -> DeviceCounts:
    """What the device did for a run, with what was written back after it."""
    return run.until_exit.plus(run.synced)


def busy_pct(run: CommandRun) -> float:
    """Share of the run in which the drive had an I/O outstanding."""
    return _share_pct(run.until_exit.busy_ns, run)


def cpu_pct(run: CommandRun) -> float:
    """Processor time of the command, in per cent of one processor."""
    return _share_pct(run.user_ns + run.system_ns, run)


def stall_pct(stall_ns: int | None, run: CommandRun) -> float | None:
    """Share of the run in which some task of the host waited for something, from that time."""
    return None if stall_ns is None else _share_pct(stall_ns, run)


def _share_pct(part_ns: int, run: CommandRun) -> float:
    return 100 * part_ns / run.elapsed_ns if run.elapsed_ns else 0.0


def bound_of(run: CommandRun) -> LimitedBy:
    """What the run was bound by; see ``BOUND_RULE``."""
    busy, cpu = busy_pct(run), cpu_pct(run)
    if busy >= MUCH_PCT and cpu < LITTLE_PCT:
        return LimitedBy.DRIVE
    return LimitedBy.CPU if cpu >= MUCH_PCT and busy < LITTLE_PCT else LimitedBy.NEITHER


def bound_sentence(run: CommandRun) -> str:
    """The verdict with its reason: both shares of the rule."""
    return (
        f"{_BOUND_WORDS[bound_of(run)]}: the drive had an I/O outstanding for {busy_pct(run):.1f} % of the "
        f"time, and the command used {cpu_pct(run):.1f} % of one processor"
    )
