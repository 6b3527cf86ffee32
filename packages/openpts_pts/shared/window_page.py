"""The measurement window of a variable, with the determination data (PTS 7.3.4, 8.3.6)."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts.procedures.kit.steps import HasFigures, Metric
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.model import Band, Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.window_results import WindowResults

# Many rounds make two tables below the plot; a lower plot keeps them on its page.
_ROUNDS_IN_ONE_TABLE: Final = 13
_TALL_PX, _LOW_PX = 380, 300
_VALUE_COLOR, _FIT_COLOR = 2, 3
_AROUND_AVERAGE: Final = 0.25


def height_over_rounds(rounds: int) -> int:
    """The height of a plot with a table of so many rounds below it."""
    return _TALL_PX if rounds <= _ROUNDS_IN_ONE_TABLE else _LOW_PX


def round_columns(rounds: int) -> tuple[Column, ...]:
    """A column for each of so many rounds, in its place on the axis."""
    return tuple(Column(f"R{number}", float(number)) for number in range(1, rounds + 1))


def window_band(results: WindowResults, label: str = "") -> tuple[Band, ...]:
    """Shades the rounds of the window, if it is full, under a label of its own or the usual one."""
    if not results.window.is_full:
        return ()
    first, last = results.window.rounds[0], results.window.rounds[-1]
    name = "Measurement Window" if results.steady else "Last five Rounds"
    return (Band("x", first - 0.5, last + 0.5, "window", label or f"{name} {first}-{last}"),)


def judged_sentence(subject: str, results: WindowResults, completed: int, word: str = "Round") -> Verdict:
    """Whether the subject came to steady state within so many rounds, with its rule."""
    rounds, label = results.window.rounds, results.window.label
    if results.steady:
        return Verdict(
            f"{subject}: Steady State reached in {word} {rounds[-1]}; range and slope rules of 2.1.24 hold "
            f"in {word}s {label}.",
            "pass",
        )
    if results.window.is_full:
        return Verdict(
            f"{subject}: Steady State not reached within {completed} {word}s; "
            f"the last five ({label}) are shown.",
            "fail",
        )
    return Verdict(f"{subject}: Steady State can't be judged: n/a ({results.reason(word)}).", "fail")


class Window(Struct, frozen=True, kw_only=True):
    """A measurement window to be shown: ``verdict`` None where it can't be judged, for ``reason``.

    ``values`` are those of all completed rounds, ``conditions`` the line below the determination data,
    ``round_word`` what a round is called: Round, or Tracking Round. ``further_verdicts`` are shown
    below the first.
    """

    variable: str
    metric: Metric[HasFigures]
    verdict: SteadyStateReport | None
    values: tuple[float, ...]
    reason: str
    conditions: str
    round_word: str = "Round"
    further_verdicts: tuple[Verdict, ...] = ()

    def page(self, name: PlotName) -> Page:
        """The variable over the window; where nothing is judged, the rounds there are, and why."""
        verdict, metric = self.verdict, self.metric
        if verdict is None:
            table = rows_table(
                f"{name.id}-values",
                f"{self.round_word}s completed ({metric.unit})",
                ("Tracking variable:<0", *round_columns(len(self.values))),
                ((self.variable, *map(metric.shown, self.values)),),
            )
            sentence = Verdict(f"Steady State Measurement Window: n/a ({self.reason}).", "fail")
            return page(name, sentence, table if self.values else None)
        fit = [verdict.slope * number + verdict.intercept for number in verdict.rounds]
        shown = self._values(f"{name.id}-values", verdict, fit)
        plot = Plot(
            x=ticks.window_axis(verdict.rounds, self.round_word),
            y=ticks.around_axis(metric.axis_title, verdict.average, _AROUND_AVERAGE, [*verdict.values, *fit]),
            series=(
                Series(metric.unit, "row", (0,), _VALUE_COLOR, emphasis=True),
                Series("Best linear fit", "row", (2,), _FIT_COLOR, style="fit"),
            ),
            alt=f"{metric.text(verdict.minimum)} to {metric.text(verdict.maximum)} {metric.unit} "
            f"around an average of {metric.text(verdict.average)}. {judgements(verdict)[0].text}",
            rules=(
                PlotRule("Average", verdict.average, "average"),
                PlotRule("110 % of average", verdict.band[1], "limit"),
                PlotRule("90 % of average", verdict.band[0], "limit"),
            ),
            bands=(Band("y", *verdict.band, "allowed"),),
            height_px=320,
        )
        data = determination_table(f"{name.id}-data", verdict, metric, self.conditions)
        return page(name, plot.over(name, shown), *judgements(verdict), *self.further_verdicts, data, shown)

    def _values(self, table_id: str, verdict: SteadyStateReport, fit: Sequence[float]) -> Table:
        average, shown = verdict.average, self.metric.shown
        off_pct = (100 * (value / average - 1) if average else 0.0 for value in verdict.values)
        return rows_table(
            table_id,
            "Values plotted",
            (
                Column(self.round_word, align="left", width=0),
                *(Column(str(number), float(number)) for number in verdict.rounds),
            ),
            (
                (self.metric.unit, *map(shown, verdict.values)),
                ("Deviation from average (%)", *(cells.percent(pct, 2, plus=True) for pct in off_pct)),
                ("Best linear fit", *map(shown, fit)),
            ),
        )


def judgements(verdict: SteadyStateReport) -> tuple[Verdict, ...]:
    """The verdict by definition 2.1.24, with both figures and their limits; and where 7.3.4 differs."""
    by_definition = Verdict(
        f"Steady State {'' if verdict.steady else 'not '}reached: range {cells.fixed(verdict.range_pct, 1)} "
        "% of average (limit 20 %), slope excursion "
        f"{cells.fixed(verdict.slope_excursion_pct, 1)} % of average (limit 10 %); rules of 2.1.24.",
        "pass" if verdict.steady else "fail",
    )
    if verdict.steady == verdict.inside_band:
        return (by_definition,)
    by_band = Verdict(
        f"Range {'inside' if verdict.inside_band else 'outside'} the ±10 % band of the verification record "
        f"(7.3.4), but {'steady' if verdict.steady else 'not steady'} by definition 2.1.24; the definition "
        "decides."
    )
    return by_definition, by_band


def determination_table(
    table_id: str, verdict: SteadyStateReport, metric: Metric[HasFigures], conditions: str
) -> Table:
    """The Steady State determination data, both forms of the specification in one (PTS 7.3.4, Plot 8-3)."""
    low, high = verdict.band
    slope = cells.fixed(verdict.slope, 3 if metric.decimals is not None else 6)
    pairs = (
        (
            "Measurement Window",
            f"Start {verdict.rounds[0]}; End {verdict.rounds[-1]}",
            "Average",
            metric.shown(verdict.average),
            Cell("-"),
        ),
        (
            "Allowed maximum data excursion (20 %)",
            metric.shown(verdict.allowed_range),
            "Measured maximum data excursion (max - min)",
            metric.shown(verdict.range, note=cells.fixed(verdict.range_pct, 1, "%")),
            cells.verdict(verdict.range_ok),
        ),
        (
            "Allowed maximum slope excursion (10 %)",
            metric.shown(verdict.allowed_slope_excursion),
            "Measured maximum slope excursion",
            metric.shown(verdict.slope_excursion, note=cells.fixed(verdict.slope_excursion_pct, 1, "%")),
            cells.verdict(verdict.slope_ok),
        ),
        (
            "Allowed range (average ±10 %)",
            f"{metric.text(low)} to {metric.text(high)}",
            "Measured range (min to max)",
            f"{metric.text(verdict.minimum)} to {metric.text(verdict.maximum)}",
            cells.verdict(verdict.inside_band),
        ),
        (
            "Least squares linear fit",
            f"{slope} * R + {metric.text(verdict.intercept)}",
            "Correlation coefficient r",
            cells.number_or("constant values", verdict.r, 3),
            Cell("-"),
        ),
    )
    return rows_table(
        table_id,
        "Steady State Determination Data",
        "Item:<1.75 | Value:1.2 | Item:<1.85 | Value:1.2 | Result:^0.35",
        pairs,
        note=conditions,
    )
