"""Score over a Set of Traces: practice beyond the PTS."""

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import MOST_RUNS
from openpts.analysis.run_comparison import ADVISED_RUNS, RSE_LIMIT_PCT, SetRule
from openpts.errors import UsageError, failing_as
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import count, listed
from openpts.fields.parsing import refuse
from openpts.fields.readers import without_repeats
from openpts.procedures.kit.procedure import Procedure
from openpts.units import NS_PER_MS
from openpts.vocabulary.condition_text import duration_text
from openpts.vocabulary.phase import Phase, StepPlace
from openpts_traces.recipes import PREFIX, recipes, shipped_hint
from openpts_traces.trace_replay.conditions import MAPPING, Mapping, TraceFile, beside, of_recipe, trace_of

FULL, BUSY_ONLY = "full", "busy-only"
_QUICK: Final = ("boot", "like:office", "like:video-editing", "like:game-load")
_OWN, _NONE = "own", "none"
_MOST_IDLE_MS: Final = 10_000_000


class Idle(Struct, frozen=True):
    """What times without anything in flight are cut to; None leaves them. Part of a score's name."""

    most_ns: int | None

    def __str__(self) -> str:
        match self.most_ns:
            case None:
                return FULL
            case 0:
                return BUSY_ONLY
            case most_ns:
                return f"max-idle {duration_text(most_ns)}"


class Background(Struct, frozen=True):
    """What is replayed beside each trace: what it does in background itself, unless another is named."""

    trace: TraceFile | None = None

    def __str__(self) -> str:
        return _OWN if self.trace is None else self.trace.name


class ScoreSubject(Struct, frozen=True):
    """What names a score: whether the foreground of the traces is alone, and their idle times."""

    background: Background | None
    idle: Idle

    def __str__(self) -> str:
        if self.background is None:
            return f"alone, {self.idle}"
        return f"with {self.background} background, {self.idle}"


class Case(Struct, frozen=True):
    """What has a score of its own; ``number`` is that of its steps."""

    number: int
    trace: TraceFile
    load: ScoreSubject

    def __str__(self) -> str:
        return f"{self.trace.name}, {self.load}"


def _hashed(name: str, word: str) -> TraceFile:
    """A trace of the set, or one beside it, with its hash. Raises UsageError if it can't be read."""
    short = word.removeprefix(PREFIX)
    if (recipe := recipes().get(short)) is not None:
        return replace(of_recipe(recipe, short), sha256=recipe.sha256)
    if not Path(word).is_file():
        hint = shipped_hint(word) or f"the recipes are {', '.join(recipes())}"
        refuse(name, word, f"there is no such recipe, nor such a file; {hint}")
    found = trace_of(word)
    with failing_as(UsageError, f"cannot read {word}"), Path(found.path).open("rb") as file:
        return replace(found, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _traces(name: str, words: list[str]) -> tuple[TraceFile, ...]:
    sets = {"full": tuple(recipes()), "quick": _QUICK}
    chosen = tuple(_hashed(name, word) for given in words for word in sets.get(given, (given,)))
    without_repeats(name, tuple(trace.name for trace in chosen))
    return chosen


def _beside(word: str, folder: str) -> str:
    return word if word in {"full", "quick", _OWN, _NONE, *recipes()} else beside(word, folder)


def full_set() -> tuple[TraceFile, ...]:
    """All recipes that ship."""
    return _traces("traces", ["full"])


_TRACES: Final = Kind(
    list[str],
    _traces,
    lambda traces: "full" if traces == full_set() else ",".join(trace.path for trace in traces),
    "full|quick|TRACE,...",
    {"min_length": 1, "max_length": 64},
    beside=lambda words, folder: [_beside(word, folder) for word in words],
)


def _background(name: str, word: str) -> Background | None:
    if word == _NONE:
        return None
    return Background() if word == _OWN else Background(_hashed(name, word))


def _background_word(chosen: Background | None) -> str:
    if chosen is None:
        return _NONE
    return _OWN if chosen.trace is None else chosen.trace.path


_BACKGROUND: Final = Kind(str, _background, metavar="own|none|TRACE", beside=_beside)


def _idle(name: str, word: str) -> Idle:
    if word in {FULL, BUSY_ONLY}:
        return Idle(None if word == FULL else 0)
    try:
        milliseconds = float(word.removesuffix("ms"))
    except ValueError:
        milliseconds = 0.0
    if not word.endswith("ms") or not 0.001 <= milliseconds <= _MOST_IDLE_MS:
        refuse(name, word, "use full, busy-only, or the longest idle time, such as 25ms")
    return Idle(round(milliseconds * NS_PER_MS))


def _idle_word(idle: Idle) -> str:
    return str(idle) if not idle.most_ns else f"{idle.most_ns / NS_PER_MS:g}ms"


class ScoreConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="score"):
    """``passes`` warm passes of each of ``traces`` after a cold one, as often as ``idle`` and background say.

    Where ``until_rse_pct`` is above 0, passes are added, two at a time and up to ``most_passes``, until the
    relative standard error of the score is at most that. ``background`` None: the foreground alone.
    """

    unused: ClassVar[frozenset[str]] = frozenset(
        {"time_scale", "minute_ns", "active_range", "secondary_metrics", "battery_wh"}
    )

    traces: Annotated[
        tuple[TraceFile, ...],
        Field(
            "Traces",
            "Traces to score: recipes by name, files, quick for four small recipes, full for all that ship.",
            _TRACES,
            examples=(["quick"], ["database", "like:office"]),
            free="what is scored, not how",
        ),
    ]
    idle: Annotated[
        tuple[Idle, ...],
        Field(
            "Idle times",
            "Replay idle times in full, not at all (busy-only), or cut to a length such as 25ms; each of "
            "these gives scores of its own.",
            listed(Kind(str, _idle, _idle_word, "full|busy-only|MS")),
            examples=(["full", "busy-only"], ["25ms"]),
            free="part of the name of each score",
        ),
    ]
    background: Annotated[
        Background | None,
        Field(
            "Background",
            "Score each trace also beside what it does in background itself, beside another trace, or only "
            "alone.",
            _BACKGROUND,
            examples=("own", "none", "backup"),
            show=lambda conditions: _background_word(conditions.background),
            free="part of the name of each score",
        ),
    ]
    mapping: Annotated[Mapping, MAPPING] = Mapping.IDENTITY
    precondition_passes: Annotated[
        float,
        usual.PRECONDITION_PASSES.but(help="Times the user capacity written in sequence before; 0 is none."),
    ]
    passes: Annotated[
        int,
        Field(
            "Warm passes, at least",
            "Passes after the cold one; an odd number.",
            count(1, 99),
            text="{} warm passes",
            amount=True,
        ),
    ]
    until_rse_pct: Annotated[float, usual.UNTIL_RSE] = RSE_LIMIT_PCT
    most_passes: Annotated[int, usual.MOST_PASSES] = MOST_RUNS
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    @property
    def set_rule(self) -> SetRule:
        """When passes are accepted, and with how many they are discarded."""
        return SetRule(self.until_rse_pct or RSE_LIMIT_PCT, self.most_passes)

    @property
    def loads(self) -> tuple[ScoreSubject, ...]:
        """Alone, and with background, with each handling of idle times."""
        backgrounds = (None,) if self.background is None else (None, self.background)
        return tuple(ScoreSubject(background, idle) for background in backgrounds for idle in self.idle)

    def cases(self) -> Iterator[Case]:
        """All that may have a score, in their order; a trace may have no background of its own."""
        pairs = ((trace, load) for trace in self.traces for load in self.loads)
        return (Case(number, *pair) for number, pair in enumerate(pairs, start=1))

    def part_name(self, place: StepPlace) -> str | None:
        """The trace with its load and its idle times."""
        if place.phase is not Phase.LOAD:
            return None
        return next((str(case) for case in self.cases() if case.number == place.number), None)

    @property
    def compares_by(self) -> str:
        """Scores compare only over the same traces, whatever their files are called."""
        hashes = "".join(trace.sha256 for trace in self.traces)
        return f"SHA-256 {hashlib.sha256(hashes.encode()).hexdigest()} of {len(self.traces)} traces"

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A limit that no set can reach, or that all sets begin above."""
        yield from super().contradictions(given)
        yield from usual.even_most("most_passes", self.most_passes, "pass")
        if self.until_rse_pct and self.passes > self.most_passes:
            yield (
                ("most_passes", "passes"),
                f"{self.passes} passes, and {self.most_passes} are the most: raise --most-passes",
            )

    # SOL-STAT-02, 03
    def doubts(self, given: Collection[str]) -> Contradictions:
        """Few passes, or an even number, where none is added."""
        yield from super().doubts(given)
        if not self.until_rse_pct and self.passes < ADVISED_RUNS:
            warm = f"{self.passes} warm pass{'' if self.passes == 1 else 'es'}"
            yield ("passes",), f"{warm}: {ADVISED_RUNS} or more are advised"
        elif not self.until_rse_pct and self.passes % 2 == 0:
            yield ("passes",), f"{self.passes} is even: the median is the lower of the middle two"


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ScoreConditions,
    title="Score over a Set of Traces",
    short_title="Score",
    question="What is the drive worth in everyday use, in one figure?",
    purpose="""Scores of traces by the formula that trace benchmarks publish, and over all of them, with what
    they are made of.

    `openpts trace --help` lists the recipes that ship. At full length: a purge, and for each trace, with and
    without its background, with and without its idle times, all that it touches written once, a cold pass and
    three warm ones, or up to seven until they are close together.
    """,
    quick={"traces": ["quick"], "background": "none", "mapping": "wrap", "passes": 1, "until_rse": 0},
    phase_line="openpts_traces.trace_replay.phase_line:phase_line",
)
