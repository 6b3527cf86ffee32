"""The benchmarks that openpts knows, each a TOML file of rows under ``catalogue``, and those of operators."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from openpts.config_files.schema_errors import Path as ValuePath
from openpts.config_files.schema_errors import PlacedText
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import WrittenFileError, at, placed_text, read_written, shaped
from openpts.did_you_mean import nearest_word
from openpts.errors import UsageError
from openpts.fields.parsing import amount_bytes
from openpts.fields.readers import block_size_bytes, data_of
from openpts.units import NS_PER_S, S_PER_YEAR
from openpts.vocabulary.stimulus import BlockSize
from openpts_practice.rows import (
    CATALOGUE,
    NAMES,
    BenchmarkProfile,
    FigureUnit,
    ProfileRow,
    Statistic,
    is_path,
)

_MOST_KIB: Final = 256
_WHOLE_RANGE: Final = "all"
_RANDOM_PCTS: Final = {"SEQ": 0, "RND": 100}
_OPTIONAL: Final = {"random_pct", "size", "sizes", "span", "data", "pass_size"}

_Text = Annotated[str, Meta(max_length=1000)]
_Name = Annotated[str, Meta(min_length=1, max_length=60)]
_Share = Annotated[int, Meta(ge=0, le=100)]
_Seconds = Annotated[float, Meta(ge=0, le=S_PER_YEAR)]
_Weight = Annotated[int, Meta(ge=1, le=65_536)]
T = TypeVar("T")


class _Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of a row, all of which ``defaults`` may have as well; ``sizes`` are pairs of size and weight."""

    name: _Name | UnsetType = UNSET
    order: Literal["SEQ", "RND", "RND/SEQ"] | UnsetType = UNSET
    random_pct: _Share | UnsetType = UNSET
    size: str | UnsetType = UNSET
    sizes: Annotated[list[tuple[str, _Weight]], Meta(min_length=1, max_length=64)] | UnsetType = UNSET
    qd: Annotated[int, Meta(ge=1, le=4096)] | UnsetType = UNSET
    threads: Annotated[int, Meta(ge=1, le=1024)] | UnsetType = UNSET
    read_pct: _Share | UnsetType = UNSET
    span: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    passes: Annotated[int, Meta(ge=1, le=99)] | UnsetType = UNSET
    warm_up_s: _Seconds | UnsetType = UNSET
    pass_s: Annotated[float, Meta(ge=0.001, le=S_PER_YEAR)] | UnsetType = UNSET
    pass_size: str | UnsetType = UNSET
    pause_s: _Seconds | UnsetType = UNSET
    statistic: Statistic | UnsetType = UNSET
    units: Annotated[list[FigureUnit], Meta(min_length=1, max_length=4)] | UnsetType = UNSET


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark; each row has what ``defaults`` has unless it says otherwise."""

    title: _Name
    source: _Text | UnsetType = UNSET
    doubt: _Text = ""
    differences: _Text = ""
    score: Literal["", "as-ssd"] = ""
    rows: Annotated[list[_Row], Meta(min_length=1, max_length=200)]
    defaults: _Row = _Row()


def read_benchmark(path: Path) -> BenchmarkProfile:
    """The benchmark of a file, under the file's name. Raises WrittenFileError with all that is wrong."""
    return parse_benchmark(read_written(path, _MOST_KIB, "benchmark"), str(path), path.stem)


def parse_benchmark(raw: bytes, path: str, name: str) -> BenchmarkProfile:
    """The benchmark that a text is; ``path`` is what complaints call it. Raises WrittenFileError."""
    text = placed_text(raw, path, read_toml)
    file = shaped(text, _File, path)
    reading = _Reading(text, path)
    rows = [reading.row(place) for place in range(len(file.rows))]
    reading.refuse_twins()
    if reading.complaints:
        raise WrittenFileError(tuple(reading.complaints))
    return BenchmarkProfile(
        name=name,
        title=file.title,
        source=f"{path}, by its operator" if file.source is UNSET else file.source,
        doubt=file.doubt,
        differences=file.differences,
        score=file.score,
        rows=tuple(row for row in rows if row is not None),
    )


class _Reading:
    """Makes rows of the tables of a file that has its shape; collects what is wrong in any of them."""

    def __init__(self, text: PlacedText, path: str) -> None:
        self._text, self._path = text, path
        self._defaults: dict[str, Any] = text.content.get("defaults", {})
        self._tables: list[dict[str, Any]] = text.content["rows"]
        self.complaints: list[str] = []

    def row(self, place: int) -> ProfileRow | None:
        """The row; None where something of it is missing, which is a complaint."""
        own = self._tables[place]
        has = self._defaults | own
        if lacking := self._lacking(own, has):
            self._complain(("rows", place), "; ".join(lacking))
            return None
        key = "sizes" if "sizes" in own or "size" not in has else "size"
        sizes = tuple(
            BlockSize(self._value(place, key, block_size_bytes, size, 1), weight)
            for size, weight in (has["sizes"] if key == "sizes" else [(has["size"], 1)])
        )
        span, amount = has.get("span", _WHOLE_RANGE), has.get("pass_size")
        return ProfileRow(
            name=has["name"],
            random_pct=has["random_pct"] if "random_pct" in has else _RANDOM_PCTS[has["order"]],
            block_sizes=sizes,
            read_pct=has["read_pct"],
            tc=has["threads"],
            qd=has["qd"],
            span_bytes=None if span == _WHOLE_RANGE else self._value(place, "span", amount_bytes, span, 1),
            data=self._value(place, "data", data_of, has["data"], None) if "data" in has else None,
            passes=has["passes"],
            warm_up_ns=round(has["warm_up_s"] * NS_PER_S),
            pass_ns=round(has["pass_s"] * NS_PER_S),
            pass_bytes=None if amount is None else self._value(place, "pass_size", amount_bytes, amount, 1),
            pause_ns=round(has["pause_s"] * NS_PER_S),
            statistic=Statistic(has["statistic"]),
            units=tuple(map(FigureUnit, has["units"])),
        )

    @staticmethod
    def _lacking(own: Mapping[str, Any], has: Mapping[str, Any]) -> list[str]:
        needed = [key for key in _Row.__struct_fields__ if key not in _OPTIONAL and key not in has]
        lacking = [f"{', '.join(needed)}: missing in the row and in [defaults]"] if needed else []
        if {"size", "sizes"} <= own.keys() or not {"size", "sizes"} & has.keys():
            lacking.append("give either size or sizes")
        if has.get("order") == "RND/SEQ" and "random_pct" not in has:
            lacking.append("order RND/SEQ needs random_pct, the per cent of random accesses")
        return lacking

    def refuse_twins(self) -> None:
        """Name and mix tell rows apart, in the report and in comparisons."""
        seen: dict[tuple[Any, Any], int] = {}
        for place, own in enumerate(self._tables):
            has = self._defaults | own
            key = has.get("name"), has.get("read_pct")
            if (first := seen.setdefault(key, place)) != place:
                line = self._text.place_of(("rows", first)).line
                self._complain(("rows", place), f"name and read_pct are those of the row in line {line}")

    def _value(self, place: int, key: str, read: Callable[[str, str], T], word: str, instead: T) -> T:
        """A word as its reader has it; a complaint where it refuses, and something else in its place."""
        try:
            return read(key, word)
        except UsageError as error:
            self._complain(
                ("rows", place, key) if key in self._tables[place] else ("defaults", key), str(error)
            )
            return instead

    def _complain(self, path: ValuePath, message: str) -> None:
        complaint = f"{at(self._path, self._text.place_of(path))}: {message}"
        if complaint not in self.complaints:
            self.complaints.append(complaint)


class _Shipped(Mapping[str, BenchmarkProfile]):
    """Each is read when it is first asked for: a plan needs a few of them."""

    def __init__(self) -> None:
        self._read: dict[str, BenchmarkProfile] = {}

    def __getitem__(self, name: str) -> BenchmarkProfile:
        if name not in self._read:
            if name not in NAMES:
                raise KeyError(name)
            self._read[name] = read_benchmark(CATALOGUE / f"{name}.toml")
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


# SOL-BMK-07 to 10
BENCHMARKS: Final[Mapping[str, BenchmarkProfile]] = _Shipped()
"""By name, in alphabetical order."""

SHORT: Final = BENCHMARKS["short"]
"""Sequential and random, deep and shallow; rows that only write do so in the whole active range."""

POPULAR: Final = tuple(BENCHMARKS[name] for name in ("crystaldiskmark", "as-ssd", "solidigm-low"))
"""What is measured unless other benchmarks are asked for."""


def benchmark_of(word: str) -> BenchmarkProfile:
    """The benchmark of a name, or of the file at a path. Raises UsageError for what is neither.

    A file can't have the name or the title of a benchmark that ships and other rows: reports and comparisons
    would take one for the other.
    """
    if not is_path(word):
        if (found := BENCHMARKS.get(word)) is None:
            near = nearest_word(word, NAMES)
            meant = f"did you mean {near}? All" if near else "all"
            raise UsageError(
                f"{word!r} is not one of the benchmarks that ship: {meant} are in `openpts run benchmarks "
                "--list`. A file of your own is given by its path, such as ./mine.toml"
            )
        return found
    own = read_benchmark(Path(word))
    for shipped in BENCHMARKS.values():
        if own.rows == shipped.rows:
            continue
        if own.title == shipped.title:
            raise UsageError(f"{word}: title: {own.title!r} ships with other rows; use a title of your own")
        if own.name == shipped.name:
            raise UsageError(f"{word}: {own.name} ships with other rows; give the file another name")
    return own
