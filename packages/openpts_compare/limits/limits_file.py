"""Limits as an operator writes them, in a line such as ``iops.rnd-4k-rw0 >= 180 k`` or in a TOML file."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from openpts.analysis.ratio import ErrorRule, Ratio
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import WrittenFileError, at, placed_text, read_written, shaped
from openpts.errors import RecordError, UsageError, failing_as
from openpts.escaped_text import visible_line
from openpts.record.decoding import decode_json
from openpts.record.writer import BASELINE_NAME, INPUT_FOLDER
from openpts.report.sources import read_for_report, run_folders_of
from openpts.run_folder_files import read_file
from openpts.units import KIB, NS_PER_MS, NS_PER_S, NS_PER_US, format_count
from openpts.vocabulary.document import filled
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.runs.measured_run import MeasuredRun, RunAttributes, RunFigure, unit_of_name
from openpts_pages import cells

_LIMIT: Final = re.compile(
    r"\s*(?P<measure>.*?)\s*(?P<sign>>=|<=|≥|≤|=>|=<|==|!=|>|<|=)\s*(?P<bound>.*?)\s*", re.DOTALL
)
_BOUND: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9][0-9,_]{0,30}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})(?:e[+-]?[0-9]{1,2})?)"
    r"\s*(?P<unit>[^0-9+.-].*)?",
    re.IGNORECASE,
)
_SIGNS: Final = {">=": True, "≥": True, "<=": False, "≤": False}
_GROUPED: Final = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_NEVER_NEGATIVE: Final = {"time", "rate", "size", "IOPS", "power"}
_TIMES: Final = {"x", "×", "times"}
_SI: Final = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_FACTORS: Final[dict[str, tuple[str, Fraction]]] = {
    **{unit: ("time", Fraction(ns)) for unit, ns in (
        ("ns", 1), ("us", NS_PER_US), ("µs", NS_PER_US), ("μs", NS_PER_US), ("ms", NS_PER_MS),
        ("nsec", 1), ("usec", NS_PER_US), ("msec", NS_PER_MS),
        ("s", NS_PER_S), ("min", 60 * NS_PER_S), ("h", 3600 * NS_PER_S),
    )},
    **{f"{prefix}b/s": ("rate", Fraction(size)) for prefix, size in _SI.items()},
    **{f"{prefix}ib/s": ("rate", Fraction(1024**n)) for n, prefix in enumerate("kmg", 1)},
    **{f"{prefix}b": ("size", Fraction(1000**n)) for n, prefix in enumerate(("", "k", "m", "g", "t"))},
    **{f"{prefix}iops": ("IOPS", Fraction(size)) for prefix, size in _SI.items()},
    **{f"{prefix} iops": ("IOPS", Fraction(size)) for prefix, size in _SI.items()},
    **{prefix: ("count", Fraction(size)) for prefix, size in _SI.items() if prefix},
    "mw": ("power", Fraction(1, 1000)),
    "w": ("power", Fraction(1)),
}  # fmt: skip
_HOW: Final = "write for example 'iops.rnd-4k-rw0 >= 180 k' or, against a baseline, '>= -3 %' or '<= 1.1 x'"


class Bound(Struct, frozen=True):
    """What ``measure``, in the operator's words, has to reach or must not exceed.

    ``number`` is in ``unit``, also in the operator's words, and in that of the measure without one. That of a
    relative bound is the share of the baseline: 0.97 of ``>= -3 %``.
    """

    measure: str
    at_least: bool
    number: Fraction
    unit: str = ""
    is_relative: bool = False
    note: str = ""

    @property
    def share(self) -> float:
        """Bound of a relative limit as a ratio to the baseline."""
        return float(self.number)

    def value_in(self, unit: str) -> float:
        """The bound in a measure's unit. Raises UsageError where it is of another kind."""
        written = " ".join(self.unit.lower().split())
        own_kind, own_factor = _FACTORS.get(unit.lower(), (unit or "count", Fraction(1)))
        if self.number < 0 and own_kind in _NEVER_NEGATIVE:
            raise UsageError(
                f"{self.measure}: the measure is in {unit}, which is never below 0; for a change against the "
                f"baseline write {number_text(float(self.number))} %"
            )
        if not written or written == unit.lower():
            return float(self.number)
        kind, factor = _FACTORS.get(written, (None, Fraction(1)))
        if kind != own_kind and (kind, own_kind) != ("count", "IOPS"):
            measured = f"is in {unit}" if unit else "has no unit"
            raise UsageError(f"{self.measure}: the bound is in {self.unit!r}, and the measure {measured}")
        return float(self.number * factor / own_factor)

    def text_in(self, unit: str) -> str:
        """The bound in words: ``at least 180,000 IOPS``, ``at least -3 % against the baseline``."""
        return self.as_written if self.is_relative else self._text(self.value_in(unit), unit)

    @property
    def as_written(self) -> str:
        """Bound in the operator's own unit, for measures whose unit is unknown."""
        if self.is_relative:
            return self._text(self.share, "against the baseline")
        return self._text(float(self.number), self.unit)

    def _text(self, value: float, unit: str) -> str:
        number = f"{signed_pct(value)} %" if self.is_relative else number_text(value)
        return f"{'at least' if self.at_least else 'at most'} {number} {unit}".rstrip()


def bound_of(text: str, note: str = "") -> Bound:
    """Read a limit in one line. Raises UsageError."""
    match = _LIMIT.fullmatch(text)
    if match is None or not match["measure"]:
        raise UsageError(f"{text!r} is not a limit: {_HOW}")
    if match["sign"] not in _SIGNS:
        raise UsageError(f"{text!r}: {match['sign']} is not a comparison of limits, use >= or <=")
    return side_of(match["measure"], match["bound"], at_least=_SIGNS[match["sign"]], note=note)


def side_of(measure: str, bound: str, *, at_least: bool, note: str = "") -> Bound:
    """Read one side of a limit, such as ``180 k``. Raises UsageError."""
    match = _BOUND.fullmatch(bound.strip().replace("\N{MINUS SIGN}", "-"))
    if match is None:
        raise UsageError(f"{measure}: {bound!r} is not a bound: {_HOW}")
    if "," in match["number"] and not _GROUPED.match(match["number"]):
        raise UsageError(
            f"{measure}: the comma in {bound!r} does not separate thousands, as it does in 1,500; "
            "write a point before decimals"
        )
    number = Fraction(match["number"].replace(",", "").replace("_", ""))
    unit = (match["unit"] or "").strip()
    if unit.lower() in _TIMES:
        return _relative(measure, number, bound, at_least=at_least, note=note)
    if unit == "%" and match["number"][0] in "+-":
        return _relative(measure, 1 + number / 100, bound, at_least=at_least, note=note)
    return Bound(measure, at_least, number, unit or unit_of_name(measure), note=note)


def _relative(measure: str, share: Fraction, bound: str, *, at_least: bool, note: str) -> Bound:
    if share <= 0:
        raise UsageError(f"{measure}: {bound!r} leaves nothing of the baseline; {_HOW}")
    return Bound(measure, at_least, share, is_relative=True, note=note)


def refuse_unsigned(bound: Bound, unit: str) -> None:
    """Raise UsageError for ``5 %`` of a measure that is not in per cent: it could mean two things."""
    if bound.unit == "%" and unit != "%":
        number = number_text(float(bound.number))
        raise UsageError(
            f"{bound.measure}: {number} % is ambiguous, the measure is in {unit or 'no unit'}; "
            f"write +{number} % or -{number} % for a change against the baseline"
        )


def number_text(value: float) -> str:
    """Number with six significant digits at most; whole numbers in full."""
    return cells.fixed(value, 0) if value == int(value) and abs(value) < 1e15 else f"{value:,.6g}"


def signed_pct(share: float) -> str:
    """A share of the baseline as a change in per cent: ``-3``."""
    change = 100 * (share - 1)
    return f"{change:+.3g}" if abs(change) > 1e-9 else "+0"


_APART: Final = " and taken for that between sessions, which the sides do not share"


def ratio_words(value: float, low: float, high: float, ratio: Ratio) -> str:
    """``ratio 0.951 (0.942 to 0.96), 3 runs against 3, spread between runs 0.42 %``."""
    return (
        f"ratio {value:.4g} ({low:.4g} to {high:.4g}), {format_count(ratio.runs, 'run')} "
        f"against {ratio.base_runs}, spread between runs {ratio.spread_pct:.2g} %"
        f"{_APART if ratio.apart else ''}"
    )


def fewer_runs(value: float) -> str:
    """What a single run on either side can't tell."""
    return (
        f"ratio {value:.4g} of one run against one: the spread between runs is not known, and that of rounds "
        "does not stand for it; make 2 more runs of each"
    )


def more_runs(ratio: Ratio, rule: ErrorRule) -> str:
    """What an undecided limit asks for, as far as its rule goes."""
    left = rule.most_runs - ratio.runs
    if left <= 0:
        return f"not decided in {format_count(rule.most_runs, 'run')}, the most that the rule allows"
    step = min(left, 3 - ratio.runs if ratio.runs < 3 else 2)
    more = f"not decided: make {format_count(step, 'more run')}, {rule.most_runs} at most"
    return f"{more}, those of both sides in turn on one host" if ratio.apart else more


def too_many_runs(rule: ErrorRule) -> str:
    """Why a limit has no verdict with more runs than its errors are shared out for."""
    most = format_count(rule.most_runs, "run")
    return f"its errors are for {most} at most: set most_runs before the first run"


def verdict_line(judged: Iterable[JudgedLimit]) -> str:
    """How many limits passed, failed, and have no verdict."""
    found = [one.judgement for one in judged]
    return (
        f"limits: {found.count(Judgement.PASS)} passed, {found.count(Judgement.FAIL)} failed, "
        f"{found.count(Judgement.NO_VERDICT)} without a verdict"
    )


def limit_line(one: JudgedLimit) -> str:
    """A verdict in a line: ``fail: iops.rnd_4_kib_rw0.iops at least 180,000 IOPS: measured 171,200 IOPS``."""
    limit = "" if one.limit == "required" else f" {one.limit}"
    found = finding(one)
    return f"{one.judgement}: {one.name}{limit}{f': {found}' if found else ''}"


def finding(one: JudgedLimit) -> str:
    """What was measured, or why there is no verdict."""
    if one.is_relative or one.value is None:
        return one.reason
    measured = f"measured {number_text(one.value)} {one.unit}".rstrip()
    worst = f", the worst of {one.runs} runs" if one.runs > 1 else ""
    return f"{measured}{worst}{f'; {one.reason}' if one.reason else ''}"


def judged_figures(judged: Iterable[JudgedLimit]) -> list[dict[str, Any]]:
    """All verdicts, JSON-ready."""
    return [msgspec.to_builtins(one) for one in judged]


class ErrorRates(Struct, frozen=True):
    """How often relative limits may be judged wrong, over all looks with up to ``most_runs``."""

    false_alarm_pct: float
    miss_pct: float
    most_runs: int
    relative_limits: int

    @classmethod
    def of(cls, rule: ErrorRule) -> Self:
        """Error rates of a rule in per cent."""
        return cls(100 * rule.false_alarm, 100 * rule.miss, rule.most_runs, rule.rows)

    def __str__(self) -> str:
        rows = self.relative_limits
        limits = "1 relative limit" if rows == 1 else f"any of {rows} relative limits"
        return (
            f"{limits}: called failed though kept in at most {self.false_alarm_pct:g} % of all gates, called "
            f"passed though not kept in {self.miss_pct:g} %; over all looks with up to {self.most_runs} "
            "runs, if runs are independent repeats"
        )


_MOST_KIB: Final = 256
MOST_BYTES: Final = _MOST_KIB * KIB


class RequiredCondition(StrEnum):
    """A condition that runs have to meet beside their limits."""

    CONFORMANT = "conformant"
    STEADY = "steady"
    NO_MEDIA_ERRORS = "no media errors"
    NO_THROTTLING = "no throttling"
    SAME_FIRMWARE = "same firmware"


class Allowed(StrEnum):
    """What leaves a figure without a verdict unless it is allowed."""

    DEVIATIONS = "deviations"
    NOT_STEADY = "not steady"
    CONDITIONS = "different conditions"


class _Table(Struct, forbid_unknown_fields=True):
    """A limit with more to say than a line has."""

    measure: str
    at_least: str | float | UnsetType = UNSET
    at_most: str | float | UnsetType = UNSET
    note: str = ""


_Percent = Annotated[float, Meta(ge=0.001, lt=50)]


class _Statistics(Struct, forbid_unknown_fields=True):
    """How often a relative limit may be judged wrong, and how many runs it may ask for."""

    false_alarm_pct: _Percent = 0.5
    miss_pct: _Percent = 5.0
    most_runs: Annotated[int, Meta(ge=2, le=100)] = 7


class LimitsFile(Struct, forbid_unknown_fields=True):
    """All that a limits file may have."""

    limits: list[str | _Table] = field(default_factory=list)
    require: list[RequiredCondition] = field(default_factory=list)
    allow: list[Allowed] = field(default_factory=list)
    statistics: _Statistics = field(default_factory=_Statistics)


class LimitSet(Struct, frozen=True):
    """What a gate holds runs against; ``raw`` is the file as it was written."""

    bounds: tuple[Bound, ...] = ()
    required: tuple[RequiredCondition, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    rule: ErrorRule = ErrorRule()
    raw: bytes = b""


def read_limits(path: Path, more: Sequence[str] = (), allow: Sequence[Allowed] = ()) -> LimitSet:
    """Read a file, and what is given beside it. Raises UsageError with the place of what is wrong."""
    return parse_limits(read_written(path, _MOST_KIB, "limits file"), str(path), more, allow)


def parse_limits(raw: bytes, path: str, more: Sequence[str] = (), allow: Sequence[Allowed] = ()) -> LimitSet:
    """As ``read_limits``, from bytes; ``path`` is what complaints call them."""
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_KIB} KiB, too large for a limits file")
    text = placed_text(raw, path, read_toml)
    file = shaped(text, LimitsFile, path)
    bounds: list[Bound] = []
    complaints: list[str] = []
    for number, entry in enumerate(file.limits):
        try:
            bounds += _bounds_of(entry)
        except UsageError as error:
            complaints.append(f"{at(path, text.place_of(('limits', number)))}: {error}")
    if complaints:
        raise WrittenFileError(tuple(complaints))
    bounds += [bound_of(line) for line in more]
    if not (bounds or file.require):
        raise UsageError(f'{path} has no limits: write limits = ["iops.rnd-4k-rw0 >= 180 k"] for example')
    statistics = file.statistics
    rule = ErrorRule(
        false_alarm=statistics.false_alarm_pct / 100,
        miss=statistics.miss_pct / 100,
        most_runs=statistics.most_runs,
        rows=max(1, sum(bound.is_relative for bound in bounds)),
    )
    allowed = tuple(dict.fromkeys((*file.allow, *allow)))
    return LimitSet(tuple(bounds), tuple(dict.fromkeys(file.require)), allowed, rule, raw)


def _bounds_of(entry: str | _Table) -> list[Bound]:
    if isinstance(entry, str):
        return [bound_of(visible_line(entry))]
    sides = [(value, at_least) for value, at_least in ((entry.at_least, True), (entry.at_most, False))]
    found = [
        side_of(
            visible_line(entry.measure),
            visible_line(str(value)),
            at_least=at_least,
            note=visible_line(entry.note),
        )
        for value, at_least in sides
        if value is not UNSET
    ]
    if not found:
        raise UsageError(f"{entry.measure} has no bound: give at_least, at_most or both")
    low, high = found[0], found[-1]
    if (low.unit, low.is_relative) == (high.unit, high.is_relative) and low.number > high.number:
        raise UsageError(
            f"{entry.measure}: at_least {entry.at_least} is above at_most {entry.at_most}: no value is both"
        )
    return found


_LARGEST: Final = 1e30
"""No figure is above it, or below its inverse, so that all have ratios."""


class BaselineRun(RunAttributes, frozen=True, kw_only=True):
    """A run of a baseline; ``figures`` are by limit."""

    figures: dict[str, RunFigure]

    @classmethod
    def of(cls, run: MeasuredRun, limits: LimitSet) -> Self:
        """What these limits need of a run. Raises UsageError where one means several of its measures."""
        found = {one.measure: run.find(one.measure) for one in limits.bounds if one.is_relative}
        figures = {measure: figure for measure, figure in found.items() if figure is not None}
        return filled(cls, run, folder=str(run.run.folder.resolve()), figures=figures)

    def find(self, measure: str) -> RunFigure | None:
        """Figure of the measure as a limit writes it; None if the run has none."""
        return self.figures.get(measure)


HeldAgainst = MeasuredRun | BaselineRun
"""A run of the baseline: read from its folder, or as another run keeps it."""


def gated_runs(paths: Sequence[Path]) -> tuple[MeasuredRun, ...]:
    """The runs that paths name, those of suites and batches included.

    Raises RecordError, and UsageError for a run that is named twice.
    """
    return tuple(MeasuredRun.of(read_for_report(folder)) for folder in run_folders_of(paths))


def kept_baseline(limits: LimitSet, baseline: Sequence[MeasuredRun]) -> bytes:
    """The copy of a baseline that a record has."""
    runs = [BaselineRun.of(run, limits) for run in baseline]
    return msgspec.json.format(msgspec.json.encode(runs, order="deterministic"), indent=1)


def stored_baseline(folder: Path) -> tuple[BaselineRun, ...]:
    """The baseline that a run was ordered with; empty without one. Raises RecordError."""
    name = f"{INPUT_FOLDER}/{BASELINE_NAME}"
    runs: tuple[BaselineRun, ...] = ()
    with failing_as(RecordError, f"can't read {folder / name}"), suppress(FileNotFoundError):
        runs = decode_json(read_file(folder, name), tuple[BaselineRun, ...])
    for figure in (figure for run in runs for figure in run.figures.values()):
        if any(one and not 1 / _LARGEST < abs(one) < _LARGEST for one in (figure.value, *figure.by_round)):
            raise RecordError(f"can't read {folder / name}: no run can measure such {figure.name!r}")
    return runs
