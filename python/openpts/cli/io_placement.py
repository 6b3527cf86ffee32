"""Where random accesses go, from the words of `openpts io`."""

from collections.abc import Callable, Mapping
from typing import Final

from openpts.fields.parsing import amount_bytes, number, pair, refuse, the_one_given, whole_number
from openpts.vocabulary.placement import (
    Normal,
    Pareto,
    Placement,
    Segments,
    Uniform,
    UniqueLbas,
    Zipf,
    Zone,
    Zones,
)


def placement(words: Mapping[str, str | None]) -> Placement:
    """The placement of the one option that was given; uniform without one. Raises UsageError."""
    option = the_one_given(words)
    if option is None:
        return Uniform()
    return PLACEMENTS[option](option, words[option] or "")


def _zones(option: str, text: str) -> Placement:
    zones = []
    for word in text.split(","):
        weight, range_pct = pair(option, word, "/", "ACCESS/RANGE,... such as 50/5,30/15,20/80")
        zones.append(Zone(whole_number(option, weight), number(option, range_pct)))
    if sum(zone.weight for zone in zones) != 100:
        refuse(option, text, "the shares of accesses do not sum to 100")
    if abs(sum(zone.range_pct for zone in zones) - 100) > 1e-6:
        refuse(option, text, "the shares of the range do not sum to 100")
    return Zones(tuple(zones))


def _zipf(option: str, text: str) -> Placement:
    theta = number(option, text)
    if theta <= 0:
        refuse(option, text, "theta must be above 0")
    return Zipf(theta)


def _pareto(option: str, text: str) -> Placement:
    h = number(option, text)
    if not 0 < h < 0.5:
        refuse(option, text, "h must be between 0 and 0.5")
    return Pareto(h)


def _normal(option: str, text: str) -> Placement:
    mean_pct, deviation_pct = (number(option, word) for word in pair(option, text, ",", "MEAN,DEVIATION"))
    if mean_pct > 100 or not 0 < deviation_pct <= 100:
        refuse(option, text, "mean and deviation must be per cent of the range, the deviation above 0")
    return Normal(mean_pct, deviation_pct)


def _segments(option: str, text: str) -> Placement:
    count, size = pair(option, text, ":", "N:SIZE such as 16:1MiB")
    segments = Segments(whole_number(option, count), amount_bytes(option, size))
    if not segments.count:
        refuse(option, text, "at least one segment is needed")
    return segments


def _unique(option: str, text: str) -> Placement:
    return UniqueLbas(amount_bytes(option, text))


PLACEMENTS: Final[Mapping[str, Callable[[str, str], Placement]]] = {
    "--zones": _zones,
    "--zipf": _zipf,
    "--pareto": _pareto,
    "--normal": _normal,
    "--segments": _segments,
    "--unique": _unique,
}
"""Each option with what reads its word."""
