"""Options declared where a command takes them, in its signature or as fields of a dataclass; their types."""

import inspect
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import click
from msgspec import Struct

from openpts.cli.commands_on_demand import Decorator, together
from openpts.errors import UsageError
from openpts.units import GIB, KIB, MB, MIB, TB, parse_size_bytes

PATH: Final = click.Path(path_type=Path)
FILE: Final = click.Path(path_type=Path, dir_okay=False)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)


class _NewFile(click.Path):
    """A file to be written: no folder is made for it, as its name may be a slip."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of that file. Raises click.BadParameter."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        with suppress(PermissionError):  # which writing says
            if not path.parent.is_dir():
                self.fail(f"{path.parent} is no folder: make it, or name another", param, ctx)
        return path


NEW_FILE: Final = _NewFile(dir_okay=False)


class _ReadText(click.ParamType[Any]):
    """A text that ``read`` makes a value of; it gets the option's name for what it refuses."""

    def __init__(self, read: Callable[[str, str], Any]) -> None:
        self.name, self._read = read.__name__, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """The value. Raises UsageError."""
        return self._read(param.opts[0], value) if isinstance(value, str) and param else value


WHAT: Final = "What"
HOW_LONG: Final = "How long"
SAFETY: Final = "Safety"
OUTPUT: Final = "Output"
_SECTIONS: Final = (WHAT, HOW_LONG, SAFETY, OUTPUT)
EVERY_OPTION: Final = "openpts.cli.options.every_option"
"""In the meta of a context: whether its help has all options."""


class UsualOption(click.Option):
    """An option that most runs need: the help has it in this section."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


def in_section(section: str) -> dict[str, Any]:
    """The settings of an option that the help has in this section; none for one of ``--help-all`` alone."""
    return {"cls": UsualOption, "section": section} if section else {}


class UsualFirst(click.Command):
    """A command whose help has the usual options; ``--help-all`` has all, and text behind a form feed."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        count = sum(isinstance(one, click.Option) and not one.hidden for one in self.params)
        self.params.append(
            UsualOption(
                ["--help-all"],
                section=OUTPUT,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_every_option,
                help=f"Show all {count + 2} options.",
            )
        )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """With what is behind a form feed where all is asked for."""
        super().format_help_text(ctx, formatter)
        details = inspect.cleandoc(self.help or "").partition("\f")[2]
        if ctx.meta.get(EVERY_OPTION) and details:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(details)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The usual ones by their sections, all in one column."""
        if ctx.meta.get(EVERY_OPTION):
            super().format_options(ctx, formatter)
            return
        usual = [one for one in self.params if isinstance(one, UsualOption)]
        records = [(one.section, one.get_help_record(ctx) or ("", "")) for one in usual]
        width = max(len(names) for _, (names, _) in records)
        for section in _SECTIONS:
            rows = [(f"{names:{width}}", text) for of, (names, text) in records if of == section]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


def _show_every_option(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        context.meta[EVERY_OPTION] = True
        click.echo(context.get_help())
        context.exit()


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One option or argument, named as what takes it unless it has names; with all of them, a decorator."""

    declare: Callable[..., Decorator]
    names: tuple[str, ...]
    settings: dict[str, Any] = field(hash=False)

    def declared(self, name: str) -> Iterator[Decorator]:
        usual = () if self.declare is click.argument else ("--" + name.replace("_", "-"),)
        own = () if any(one.isidentifier() for one in self.names) else (name,)
        yield self.declare(*self.names or usual, *own, **self.settings)

    def __call__(self, command: Any) -> Any:
        return self.declare(*self.names, **self.settings)(command)

    def value(self, name: str, named: dict[str, Any]) -> Any:
        return named.pop(name)


class _Group(Struct, frozen=True):
    """The options that are fields of a dataclass; a field that declares none has its default."""

    kind: type[Any]

    def _own(self) -> "dict[str, _Parameter | _Group]":
        return {
            one.name: one.default for one in fields(self.kind) if isinstance(one.default, _Parameter | _Group)
        }

    def __call__(self, command: Any) -> Any:
        return together(*self.declared(""))(command)

    def declared(self, _name: str) -> Iterator[Decorator]:
        for name, one in self._own().items():
            yield from one.declared(name)

    def value(self, _name: str, named: dict[str, Any]) -> Any:
        return self.kind(**{name: one.value(name, named) for name, one in self._own().items()})


def option(
    form: str, text: str, kind: Any = None, *, name: str = "", usual: str = "", **settings: Any
) -> Any:
    """An option with its help and its type, which may be what reads its text.

    ``form`` has what stands for the value, behind the option's names where they aren't that of what takes it:
    ``SIZE``, or ``--bytes SIZE``. One that is a decorator, too, says what takes it (``name``). ``usual`` is
    the section of the help that has it; one without is for ``--help-all``.
    """
    names = [word for word in form.split() if word.startswith("-")]
    metavar = form.removeprefix(" ".join(names)).strip() or None
    kind = _ReadText(kind) if isinstance(kind, FunctionType) else kind
    shown = {"show_default": True} if "default" in settings else {}
    every = {"help": text, "type": kind, "metavar": metavar, **shown, **settings, **in_section(usual)}
    return _Parameter(click.option, (*names, *name.split()), every)


def flag(text: str, *, name: str = "", usual: str = "") -> Any:
    """An option without a value; all its names in one text."""
    return _Parameter(click.option, tuple(name.split()), {"help": text, "is_flag": True, **in_section(usual)})


def listing_option(text: str, *, name: str) -> Any:
    """``--list``, whose NAME may be left out and is an empty text then."""
    return option("--list [NAME]", text, name=name, is_flag=False, flag_value="")


def argument(metavar: str | None = None, kind: Any = None, *, name: str = "", **settings: Any) -> Any:
    """A word without an option's name before it."""
    return _Parameter(click.argument, tuple(name.split()), {"metavar": metavar, "type": kind, **settings})


def group(kind: type[Any]) -> Any:
    """All options that are fields of a dataclass, as one value."""
    return _Group(kind)


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a command, which takes what its keywords declare, in the order of the help."""
    keywords = inspect.signature(command).parameters.items()
    declared = {name: one.default for name, one in keywords if isinstance(one.default, _Parameter | _Group)}

    @wraps(command)
    def call(*arguments: Any, **named: Any) -> Any:
        own = {name: one.value(name, named) for name, one in declared.items()}
        return command(*arguments, **own, **named)

    every = together(*(each for name, one in declared.items() for each in one.declared(name)))
    with_all: Callable[..., Any] = every(call)
    return with_all


_GROUPED: Final = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(?![0-9,])")
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]+)")
_RATE_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "iops": {"iops": 1, "k": 1e3, "kiops": 1e3, "m": 1e6, "miops": 1e6},
    "mb_per_s": {
        "kb/s": 1e-3,
        "mb/s": 1,
        "gb/s": 1e3,
        "kib/s": KIB / MB,
        "mib/s": MIB / MB,
        "gib/s": GIB / MB,
    },
}


def rate_as_printed(name: str, text: str) -> str:
    """A rate of a data sheet, such as ``1.4M`` or ``5.1GB/s``, as a number in the unit of ``name``.

    Any other text is returned as it is.
    """
    plain = _without_groups(text)
    found = _RATE.fullmatch(plain.strip())
    units = next((units for unit, units in _RATE_UNITS.items() if name.endswith(f"_{unit}")), {})
    if found is None or (times := units.get(found[2].lower())) is None:
        return plain
    return f"{float(found[1]) * times:.15g}"


def _without_groups(text: str) -> str:
    """``7,000`` as ``7000``; a comma that divides no group of three digits stays."""
    return _GROUPED.sub(lambda found: found[0].replace(",", ""), text)


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click has it; "nan" and "inf" are no numbers here."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class Percent(FiniteRange):
    """A range of finite numbers in per cent; the unit may be there or not."""

    unit = "%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        return super().convert(value.removesuffix(self.unit) if isinstance(value, str) else value, param, ctx)


class Seconds(Percent):
    """The same in seconds."""

    unit = "s"


class EnduranceBytes(click.ParamType[int]):
    """Bytes from ``1.2PB`` or ``600TBW``; a number alone counts terabytes."""

    name = "TBW"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The amount in bytes, above 0."""
        text = re.sub(r"(?i)(?<=[KMGTP]B)W\s*$", "", _without_groups(str(value)))
        try:
            endurance_bytes = round(float(text) * TB)
        except (ValueError, OverflowError):
            try:
                endurance_bytes = parse_size_bytes(text)
            except UsageError as error:
                self.fail(str(error), param, ctx)
        if endurance_bytes <= 0:
            self.fail(
                f"invalid endurance {value!r}: write for example 1.2PB, or 1200 for terabytes", param, ctx
            )
        return endurance_bytes


BASELINE: Final = "--baseline"


class WithBaseline(click.Command):
    """All words behind --baseline are runs of it, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the option in front of each of its words, as click has it."""
        spread: list[str] = []
        of_baseline = False
        for word in args:
            if word.startswith("-"):
                of_baseline = word == BASELINE
                if of_baseline:
                    continue
            spread += [BASELINE, word] if of_baseline else [word]
        return super().parse_args(ctx, [*spread, BASELINE] if args[-1:] == [BASELINE] else spread)


def baseline_option(help_text: str) -> Any:
    """The option of a command that is one ``WithBaseline``."""
    text = f"{help_text}; all words up to the next option."
    return option(f"{BASELINE} RUN...", text, PATH, name="baseline", multiple=True)
