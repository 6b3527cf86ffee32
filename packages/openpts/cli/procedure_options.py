"""What an operator chooses for a test: by options, and by a plan file that options win over."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.options import FOLDER, PATH, flag, option
from openpts.cli.parameter_options import given_as_options, parameter_options
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.parameters.contradictions import doubts, refuse_contradictions, refuse_impossible_sizes
from openpts.parameters.overrides import Given, conditions_of
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import DescribedDrive, TargetFacts
from openpts.vocabulary.people import People
from openpts.vocabulary.purge import AUTO, PurgeChoice
from openpts.vocabulary.purpose import Purpose
from openpts.vocabulary.tuning import Scenario

if TYPE_CHECKING:
    from openpts.parameters.plan_file import Plan

CLASS_OPTION = option(
    "--class",
    "PTS-E or PTS-C: the set of settings that the specification has for such drives; enterprise.",
    click.Choice([drive_class.value for drive_class in DriveClass]),
    name="drive_class",
)
PLAN_OPTION = option(
    "--plan NAME|FILE",
    "Plan that ships (`openpts plan --list`), or TOML or YAML file with any of these, and those that are "
    "rarely set; options override it. See `openpts plan --schema`.",
    PATH,
    name="plan_path",
)
QUICK_OPTION = flag(
    "Shorten everything for a first look, a few minutes. On a simulated drive elements stay as long as "
    "its scale needs.",
    name="--quick",
)
LIKE_OPTION = option(
    "--like RUN",
    "Take the conditions and the seed of the run in this folder; options override them.",
    FOLDER,
    name="like_run",
)
SEED_OPTION = option("--seed N", "Seed of offsets and data; random.", click.IntRange(0, 2**63 - 1))

_TARGET: Final = """
    TARGET is a drive such as /dev/nvme0n1, or file:PATH?size=SIZE for a scratch file, which is created, or a
    simulated drive: sim:PRESET, with ?capacity=SIZE&scale=N&seed=N to override its own. PRESET is the
    name of one that ships or the path of a TOML file. Several TARGETs are tested at once, each in a run of
    its own.
"""
_OPTIONS: Final = """
    Options name the specification's value behind a semicolon. Whatever differs from it is listed in the
    report.
"""


def help_of(test: Procedure) -> str:
    """The help of `openpts run TEST`."""
    return f"{test.title} test ({test.source}). {test.purpose}{test.target_help or _TARGET}{_OPTIONS}"


def options_of(test: Procedure) -> list[Callable[[Any], Any]]:
    """The options of a test's conditions, in the order of its help."""
    return [CLASS_OPTION, PLAN_OPTION, LIKE_OPTION, QUICK_OPTION, *parameter_options(test), SEED_OPTION]


class Choices(Struct, frozen=True):
    """What was chosen for one test. ``given`` is what the operator gave, ``short`` what `--quick` adds.

    ``like`` are the conditions of an earlier run, which take the place of the standard ones.
    """

    test: Procedure
    drive_class: DriveClass
    seed: int | None
    given: Given
    short: Given
    settings: Mapping[str, Any]
    plan: "Plan | None" = None
    like: Conditions | None = None

    def adjust(self, standard: Conditions) -> Conditions:
        """The conditions of this run. Raises UsageError where what was chosen makes no sense together."""
        given = self.given.over(self.short)
        basis = standard if self.like is None else replace(self.like, seed=standard.seed)
        conditions: Conditions = conditions_of(given, basis)
        refuse_contradictions(given, conditions)
        return conditions

    def admit(self, conditions: Conditions, target: TargetFacts) -> None:
        """Raises UsageError where the operator asked for what the target can't do, or left something out."""
        if conditions.lacking:
            raise UsageError(f"cannot run {self.test.name}: {conditions.lacking}")
        refuse_impossible_sizes(self.given, conditions, target)

    @property
    def is_quick(self) -> bool:
        """Whether `--quick` was given, in words or in the plan."""
        return bool(self.short.values)

    def people(self, people: People) -> People:
        """The people named on the command line, otherwise the plan's; labels of both."""
        settings = self.settings
        return People(
            people.operator or settings.get("operator"),
            people.auditor or settings.get("auditor"),
            people.sponsor or settings.get("sponsor"),
            {**settings.get("labels", {}), **people.labels},
        )

    def purge(self, word: str | None) -> PurgeChoice:
        """What was asked for, otherwise what the plan says, otherwise a purge. Raises UsageError."""
        from openpts.device.purge.choose import purge_choice  # noqa: PLC0415 help needs no purge

        return purge_choice(word or self.settings.get("purge", AUTO))

    def scenario(self, word: str | None) -> Scenario:
        """What was declared, otherwise by the plan, otherwise that of a drive alone."""
        return Scenario(word or self.settings.get("scenario", Scenario.SYNTHETIC))

    def description(self, path: Path | None) -> DescribedDrive:
        """The file that was named, otherwise the plan's, which is beside it. Raises WrittenFileError."""
        beside = self.settings.get("describe")
        if path is None and beside is not None and self.plan is not None:
            path = Path(self.plan.path).parent / beside
        if path is None:
            return DescribedDrive()
        from openpts.parameters.description_file import read_description  # noqa: PLC0415 few runs have one

        return read_description(path)

    def purpose(self, description: DescribedDrive) -> Purpose:
        """What the drive is for: the plan's table over the description's."""
        planned: Purpose = self.settings.get("purpose", Purpose())
        return planned.over(description.purpose)

    @property
    def short_report(self) -> bool:
        """Whether the plan asks for the short report as well."""
        return bool(self.settings.get("short_report", False))

    def inputs(self, description: DescribedDrive) -> dict[str, bytes]:
        """The files that the operator wrote, under the names that their copies have in the run folder."""
        found: dict[str, bytes] = {}
        if self.plan is not None:
            found[f"plan{Path(self.plan.path).suffix.lower()}"] = self.plan.raw
        if description.path:
            found["description.toml"] = description.raw
        return found


def choices_of(test: Procedure, options: dict[str, Any]) -> Choices:
    """Take what ``test_options`` put on a command out of its options.

    Raises WrittenFileError and UsageError.
    """
    drive_class, path = options.pop("drive_class"), options.pop("plan_path")
    is_quick, seed, like_run = options.pop("quick"), options.pop("seed"), options.pop("like_run")
    given = given_as_options(test.conditions, options)
    if like_run is not None:
        whole = ("--class", drive_class), ("--plan", path), ("--quick", is_quick)
        for option_name, word in (*whole, ("--time-scale", given.values.get("time_scale"))):
            if word:
                raise UsageError(f"{option_name} can't go with --like, which takes all conditions of a run")
        choices = _chosen_like(test, like_run, given, seed)
    else:
        choices = chosen(test, plan_at(path), given, drive_class=drive_class, is_quick=is_quick, seed=seed)
    # refused now, before any target is opened
    conditions = choices.adjust(test.standard_conditions(choices.drive_class, 0))
    for doubt in doubts(choices.given, conditions):
        click.echo(f"warning: {doubt}", err=True)
    return choices


def _chosen_like(test: Procedure, folder: Path, given: Given, seed: int | None) -> Choices:
    """The conditions and the seed of an earlier run, and what was given over them.

    No program that its lab has named is started. Raises RecordError, and UsageError where there are no
    conditions to run under.
    """
    from openpts.record.reader import read_manifest  # noqa: PLC0415 help needs no record

    manifest = read_manifest(folder)
    conditions: Any = manifest.conditions
    if conditions.test != test.name:
        other = f"`openpts run {conditions.test} ... --like {folder}`"
        raise UsageError(f"--like {folder} is a run of {conditions.test}, not of {test.name}: type {other}")
    if manifest.imported is not None:
        raise UsageError(f"--like {folder} has imported results, whose conditions are not known")
    if conditions.keeps_data:
        raise UsageError(f"--like {folder} began with data of an earlier run, which no other has")
    programs = [name for name in conditions.__struct_fields__ if name.endswith("command")]
    if left := [name for name in programs if getattr(conditions, name) and name not in given.values]:
        raise UsageError(
            f"--like {folder} started a program ({left[0]}), which is not started again by itself: name yours"
        )
    over = [*given.names.values(), *(["--seed"] if seed is not None else [])]
    changed = f", but for {', '.join(over)}" if over else ""
    click.echo(f"conditions and seed of {manifest.test_id}{changed}", err=True)
    seed = conditions.seed if seed is None else seed
    return Choices(test, conditions.drive_class, seed, given, Given(), {}, like=conditions)


def plan_at(path: Path | None) -> "Plan | None":
    """The plan that was asked for, if any. Raises WrittenFileError and UsageError."""
    if path is None:
        return None
    from openpts.parameters.plan_file import read_plan  # noqa: PLC0415 takes a twelfth of the time of a start

    return read_plan(path)


def chosen(
    test: Procedure,
    plan: "Plan | None",
    given: Given,
    *,
    drive_class: str | None,
    is_quick: bool,
    seed: int | None,
) -> Choices:
    """What was chosen by words, over what a plan has."""
    settings = {} if plan is None else plan.settings
    planned = Given() if plan is None else plan.given(test.name)
    return Choices(
        test=test,
        drive_class=DriveClass(drive_class or settings.get("drive_class", DriveClass.ENTERPRISE)),
        seed=settings.get("seed") if seed is None else seed,
        given=given.over(planned),
        short=_quick(test) if is_quick or settings.get("quick") else Given(),
        settings=settings,
        plan=plan,
    )


def _quick(test: Procedure) -> Given:
    """What the operator would have to give for a short look at a test: durations, repetitions and amounts."""
    return Given(test.quick, dict.fromkeys(test.quick, "--quick"))
