"""When I/Os are issued, from the words of `openpts io`."""

from collections.abc import Callable, Mapping
from typing import Final

from openpts.fields.parsing import number, pair, refuse, the_one_given, whole_number
from openpts.units import NS_PER_MS, NS_PER_US
from openpts.vocabulary.pacing import Burst, ClosedLoop, DutyCycle, FixedRate, Pacing, Poisson, ThinkTime


def pacing(words: Mapping[str, str | None]) -> Pacing:
    """The pacing of the one option that was given; a closed loop without one. Raises UsageError."""
    option = the_one_given(words)
    if option is None:
        return ClosedLoop()
    return PACINGS[option](option, words[option] or "")


def _above_zero(option: str, text: str) -> float:
    value = number(option, text)
    if value <= 0:
        refuse(option, text, "must be above 0")
    return value


def _duration_ns(option: str, text: str, unit_ns: int) -> int:
    duration_ns = round(_above_zero(option, text) * unit_ns)
    if not 0 < duration_ns < 2**62:
        refuse(option, text, "is out of range")
    return duration_ns


def _rate(option: str, text: str) -> Pacing:
    return FixedRate(_above_zero(option, text))


def _poisson(option: str, text: str) -> Pacing:
    return Poisson(_above_zero(option, text))


def _burst(option: str, text: str) -> Pacing:
    ios, period = pair(option, text, "@", "N@MS, N I/Os every MS milliseconds")
    burst = Burst(whole_number(option, ios), _duration_ns(option, period, NS_PER_MS))
    if not burst.ios:
        refuse(option, text, "a burst needs at least one I/O")
    return burst


def _duty(option: str, text: str) -> Pacing:
    on, off = pair(option, text, "/", "ON/OFF in milliseconds")
    return DutyCycle(_duration_ns(option, on, NS_PER_MS), _duration_ns(option, off, NS_PER_MS))


def _think(option: str, text: str) -> Pacing:
    return ThinkTime(_duration_ns(option, text, NS_PER_US))


PACINGS: Final[Mapping[str, Callable[[str, str], Pacing]]] = {
    "--rate": _rate,
    "--poisson": _poisson,
    "--burst": _burst,
    "--duty": _duty,
    "--think": _think,
}
"""Each option with what reads its word."""
