"""What an operator chooses of a replay: the trace, and where its I/Os go."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import UsageError
from openpts.fields.field import Field, one_of
from openpts.vocabulary.stimulus import ActiveRange
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
