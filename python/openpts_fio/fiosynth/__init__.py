"""FioSynth Suite: practice beyond the PTS."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.fields.field import Field, Kind
from openpts.fields.kinds import count
from openpts.fields.time_scale import at_time_scale
from openpts.procedures.kit.procedure import Procedure
from openpts.units import MIB, TB
from openpts.vocabulary.limit import Limit
from openpts.vocabulary.phase import Phase, StepPlace
from openpts_fio.fio_job.conditions import FioJob, FioJobConditions, by_name

_MOST_CYCLES: Final = 1000
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


def _read_from(_name: str, folder: str, conditions: Any) -> Any:
    """Reads the suite that was named, with its cycles scaled as the durations are."""
    from openpts_fio.fiosynth.suite_file import read_suite  # noqa: PLC0415 opens files

    if not conditions.suite.name:
        return replace(conditions, folder=folder)
    suite = read_suite(Path(folder), conditions.suite.name)
    found = replace(
        conditions,
        folder=folder,
        suite=suite,
        cycles=suite.run_cycles,
        precondition_cycles=suite.precondition_cycles,
    )
    cycles = found.cycles if found.time_scale == 1 else at_time_scale(found, found.time_scale).cycles
    return replace(found, cycles=cycles)


class FiosynthConditions(FioJobConditions, frozen=True, kw_only=True, tag_field="test", tag="fiosynth"):
    """All workloads of a suite, ``cycles`` times; the drive is prepared ``precondition_cycles`` times before.

    ``folder`` is where the suite was read.
    """

    parameters = ("suite", "folder", "cycles", "precondition_cycles")

    suite: Annotated[
        Suite,
        Field(
            "Suite",
            "Name of the suite: a file in the folder wkldsuites of a clone of FioSynth.",
            Kind(str, metavar="SUITE"),
            change=lambda _name, suite, conditions: replace(conditions, suite=Suite(name=suite)),
            show=lambda _conditions: "",
            free="what is run, not how",
            argument="SUITE",
        ),
    ] = Suite()
    folder: Annotated[
        str,
        Field(
            "Suite read from",
            "Your clone of FioSynth, with the folders wkldsuites and jobfiles.",
            Kind(str, metavar="FOLDER", beside=lambda word, folder: str(Path(folder) / word)),
            name="from",
            change=_read_from,
            free="what was read there is in the record",
        ),
    ] = ""
    cycles: Annotated[
        int,
        Field(
            "Cycles",
            "Run the workloads so many times, in place of the suite's own number.",
            count(1, _MOST_CYCLES),
            show=lambda _conditions: "",
            amount=True,
            text=lambda cycles: f"{cycles} cycle{'' if cycles == 1 else 's'}",
        ),
    ] = 1
    precondition_cycles: Annotated[
        int,
        Field(
            "Preconditioning cycles",
            "Prepare the drive so many times, in place of the suite's own number; 0 not at all.",
            count(0, _MOST_CYCLES),
            show=lambda _conditions: "",
            text=lambda cycles: f"{cycles} preconditioning cycle{'' if cycles == 1 else 's'}",
        ),
    ] = 1

    @property
    def lacking(self) -> str:
        """A suite has to be named, and read."""
        return "" if self.suite.workloads else "name a suite, and with --from your clone of FioSynth"

    def part_name(self, place: StepPlace) -> str | None:
        """The workload, with its cycle where there are several."""
        if place.phase is not Phase.PROFILE:
            return None
        cycle, at = divmod(place.number - 1, len(self.suite.workloads))
        name = self.suite.workloads[at].alias
        return f"{name}, cycle {cycle + 1}" if self.cycles > 1 else name


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FiosynthConditions,
    title="FioSynth Suite",
    short_title="FioSynth",
    purpose="""The workloads of a suite of FioSynth, with its targets as limits: a verdict for each.

    SUITE is the name of a file in the folder wkldsuites of FOLDER, your own clone of FioSynth, whose job
    files are used as they are. Before each workload that prepares the drive all of it is trimmed. A run with
    a limit that is not kept ends with exit code 10.
    """,
    quick={"time_scale": "1/60", "longest_step_seconds": 2},
    log_around=frozenset({Phase.PROFILE}),
    has_limits=True,
)
