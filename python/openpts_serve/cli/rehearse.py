"""`openpts rehearse`: what a test would be like on a drive, without the drive."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal, Self

import click
from msgspec import Struct

from openpts.cli.commands_on_demand import OnDemandInOrder, of_tests
from openpts.cli.help_order import together
from openpts.cli.number_types import Endurance, FiniteRange
from openpts.cli.options import FILE, PATH, flag, option
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import choices_of, options_of
from openpts.cli.report import reports_on
from openpts.cli.run_order import display_on
from openpts.cli.verdict_lines import cycle_line
from openpts.device.targets.simulated_target import MOST_SCALE
from openpts.fields.field import parameters_of
from openpts.host.memory import available_memory_bytes
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import sound_tests
from openpts.simulation.scale import ScaleConcern
from openpts.system_files import SystemRoots
from openpts.units import MB, TB, format_capacity, format_duration, parse_size_bytes
from openpts.vocabulary.document import Document
from openpts.vocabulary.requests import CycleFinished
from openpts_serve.rehearsal.datasheet import Promise
from openpts_serve.rehearsal.plan_warnings import PlanConcern
from openpts_serve.rehearsal.reference_drive import Overrides, subject_of
from openpts_serve.rehearsal.rehearse import Plan, Rehearsal, rehearse

_PROMISES: Final = {
    "random_write_iops": "4 KiB random write",
    "random_read_iops": "4 KiB random read",
    "sequential_write_bytes_per_s": "sequential write",
    "sequential_read_bytes_per_s": "sequential read",
}


def _print_rehearsal(stream: IO[str], rehearsal: Rehearsal, reports: Sequence[Path]) -> None:
    """What to expect, a fact a line."""
    for line in _rehearsal_lines(rehearsal, reports):
        click.echo(line, file=stream)


def _rehearsal_lines(rehearsal: Rehearsal, reports: Sequence[Path]) -> Iterator[str]:
    """The lines: the drive, its expected run, and what would not work."""
    subject = rehearsal.subject
    yield ""
    yield f"rehearsed    {subject.name}, {format_capacity(subject.capacity_bytes)}"
    yield f"on           {rehearsal.target}: {subject.reason}"
    yield f"takes        {_duration_text(rehearsal)}"
    yield (
        f"writes       {format_capacity(rehearsal.written_bytes)}, {rehearsal.drive_writes:.1f} drive writes"
        f", {_tbw_text(rehearsal)}"
    )
    for number, cycle in enumerate(rehearsal.cycles, start=1):
        yield f"steady       {cycle_line(number, cycle, rehearsal.run.manifest.conditions)}"
    for promise in rehearsal.promises:
        yield f"promise      {_promise_text(promise)}"
    for concern in rehearsal.plan_concerns:
        yield f"PLAN         {concern.subject}: {concern.message}"
    if not rehearsal.plan_concerns:
        yield "plan         no problem found"
    for of_scale in rehearsal.scale_concerns:
        yield f"rehearsal    {of_scale.subject}: {of_scale.message}"
    for path in reports:
        yield f"report       {path}"


class RehearsedCycle(Struct, frozen=True):
    """What became of a cycle; ``title`` names it where a test has several.

    ``steady_round`` is None where none was steady; ``ended_by`` says which of several rules ended it.
    """

    title: str
    steady_round: int | None
    last_round: int
    ended_by: str

    @classmethod
    def of(cls, finished: CycleFinished) -> Self:
        """A cycle of the rehearsed run."""
        outcome = finished.outcome
        return cls(finished.title, outcome.steady_round, outcome.last_round, outcome.ended_by)


class RehearsalDocument(Document, frozen=True, kw_only=True, tag="openpts.rehearsal/1"):
    """The same for machines; times in ns, shares as parts of one, None where nothing is rated."""

    simulated: Literal[True]
    drive: str
    capacity_bytes: int
    preset: str
    preset_reason: str
    target: str
    scale: int
    run: str
    duration_ns: int
    longest_ns: int
    written_bytes: int
    drive_writes: float
    tbw_share: float | None
    cycles: tuple[RehearsedCycle, ...]
    promises: tuple[Promise, ...]
    plan_concerns: tuple[PlanConcern, ...]
    scale_concerns: tuple[ScaleConcern, ...]
    reports: tuple[str, ...]

    @classmethod
    def by(cls, rehearsal: Rehearsal, reports: Sequence[Path]) -> Self:
        """The same as the lines."""
        subject = rehearsal.subject
        return cls.of(
            rehearsal,
            simulated=True,
            drive=subject.name,
            capacity_bytes=subject.capacity_bytes,
            preset=subject.preset.name,
            preset_reason=subject.reason,
            run=str(rehearsal.run.folder),
            cycles=tuple(map(RehearsedCycle.of, rehearsal.cycles)),
            reports=tuple(map(str, reports)),
        )


def _duration_text(rehearsal: Rehearsal) -> str:
    text = format_duration(rehearsal.duration_ns)
    if rehearsal.longest_ns > rehearsal.duration_ns:
        text += f"; {format_duration(rehearsal.longest_ns)} if steady state comes in the last round only"
    return text


def _tbw_text(rehearsal: Rehearsal) -> str:
    if rehearsal.tbw_share is None:
        return "rated endurance unknown (--tbw)"
    share_pct = 100 * rehearsal.tbw_share
    digits = f"{share_pct:,.0f}" if share_pct >= 10 else f"{share_pct:.2g}"
    return f"{digits} % of the rated endurance"


def _promise_text(promise: Promise) -> str:
    name = _PROMISES[promise.name]
    if promise.name.endswith("_bytes_per_s"):
        figures = f"{promise.expected / MB:,.0f} MB/s, the data sheet has {promise.rated / MB:,.0f} MB/s"
    else:
        figures = f"{promise.expected:,.0f} IOPS, the data sheet has {promise.rated:,.0f} IOPS"
    return f"{name}: the model expects {figures} ({100 * (promise.expected / promise.rated - 1):+.0f} %)"


_DEFAULT_SEED = 1

_above_zero = FiniteRange(min=0, min_open=True)

_drive_options = together(
    option(
        "--like DEVICE|PRESET",
        "Rehearse for this drive, such as /dev/nvme0n1, which is not opened; or for a preset.",
    ),
    option("--data-sheet", "TOML file with name, capacity_bytes, preset and [rated].", FILE),
    option("--preset PRESET", "Use the preset that behaves most like the drive."),
    option("--capacity SIZE", "User capacity, such as 3.84TB."),
    option("--tbw", "Rated endurance, such as 1.2PB; a number alone is in TB.", Endurance()),
    option("--random-write-iops IOPS", "Rated 4 KiB random write IOPS.", _above_zero),
    option("--random-read-iops IOPS", "Rated 4 KiB random read IOPS.", _above_zero),
    option("--sequential-write MB/s", "Rated sequential write.", _above_zero),
    option("--sequential-read MB/s", "Rated sequential read.", _above_zero),
)

_NINES = option("--nines N", "Nines of the highest percentile to show.", click.IntRange(1, 9))
_rehearsal_options = together(
    option(
        "--scale N",
        "Pages of the drive for each simulated page; as many as bring the simulated part to 24 GB.",
        click.IntRange(1, MOST_SCALE),
    ),
    option("--out", "Run folder; must be new or empty.", PATH),
    flag("Don't write the expected report.", name="--no-report"),
    flag("Print one JSON object; the log goes to stderr.", name="--json as_json"),
)


def _command(test: Procedure) -> click.Command:
    """`openpts rehearse TEST`, with an option for each of its parameters."""
    own_nines = "nines" in parameters_of(test.conditions)

    @click.command(test.name)
    @_drive_options
    @together(*options_of(test), *([] if own_nines else [_NINES]))
    @_rehearsal_options
    def command(
        *, scale: int | None, out: Path | None, no_report: bool, as_json: bool, **options: Any
    ) -> None:
        _refuse_without_a_drive(options)
        subject = subject_of(_wishes(options), SystemRoots())
        choices = choices_of(test, options)
        plan = Plan(
            test=test,
            drive_class=choices.drive_class,
            adjust=choices.adjust,
            seed=_DEFAULT_SEED if choices.seed is None else choices.seed,
            nines=choices.given.values.get("nines") if own_nines else options["nines"],
            scale=scale,
            folder=out,
            command_line=tuple(sys.argv[1:]),
        )
        stream = sys.stderr if as_json else sys.stdout
        with display_on(stream) as on_event:
            rehearsal = rehearse(subject, plan, [on_event], available_memory_bytes(SystemRoots()))
        written = () if no_report else reports_on(rehearsal.run.folder)
        reports = [path for one in written for path in one.documents]
        if as_json:
            print_document(RehearsalDocument.by(rehearsal, reports))
        else:
            _print_rehearsal(sys.stdout, rehearsal, reports)

    command.help = f"""Rehearse the {test.title} test ({test.source}) without the drive.

    Prints how long the test would take, what it would write, when steady state is to be expected, and what
    in the plan would not work; the expected report is in the run folder. Nothing is written to any
    drive. Figures of the data sheet are compared with the model, which is not adjusted to them.
    Without --seed the seed is 1, so that the same command gives the same rehearsal.
    """
    return command


_ON_A_MODEL: Final = [test.name for test in sound_tests() if test.on_model]


@click.group(
    "rehearse",
    cls=OnDemandInOrder,
    commands=of_tests(_command, _ON_A_MODEL),
    subcommand_metavar="TEST [ARGS]...",
)
def rehearse_command() -> None:
    """Run a test on a simulated drive in place of a real one, in virtual time."""


def _refuse_without_a_drive(options: dict[str, Any]) -> None:
    ways = {"like": "--like", "data_sheet": "--data-sheet", "preset": "--preset"}
    if all(options[name] is None for name in ways):
        raise click.MissingParameter(
            "Name the drive by one of them.",
            ctx=click.get_current_context(),
            param_hint=list(ways.values()),
            param_type="option",
        )


def _wishes(options: dict[str, Any]) -> Overrides:
    """Take the words about the drive out of the options; those of the conditions stay."""
    capacity = options.pop("capacity")
    rated = {name: options.pop(name) for name in ("random_write_iops", "random_read_iops")}
    tbw_bytes = options.pop("tbw")
    rated["tbw"] = None if tbw_bytes is None else tbw_bytes / TB
    for name in ("sequential_write", "sequential_read"):
        rate = options.pop(name)
        rated[f"{name}_bytes_per_s"] = None if rate is None else rate * MB
    return Overrides(
        like=options.pop("like"),
        data_sheet=options.pop("data_sheet"),
        preset=options.pop("preset"),
        capacity_bytes=None if capacity is None else parse_size_bytes(capacity),
        rated={name: value for name, value in rated.items() if value is not None},
    )
