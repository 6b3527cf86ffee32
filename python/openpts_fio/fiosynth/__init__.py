"""FioSynth Suite: practice beyond the PTS."""

from pathlib import Path
from typing import Annotated, Any, Final

from msgspec.structs import replace

from openpts.fields.field import Field, Kind
from openpts.fields.kinds import count
from openpts.fields.time_scale import at_time_scale
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase, StepPlace
from openpts_fio.fio_job.conditions import FioJobConditions
from openpts_fio.fiosynth.suite import Suite

_MOST_CYCLES: Final = 1000


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
    question="Does it keep the limits that a data center sets?",
    purpose="""The workloads of a suite of FioSynth, with its targets as limits: a verdict for each.

    SUITE is the name of a file in the folder wkldsuites of FOLDER, your own clone of FioSynth, whose job
    files are used as they are. Before each workload that prepares the drive all of it is trimmed. A run with
    a limit that is not kept ends with exit code 10.
    """,
    quick={"time_scale": "1/60", "longest_step_seconds": 2},
    log_around=frozenset({Phase.PROFILE}),
    has_limits=True,
)
