"""What an operator chooses of a replay: a trace and where its I/Os go, or a set of traces with scores."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import UsageError, failing_as
from openpts.fields.field import Field, ValueType, one_of
from openpts.fields.parsing import refuse
from openpts.fields.readers import without_repeats
from openpts.units import NS_PER_MS
from openpts.vocabulary.stimulus import ActiveRange
from openpts.vocabulary.workload import duration_text
from openpts_traces.recipes import PREFIX, Recipe, recipes, shipped_hint


class Mapping(StrEnum):
    """Where the I/Os of a trace go on the target."""

    IDENTITY = "identity"
    CLIP = "clip"
    WRAP = "wrap"
    SCALE = "scale"
    COMPACT = "compact"
    ZONES = "zones"


class TraceFile(Struct, frozen=True, omit_defaults=True):
    """A trace by its name and its place, which is ``recipe:NAME`` of one that ships as a recipe.

    ``label`` and ``model`` are what a recipe is like and how it was made. ``sha256`` is that of the file
    where runs of different traces must not be compared; empty elsewhere. ``region`` is the part of the target
    that it goes to, and ``mapping`` how; None where the test decides.
    """

    name: str
    path: str
    label: str = ""
    model: str = ""
    sha256: str = ""
    region: ActiveRange | None = None
    mapping: Mapping | None = None

    def __str__(self) -> str:
        return self.name


class Prefill(StrEnum):
    """What is written before the first pass: reads of what was never written are no reads of a drive."""

    READS = "reads"
    FOOTPRINT = "footprint"
    FULL = "full"
    NONE = "none"


class Trims(StrEnum):
    """What becomes of trims, and of zeroes that the drive writes by itself."""

    KEEP = "keep"
    WRITE = "write"
    SKIP = "skip"


MAPPING: Final = Field(
    "Mapping",
    "Places on the target: as traced, clipped at its end, modulo its capacity, runs moved with their gaps "
    "scaled, or packed.",
    one_of(*(word for word in Mapping if word is not Mapping.ZONES)),
    text="mapping {}",
)


def of_recipe(recipe: Recipe, name: str) -> TraceFile:
    """The trace that a recipe stands for, under that name."""
    return TraceFile(name, f"{PREFIX}{recipe.name}", recipe.label, recipe.model)


def trace_of(word: str) -> TraceFile:
    """A trace by a path, or by ``recipe:NAME``. Raises UsageError if there is none."""
    if word.startswith(PREFIX):
        if (recipe := recipes().get(word.removeprefix(PREFIX))) is None:
            hint = shipped_hint(word) or f"the recipes are {', '.join(recipes())}"
            raise UsageError(f"cannot replay {word}: there is no such recipe; {hint}")
        return of_recipe(recipe, word)
    path = Path(word)
    if not path.is_file():
        hint = shipped_hint(word)
        raise UsageError(f"cannot replay {word}: there is no such file{f'; {hint}' if hint else ''}")
    return TraceFile(path.name, str(path.resolve()))


def beside(word: str, folder: str) -> str:
    """A trace that a file in that folder names, so that it is found from anywhere."""
    return word if word.startswith(PREFIX) else str(Path(folder) / word)


def trace_words(trace: TraceFile) -> str:
    """What a recipe is like, and how it was made."""
    if not trace.label:
        return "a trace of the operator's"
    return f"{trace.label[0].upper()}{trace.label[1:]}. {trace.model}"


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


class ScoredTrace(Struct, frozen=True):
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


TRACES: Final = ValueType(
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


def background_word(chosen: Background | None) -> str:
    """As on the command line."""
    if chosen is None:
        return _NONE
    return _OWN if chosen.trace is None else chosen.trace.path


BACKGROUND: Final = ValueType(str, _background, metavar="own|none|TRACE", beside=_beside)


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


def loads(background: Background | None, idle: Sequence[Idle]) -> tuple[ScoreSubject, ...]:
    """Alone, and with background, with each handling of idle times."""
    backgrounds = (None,) if background is None else (None, background)
    return tuple(ScoreSubject(beside, one) for beside in backgrounds for one in idle)


def hash_of(traces: Sequence[TraceFile]) -> str:
    """What runs over the same traces have in common, whatever their files are called."""
    hashes = "".join(trace.sha256 for trace in traces)
    return f"SHA-256 {hashlib.sha256(hashes.encode()).hexdigest()} of {len(traces)} traces"


IDLE: Final = ValueType(str, _idle, _idle_word, "full|busy-only|MS")
