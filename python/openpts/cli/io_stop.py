"""What ends a measurement, from the words of `openpts io`."""

from dataclasses import dataclass
from typing import Final

from openpts.errors import UsageError
from openpts.fields.parsing import amount_bytes, named_values, number, refuse, whole_number
from openpts.units import NS_PER_S
from openpts.vocabulary.stop import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Steady,
    SteadyFigure,
    StopRule,
)

DEFAULT_SECONDS: Final = 10.0
_STEADY: Final = "--until-steady"
_FIGURES: Final = {
    "iops": SteadyFigure.IOPS,
    "throughput": SteadyFigure.THROUGHPUT,
    "latency": SteadyFigure.MEAN_LATENCY,
}


@dataclass(frozen=True, slots=True)
class StopWords:
    """The options as given; None for one that was not."""

    seconds: float | None = None
    amount: str | None = None
    fills: float | None = None
    ios: int | None = None
    until_steady: str | None = None

    def rule(self, interval_ns: int) -> StopRule:
        """Whichever comes first of all that was given; ten seconds if nothing was. Raises UsageError."""
        if self.amount is not None and self.fills is not None:
            raise UsageError("--bytes and --fills exclude each other: give one of them")
        rules: list[Duration | ByteAmount | DriveFills | IoCount | Steady] = []
        if self.seconds is not None:
            rules.append(Duration.seconds(self.seconds))
        if self.amount is not None:
            rules.append(ByteAmount(amount_bytes("--bytes", self.amount)))
        if self.fills is not None:
            rules.append(DriveFills(self.fills))
        if self.ios is not None:
            rules.append(IoCount(self.ios))
        if self.until_steady is not None:
            rules.append(steady_rule(self.until_steady, interval_ns))
        if not rules:
            return Duration.seconds(DEFAULT_SECONDS)
        return rules[0] if len(rules) == 1 else FirstOf(tuple(rules))


def steady_rule(text: str, interval_ns: int) -> Steady:
    """The rule of ``FIGURE[,window=S][,windows=N][,excursion=PCT][,slope=PCT]``. Raises UsageError."""
    figure, comma, rest = text.partition(",")
    if figure not in _FIGURES:
        refuse(_STEADY, text, f"the figure must be one of {', '.join(_FIGURES)}")
    known = {"window": number, "windows": whole_number, "excursion": number, "slope": number}
    values = named_values(_STEADY, rest, known) if comma else {}
    usual = Steady(_FIGURES[figure], NS_PER_S)
    rule = Steady(
        usual.figure,
        round(values.get("window", 1) * NS_PER_S),
        int(values.get("windows", usual.windows)),
        values.get("excursion", usual.excursion_pct),
        values.get("slope", usual.slope_pct),
    )
    if rule.windows < 2:
        refuse(_STEADY, text, "at least two windows are needed to see a change")
    if rule.window_ns <= 0 or rule.window_ns % interval_ns:
        refuse(_STEADY, text, f"a window must be a multiple of --interval, {interval_ns / NS_PER_S:g} s")
    return rule
