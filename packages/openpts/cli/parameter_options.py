"""The parameters of a test as options, made from its conditions."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import click
import msgspec
from msgspec import inspect

from openpts.cli.baseline_option import WithBaseline
from openpts.cli.number_types import FiniteRange, Percent, rate_as_printed
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.fields.field import Parameter, parameters_of
from openpts.parameters.overrides import Given
from openpts.procedures.kit.procedure import Procedure
from openpts.schema_words import words_and_place
from openpts.vocabulary.drive_class import DriveClass

_PREFIX: Final = "parameter_"
_WORDS: Final = "openpts.cli.parameter_options.words"


def parameter_options(
    test: Procedure, conditions: type[Conditions] | None = None
) -> list[Callable[[Any], Any]]:
    """An option for each parameter, or an argument, with the specification's value at the end of its help.

    ``conditions`` have some of the test's parameters instead of all.
    """
    parameters = parameters_of(conditions or test.conditions).values()
    return [_option(test, parameter) for parameter in parameters if not parameter.is_rest]


class PassthroughArgs(WithBaseline):
    """A command whose words behind ``--`` are the value of one parameter, such as a program to run.

    Nothing before ``--`` is one of them, so that an option of that program is never taken for one of ours.
    """

    rest: Parameter | None = None

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


def command_with_rest(test: Procedure, command: click.Command) -> click.Command:
    """The command, which takes the words behind ``--`` if the test has a parameter for them."""
    assert isinstance(command, PassthroughArgs)  # noqa: S101 made as such
    command.rest = _rest_of(test)
    return command


def _rest_of(test: Procedure) -> Parameter | None:
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
    word = _lone_word(test, options)
    return () if word is None else (word,)


def _lone_word(test: Procedure, options: dict[str, Any]) -> str | None:
    word: str | None = None
    for name, parameter in parameters_of(test.conditions).items():
        if word is None and parameter.argument and not parameter.is_rest:
            word, options[f"{_PREFIX}{name}"] = options[f"{_PREFIX}{name}"], None
    return word


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


def given_as_options(conditions: type[Conditions], options: dict[str, Any]) -> Given:
    """Take the parameters of conditions out of a command's options; None is what was not given."""
    values, names = {}, {}
    for name, parameter in parameters_of(conditions).items():
        value = options.pop(f"{_PREFIX}{name}")
        if value is not None:
            values[name], names[name] = value, _option_name(parameter)
    return Given(values, names)


class Values(click.ParamType[Any]):
    """Values between commas, or one word, as the parameter has them."""

    name = "values"

    def __init__(self, parameter: Parameter, kind: inspect.Type) -> None:
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


def _option(test: Procedure, parameter: Parameter) -> Callable[[Any], Any]:
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
            kind_of_number = Percent if parameter.kind.metavar == "PCT" else FiniteRange
            type_ = kind_of_number(above if least is None else least, most, min_open=least is None)
        case inspect.LiteralType(values=values):
            type_ = click.Choice(sorted(str(word) for word in values))
        case _:
            type_ = Values(parameter, kind)
    metavar, hidden = parameter.kind.metavar, parameter.rare
    return click.option(*declarations, type=type_, metavar=metavar, help=help_text, hidden=hidden)


def _kind(parameter: Parameter) -> inspect.Type:
    """The type of a value, without its limits."""
    info = inspect.type_info(parameter.type)
    return info.type if isinstance(info, inspect.Metadata) else info


def _option_name(parameter: Parameter) -> str:
    """The parameter's option; that of a table names one of its entries, and may come again: ``--claim``."""
    is_table = isinstance(_kind(parameter), inspect.StructType)
    return parameter.option.removesuffix("s") if is_table else parameter.option


def _entries_option(
    parameter: Parameter, kind: inspect.StructType, declarations: list[str], help_text: str
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


def _help(test: Procedure, parameter: Parameter) -> str:
    shown: Mapping[DriveClass, str] = {
        drive_class: parameter.shown(test.standard_conditions(drive_class, 0)) for drive_class in DriveClass
    }
    enterprise, client = shown[DriveClass.ENTERPRISE], shown[DriveClass.CLIENT]
    text = parameter.description.rstrip(".")
    if not enterprise:
        return f"{text}."
    return f"{text}; {enterprise}." if enterprise == client else f"{text}; {enterprise}, client {client}."


def _in_words(error: msgspec.ValidationError) -> str:
    """Without the type of what was given: all that is typed is text."""
    return words_and_place(error)[0].replace(", got a text", "")
