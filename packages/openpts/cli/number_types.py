"""Types of options' values: finite numbers, a rated endurance, runs of a baseline."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import click

from openpts.cli.options import PATH, option
from openpts.errors import UsageError
from openpts.units import GIB, KIB, MB, MIB, TB, parse_size_bytes

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
    """A range of finite numbers in per cent; the sign may be there or not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        return super().convert(value.removesuffix("%") if isinstance(value, str) else value, param, ctx)


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
