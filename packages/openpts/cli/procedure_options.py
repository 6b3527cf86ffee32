"""What an operator chooses for a test: by options made from its conditions, by a plan file."""

import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from msgspec import Struct, inspect
from msgspec.structs import replace

from openpts.cli.options import (
    FOLDER,
    HOW_LONG,
    PATH,
    WHAT,
    FiniteRange,
    Percent,
    Seconds,
    UsualFirst,
    WithBaseline,
    flag,
    in_section,
    option,
    rate_as_printed,
)
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.fields.field import Field, parameters_of
from openpts.fields.settings import RUN_SETTINGS
from openpts.parameters.overrides import (
    Overrides,
    conditions_of,
    doubts,
    refuse_contradictions,
    refuse_impossible_sizes,
)
from openpts.procedures.kit.procedure import Procedure
from openpts.schema_words import words_and_place
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.purge import AUTO, PurgeChoice

if TYPE_CHECKING:
    from openpts.parameters.plan_file import Plan


_PREFIX: Final = "parameter_"
_WITH_UNIT: Final = {"PCT": Percent, "SECONDS": Seconds}
_WORDS: Final = "openpts.cli.procedure_options.words"


def parameter_options(
    test: Procedure, conditions: type[Conditions] | None = None
) -> list[Callable[[Any], Any]]:
    """An option for each parameter, or an argument, with the specification's value at the end of its help.

    ``conditions`` have some of the test's parameters instead of all.
    """
    parameters = parameters_of(conditions or test.conditions).values()
    return [_option(test, parameter) for parameter in parameters if not parameter.is_rest]


class PassthroughArgs(UsualFirst, WithBaseline):
    """A command whose words behind ``--`` are the value of one parameter, such as a program to run.

    Nothing before ``--`` is one of them, so that an option of that program is never taken for one of ours.
    """

    def __init__(self, *args: Any, test: Procedure, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.rest = _rest_of(test)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words behind the first ``--`` apart; what comes before is parsed as in any command."""
        ctx.meta[_WORDS] = tuple(args)
        if self.rest is None:
            return super().parse_args(ctx, args)
        place = args.index("--") if "--" in args else len(args)
        arguments, rest = args[:place], args[place + 1 :]
        try:
            left = super().parse_args(ctx, arguments)
        except click.UsageError as error:
            if place == len(args) and "unexpected extra argument" in error.message:
                usage = f"{ctx.command_path} TARGET {self.rest.argument}"
                raise click.UsageError(f"{self.rest.option} has to come after --: {usage}", ctx) from error
            raise
        ctx.params[f"{_PREFIX}{self.rest.name}"] = rest if place < len(args) else None
        return left

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """With the rest at the end."""
        pieces = super().collect_usage_pieces(ctx)
        return pieces if self.rest is None else [*pieces, f"[{self.rest.argument}]"]


def _rest_of(test: Procedure) -> Field | None:
    """The parameter whose value is behind ``--``."""
    return next((one for one in parameters_of(test.conditions).values() if one.is_rest), None)


def targets_of(test: Procedure, options: dict[str, Any], drives: str | None) -> tuple[str, ...]:
    """Take all TARGETs out of a command's options; where others name drives there need be none."""
    targets: tuple[str, ...] = options.pop("targets")
    rest = _rest_of(test)
    if rest is not None and options[f"{_PREFIX}{rest.name}"] is None and len(targets) > 1:
        usage = f"openpts run {test.name} TARGET {rest.argument}"
        raise UsageError(f"{targets[1]}: {rest.option} has to come after --: {usage}")
    if targets or drives is not None:
        return targets
    word: str | None = None
    for name, parameter in parameters_of(test.conditions).items():
        if word is None and parameter.argument and not parameter.is_rest:
            word, options[f"{_PREFIX}{name}"] = options[f"{_PREFIX}{name}"], None
    return () if word is None else (word,)


def own_words(test: Procedure, options: dict[str, Any], left_out: Collection[str]) -> tuple[str, ...]:
    """The words of this command as they were typed, without targets and without some options."""
    context = click.get_current_context()
    takes_value = {
        name: isinstance(one, click.Option) and not one.is_flag
        for one in context.command.params
        for name in (*one.opts, *one.secondary_opts)
    }
    arguments = sum(
        options[f"{_PREFIX}{name}"] is not None
        for name, one in parameters_of(test.conditions).items()
        if one.argument and not one.is_rest
    )
    kept: list[str] = []
    typed = iter(context.meta[_WORDS])
    for word in typed:
        name, equals, _ = word.partition("=")
        if word == "--":
            return (*kept, word, *typed)
        if name not in takes_value:  # an argument of the test, or a target
            kept += [word] if arguments > 0 else []
            arguments -= 1
            continue
        value = [next(typed)] if takes_value[name] and not equals else []
        kept += [] if name in left_out else [word, *value]
    return tuple(kept)


def overrides_from(conditions: type[Conditions], options: dict[str, Any]) -> Overrides:
    """Take the parameters of conditions out of a command's options; None is what was not given."""
    values, names = {}, {}
    for name, parameter in parameters_of(conditions).items():
        value = options.pop(f"{_PREFIX}{name}")
        if value is not None:
            values[name], names[name] = value, _option_name(parameter)
    return Overrides(values, names)


class Values(click.ParamType[Any]):
    """Values between commas, or one word, as the parameter has them."""

    name = "values"

    def __init__(self, parameter: Field, kind: inspect.Type) -> None:
        self._parameter = parameter
        self._several = isinstance(kind, inspect.ListType)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the text at commas, and check the values against the parameter's limits."""
        if not isinstance(value, str):
            return value
        values: Any = [word.strip() for word in value.split(",")] if self._several else value
        try:
            read = msgspec.convert(values, self._parameter.type, strict=False)
        except msgspec.ValidationError as error:
            self.fail(f"{value!r}: {_in_words(error)}", param, ctx)
        entries = read if isinstance(read, list) else [read]
        if any(isinstance(entry, float) and not math.isfinite(entry) for entry in entries):
            self.fail(f"{value!r} is not a number", param, ctx)
        return read


def _option(test: Procedure, parameter: Field) -> Callable[[Any], Any]:
    kind = _kind(parameter)
    declarations = [_option_name(parameter), f"{_PREFIX}{parameter.name}"]
    if parameter.argument:
        return click.argument(declarations[1], metavar=parameter.argument, required=False)
    help_text = _help(test, parameter)
    match kind:
        case inspect.StructType():
            return _entries_option(parameter, kind, declarations, help_text)
        case inspect.BoolType():
            both = f"{parameter.option}/--no-{parameter.option.removeprefix('--')}"
            return click.option(both, declarations[1], default=None, help=help_text)
        case inspect.IntType(ge=least, le=most):
            type_: click.ParamType[Any] = click.IntRange(least, most)
        case inspect.FloatType(gt=above, ge=least, le=most):
            kind_of_number = _WITH_UNIT.get(parameter.value.metavar or "", FiniteRange)
            type_ = kind_of_number(above if least is None else least, most, min_open=least is None)
        case inspect.LiteralType(values=values):
            type_ = click.Choice(sorted(str(word) for word in values))
        case _:
            type_ = Values(parameter, kind)
    shown = {"metavar": parameter.value.metavar, "hidden": parameter.rare, **in_section(parameter.section)}
    return click.option(*declarations, type=type_, help=help_text, **shown)


def _kind(parameter: Field) -> inspect.Type:
    """The type of a value, without its limits."""
    info = inspect.type_info(parameter.type)
    return info.type if isinstance(info, inspect.Metadata) else info


def _option_name(parameter: Field) -> str:
    """The parameter's option; that of a table names one of its entries, and may come again: ``--claim``."""
    is_table = isinstance(_kind(parameter), inspect.StructType)
    return parameter.option.removesuffix("s") if is_table else parameter.option


def _entries_option(
    parameter: Field, kind: inspect.StructType, declarations: list[str], help_text: str
) -> Callable[[Any], Any]:
    """An option that may be repeated: each time an entry of the table as NAME=VALUE."""
    known = ", ".join(field.name for field in kind.fields)

    def read(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Any:
        entries: dict[str, str] = {}
        for word in values:
            name, equals, value = (piece.strip() for piece in word.partition("="))
            if not equals or name in entries:
                reason = "is given twice" if equals else "write it as NAME=VALUE"
                raise click.BadParameter(f"{word!r}: {reason}", param=param)
            entries[name] = rate_as_printed(name, value)
        try:
            table = msgspec.convert(entries, parameter.type, strict=False)
        except msgspec.ValidationError as error:
            message = f"{', '.join(values)}: {_in_words(error)}; known are {known}"
            raise click.BadParameter(message, param=param) from error
        if any(isinstance(v, float) and not math.isfinite(v) for v in msgspec.structs.astuple(table)):
            raise click.BadParameter(f"{', '.join(values)}: is not a number", param=param)
        return table if entries else None

    text = f"{help_text} May be repeated. Names: {known}."
    return click.option(*declarations, multiple=True, callback=read, metavar="NAME=VALUE", help=text)


def _help(test: Procedure, parameter: Field) -> str:
    shown: Mapping[DriveClass, str] = {
        drive_class: parameter.shown(test.standard_conditions(drive_class, 0)) for drive_class in DriveClass
    }
    enterprise, client = shown[DriveClass.ENTERPRISE], shown[DriveClass.CLIENT]
    text = parameter.help.rstrip(".")
    if not enterprise:
        return f"{text}."
    return f"{text}; {enterprise}." if enterprise == client else f"{text}; {enterprise}, client {client}."


def _in_words(error: msgspec.ValidationError) -> str:
    """Without the type of what was given: all that is typed is text."""
    return words_and_place(error)[0].replace(", got a text", "")


class _ClassName(click.Choice[str]):
    """A drive class by its name, or as the specification calls it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """``PTS-E`` and ``E`` are enterprise."""
        short = value.lower().removeprefix("pts-")
        named = next((name for name in self.choices if len(short) == 1 and name.startswith(short)), value)
        return super().convert(named, param, ctx)


CLASS_OPTION = option(
    "--class",
    RUN_SETTINGS["drive_class"].text,
    _ClassName([drive_class.value for drive_class in DriveClass]),
    name="drive_class",
    usual=WHAT,
)
PLAN_OPTION = option(
    "--plan NAME|FILE",
    "Take settings from a plan of `openpts plan --list`, or from a file; options override it.",
    PATH,
    name="plan_path",
    usual=WHAT,
)
QUICK_OPTION = flag(RUN_SETTINGS["quick"].text, name="--quick", usual=HOW_LONG)
LIKE_OPTION = option(
    "--like RUN",
    "Take the conditions and the seed of the run in this folder; options override them.",
    FOLDER,
    name="like_run",
)
SEED_OPTION = option("--seed N", RUN_SETTINGS["seed"].text, click.IntRange(0, 2**63 - 1))

_TARGET: Final = """
    TARGET is a drive (/dev/nvme0n1), a simulated drive (sim:enterprise-tlc), or a scratch file
    (file:PATH?size=SIZE).
"""
_DETAILS: Final = """
    A scratch file is created. A simulated drive is sim:PRESET, with ?capacity=SIZE&scale=N&seed=N for values
    of its own. PRESET is the name of one that ships, or the path of a TOML file. With --quick, elements on a
    simulated drive stay as long as its scale needs. Several TARGETs are tested at once, each in a run of its
    own; repeat --confirm-serial for each drive.

    The text of an option ends with the value of the specification, behind a semicolon. The report lists each
    value that differs.
"""


def help_of(test: Procedure) -> str:
    """The help of `openpts run TEST`."""
    usual = f"{test.title} test ({test.source}). {test.purpose}{test.target_help or _TARGET}"
    return f"{usual.rstrip()}\f{_DETAILS}"


def options_of(test: Procedure) -> list[Callable[[Any], Any]]:
    """The options of a test's conditions, in the order of its help."""
    return [CLASS_OPTION, PLAN_OPTION, LIKE_OPTION, QUICK_OPTION, *parameter_options(test), SEED_OPTION]


class Choices(Struct, frozen=True):
    """What was chosen for one test. ``overrides`` are what the operator gave, ``short`` what `--quick` adds.

    ``like`` are the conditions of an earlier run, which take the place of the standard ones.
    """

    test: Procedure
    drive_class: DriveClass
    seed: int | None
    overrides: Overrides
    short: Overrides
    settings: Mapping[str, Any]
    plan: "Plan | None" = None
    like: Conditions | None = None

    def adjust(self, standard: Conditions) -> Conditions:
        """The conditions of this run. Raises UsageError where what was chosen makes no sense together."""
        overrides = self.overrides.over(self.short)
        basis = standard if self.like is None else replace(self.like, seed=standard.seed)
        conditions: Conditions = conditions_of(overrides, basis)
        refuse_contradictions(overrides, conditions)
        return conditions

    def full_length(self, standard: Conditions) -> Conditions:
        """What the lengths of this run are judged by: the standard, or a plan that ships."""
        if self.plan is None:
            return standard
        from openpts.parameters.plan_file import at_full_length  # noqa: PLC0415 the plan was read with it

        return at_full_length(self.test.name, standard, self.plan.raw)

    def admit(self, conditions: Conditions, target: TargetFacts) -> None:
        """Raises UsageError where the operator asked for what the target can't do, or left something out."""
        if conditions.lacking:
            raise UsageError(f"cannot run {self.test.name}: {conditions.lacking}")
        refuse_impossible_sizes(self.overrides, conditions, target)

    @property
    def is_quick(self) -> bool:
        """Whether `--quick` was given, in words or in the plan."""
        return bool(self.short.values)

    def purge(self, word: str | None) -> PurgeChoice:
        """What was asked for, otherwise what the plan says, otherwise a purge. Raises UsageError."""
        from openpts.device.purge.methods import purge_choice  # noqa: PLC0415 help needs no purge

        return purge_choice(word or self.settings.get("purge", AUTO))


def choices_of(test: Procedure, options: dict[str, Any], target: str | None = None) -> Choices:
    """Take what ``test_options`` put on a command out of its options.

    The class is that of the target where no word and no plan says which, and a line says so. Raises
    WrittenFileError and UsageError.
    """
    drive_class, path = options.pop("drive_class"), options.pop("plan_path")
    is_quick, seed, like_run = options.pop("quick"), options.pop("seed"), options.pop("like_run")
    overrides = overrides_from(test.conditions, options)
    if like_run is not None:
        whole = ("--class", drive_class), ("--plan", path), ("--quick", is_quick)
        for option_name, word in (*whole, ("--time-scale", overrides.values.get("time_scale"))):
            if word:
                raise UsageError(f"{option_name} can't go with --like, which takes all conditions of a run")
        choices = _chosen_like(test, like_run, overrides, seed)
    else:
        plan = plan_at(path)
        drive_class = drive_class or class_of_target(plan, target)
        choices = chosen(test, plan, overrides, drive_class=drive_class, is_quick=is_quick, seed=seed)
    # refused now, before any target is opened
    conditions = choices.adjust(test.standard_conditions(choices.drive_class, 0))
    for doubt in doubts(choices.overrides, conditions):
        click.echo(f"warning: {doubt}", err=True)
    return choices


def class_of_target(plan: "Plan | None", target: str | None) -> DriveClass | None:
    """The class of the target, with a line if it is not the default; None where a plan or nothing has one."""
    from openpts.device.targets.target import scheme_of  # noqa: PLC0415 help needs no target

    if target is None or (plan and "drive_class" in plan.settings) or (scheme := scheme_of(target)) is None:
        return None
    usual: Callable[[str], tuple[DriveClass, str] | None] | None = scheme.part("usual_class")
    if usual is None or (found := usual(target)) is None:
        return None
    drive_class, source = found
    if drive_class is not DriveClass.ENTERPRISE:
        of = f"class {drive_class} ({drive_class.revision}), as {source} has it"
        click.echo(f"{of}; else --class {DriveClass.ENTERPRISE}", err=True)
    return drive_class


def _chosen_like(test: Procedure, folder: Path, overrides: Overrides, seed: int | None) -> Choices:
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
    if left := [name for name in programs if getattr(conditions, name) and name not in overrides.values]:
        raise UsageError(
            f"--like {folder} started a program ({left[0]}), which is not started again by itself: name yours"
        )
    over = [*overrides.names.values(), *(["--seed"] if seed is not None else [])]
    changed = f", but for {', '.join(over)}" if over else ""
    click.echo(f"conditions and seed of {manifest.test_id}{changed}", err=True)
    seed = conditions.seed if seed is None else seed
    return Choices(test, conditions.drive_class, seed, overrides, Overrides(), {}, like=conditions)


def plan_at(path: Path | None) -> "Plan | None":
    """The plan that was asked for, if any. Raises WrittenFileError and UsageError."""
    if path is None:
        return None
    from openpts.parameters.plan_file import read_plan  # noqa: PLC0415 takes a twelfth of the time of a start

    return read_plan(path)


def chosen(
    test: Procedure,
    plan: "Plan | None",
    overrides: Overrides,
    *,
    drive_class: str | None,
    is_quick: bool,
    seed: int | None,
) -> Choices:
    """What was chosen by words, over what a plan has."""
    settings = {} if plan is None else plan.settings
    planned = Overrides() if plan is None else plan.overrides(test.name)
    return Choices(
        test=test,
        drive_class=DriveClass(drive_class or settings.get("drive_class", DriveClass.ENTERPRISE)),
        seed=settings.get("seed") if seed is None else seed,
        overrides=overrides.over(planned),
        short=Overrides(test.quick, dict.fromkeys(test.quick, "--quick"))
        if is_quick or settings.get("quick")
        else Overrides(),
        settings=settings,
        plan=plan,
    )
