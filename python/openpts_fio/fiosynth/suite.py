"""A suite of FioSynth: its workloads, and their job files for a drive of some capacity."""

from collections.abc import Mapping
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import MIB, TB
from openpts.vocabulary.limit import Limit
from openpts_fio.fio_job.conditions import FioJob, by_name

_MULTIPLIED: Final = frozenset({"RRATE", "DEPTH"})
_DIVIDED: Final = frozenset({"W1THINK", "W2THINK", "W3THINK", "W4THINK", "W5THINK"})
_OFFSET: Final = "OFFSET2"
_REGIONS: Final = 32
"""Jobs that read in several regions read in so many, equally far apart."""


class SuiteWorkload(Struct, frozen=True, omit_defaults=True):
    """A workload of a suite: a template with values as ``NAME=VALUE``, under the name ``alias``.

    ``limits`` are its targets; rates among them are those of a drive of 1 TB where they are ``per_tb``.
    ``unread`` names targets that openpts does not know.
    """

    alias: str
    template: str
    values: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    per_tb: bool = False
    unread: tuple[str, ...] = ()


class Suite(Struct, frozen=True, omit_defaults=True):
    """A suite: what prepares the drive, what is measured, and the templates.

    ``once``: the drive is prepared before the first cycle alone. ``own_section``: its templates have no job,
    FioSynth adds one for the drive.
    """

    name: str = ""
    preparation: tuple[SuiteWorkload, ...] = ()
    workloads: tuple[SuiteWorkload, ...] = ()
    templates: tuple[FioJob, ...] = ()
    run_cycles: int = 1
    precondition_cycles: int = 1
    once: bool = False
    scales: bool = False
    own_section: bool = False

    def __str__(self) -> str:
        return self.name or "none"

    def job(self, workload: SuiteWorkload, user_capacity_bytes: int, seed: int) -> FioJob:
        """The job file of a workload for a drive of that capacity."""
        of_name = {one.name: one for one in self.templates}
        template = of_name.get(workload.template, FioJob(workload.template, ()))
        values = self._values(workload, user_capacity_bytes, seed)
        return FioJob(
            template.name,
            (*template.lines, "[drive]") if self.own_section else template.lines,
            tuple(f"{name}={value}" for name, value in sorted(values.items())),
        )

    def factor(self, user_capacity_bytes: int) -> float:
        """By what rates are multiplied."""
        return capacity_tb(user_capacity_bytes) if self.scales else 1.0

    def limits_of(self, workload: SuiteWorkload, user_capacity_bytes: int) -> tuple[Limit, ...]:
        """The limits of a workload on a drive of that capacity."""
        factor = self.factor(user_capacity_bytes) if workload.per_tb else 1.0
        return tuple(
            replace(limit, value=limit.value * factor) if limit.is_rate else limit
            for limit in workload.limits
        )

    def _values(self, workload: SuiteWorkload, user_capacity_bytes: int, seed: int) -> Mapping[str, str]:
        """What FioSynth would put into the workload's template for a drive of that capacity."""
        factor = self.factor(user_capacity_bytes)
        given = by_name(workload.values)
        found = {name: value for name, value in given.items() if name != "JOBS"}
        ratios = {
            **dict.fromkeys(_MULTIPLIED, (factor, 1)),
            **dict.fromkeys(_DIVIDED, (1, factor)),
            _OFFSET: (capacity_tb(user_capacity_bytes), 1),
        }
        found |= {name: _scaled(found[name], *ratios[name]) for name in ratios if name in found}
        increment = user_capacity_bytes // MIB // _REGIONS
        return {
            "IOENGINE": "io_uring",
            **found,
            "JOBS": given.get("JOBS", "1"),
            "OFFSET1": str(Random(seed).randint(0, increment)),  # noqa: S311 no secret
            "INCREMENT": str(increment),
        }


def capacity_tb(user_capacity_bytes: int) -> float:
    """Capacity in TB, to a tenth, and never less than that: FioSynth's multiplier."""
    return max(round(user_capacity_bytes / TB, 1), 0.1)


def _scaled(value: str, multiplier: float, divisor: float) -> str:
    """A whole number, 1 at least; what is no number stays, for the reader of the job to refuse."""
    try:
        return str(max(1, int(float(value) * multiplier / divisor)))
    except (ValueError, OverflowError):
        return value
