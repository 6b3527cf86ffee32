"""The conditions of the tests that measure the rows of benchmarks."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.ratio import MOST_RUNS
from openpts.analysis.run_comparison import RSE_LIMIT_PCT, SetRule
from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, Listed, RestingConditions, at_time_scale
from openpts.fields.field import AMOUNT, SECONDS, Field, ValueType, count, listed
from openpts.fields.parsing import amount_bytes, number, refuse
from openpts.fields.readers import data_of, data_word, size_text
from openpts.units import KIB, NS_PER_S, format_capacity
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import DataPattern, RandomData, RandomOnce, ReducibleData
from openpts_practice.rows import BenchmarkProfile, ProfileRow, is_path

_MOST_PASSES: Final = 99
_LONGEST_NS: Final = 60 * NS_PER_S


def _benchmark(name: str, word: str) -> BenchmarkProfile:
    from openpts_practice.rows.profiles import benchmark_of  # noqa: PLC0415 slow to load

    try:
        return benchmark_of(word)
    except WrittenFileError:
        raise  # with the places in the file
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error


def _beside(word: str, folder: str) -> str:
    return str(Path(folder) / word) if is_path(word) else word


BENCHMARKS_KIND: Final = listed(
    ValueType(str, _benchmark, lambda benchmark: benchmark.name, "NAME|FILE", beside=_beside)
)
"""Names of benchmarks that ship, and files of the operator's own."""

OWN_DATA: Final = "test"
"""Of ``row_data``: the data pattern of the test, or of the state, in place of the benchmark's own."""


_IOMETER_DATA: Final[Mapping[str, DataPattern]] = {
    "repeating-bytes": ReducibleData(0),
    "pseudo-random": RandomOnce(),
    "full-random": RandomData(),
}
"""Iometer's: a repeated byte in each I/O, one random buffer for all, and places in a random one of 16 MB."""


def _row_data(name: str, word: str) -> DataPattern | None:
    if word == OWN_DATA:
        return None
    return _IOMETER_DATA.get(word) or data_of(name, word)


# LSI-PROC-02, SOL-BMK-04
class FreeSpace(Struct, frozen=True):
    """What conditioning leaves free: so many places of one size, in bytes or in per cent of the active range.

    The active range is written in as many pieces of one size, with a free place behind each. Test files are
    in the first free place.
    """

    places: int = 1
    place_bytes: int = 0
    place_pct: float = 0


_FREE: Final = re.compile(r"\s*(?:([0-9]{1,4})\s*[x*]\s*)?([0-9.]+)\s*(%|[A-Za-z]+)\s*")


def _free_space(name: str, text: str) -> FreeSpace:
    match = _FREE.fullmatch(text)
    if match is None or not (places := int(match[1] or 1)):
        refuse(name, text, "write it as a size or a share, such as 10GB, 25% or 16x1GiB for 16 places")
    if match[3] != "%":
        return FreeSpace(places, amount_bytes(name, f"{match[2]}{match[3]}"))
    share_pct = number(name, match[2])
    if not 0 < places * share_pct < 100:
        refuse(name, text, "must leave more than 0 and less than 100 per cent of the active range")
    return FreeSpace(places, place_pct=share_pct)


def _free_space_text(free: FreeSpace | None) -> str:
    if free is None:
        return ""
    size = f"{free.place_pct:g}%" if free.place_pct else f"{free.place_bytes}B"
    return f"{free.places}x{size}" if free.places > 1 else size


def free_space_words(free: FreeSpace | None) -> str:
    """What is left free, for readers: ``16 x 1.00 GB``."""
    if free is None:
        return "nothing left free"
    size = f"{free.place_pct:g} %" if free.place_pct else format_capacity(free.place_bytes)
    return f"{free.places} x {size} left free" if free.places > 1 else f"{size} left free"


LEAVE_FREE: Final = ValueType(str, _free_space, _free_space_text, "[Nx]SIZE|PCT%")


def benchmarks_at_their_scale(name: str, value: Any, conditions: Any) -> Any:
    """Sets other benchmarks, with lengths scaled as those of the present ones were."""
    chosen = replace(conditions, benchmarks=BENCHMARKS_KIND.read(name, value))
    if len({one.title for one in chosen.benchmarks}) < len(chosen.benchmarks):
        raise UsageError(f"{name}: two benchmarks have the same title; give each its own")
    if conditions.time_scale == 1:
        return chosen
    scaled = at_time_scale(chosen, conditions.time_scale)
    return replace(conditions, benchmarks=scaled.benchmarks)


def benchmarks_text(benchmarks: tuple[BenchmarkProfile, ...]) -> str:
    """Benchmarks for the ledger, with the passes of their rows, their test files and their data."""
    return ", ".join(map(_benchmark_text, benchmarks))


def _benchmark_text(benchmark: BenchmarkProfile) -> str:
    counts = sorted({row.passes for row in benchmark.rows})
    parts = [f"{' or '.join(map(str, counts))} pass{'' if counts == [1] else 'es'} a row"]
    if files := sorted({row.span_bytes for row in benchmark.rows if row.span_bytes is not None}):
        parts.append(f"file of {' or '.join(map(size_text, files))}")
    if data := dict.fromkeys(data_word(row.data) for row in benchmark.rows if row.data is not None):
        parts.append(f"data {' or '.join(data)}")
    return f"{benchmark.title} ({', '.join(parts)})"


def _of_rows(
    name: str,
    description: str,
    kind: ValueType,
    changed: Callable[[ProfileRow, Any], ProfileRow],
    having: Callable[[ProfileRow], bool] = lambda _row: True,
) -> Field:
    """Something of every row of every benchmark that has it, in place of the benchmark's own."""

    def change(given: str, value: Any, conditions: Any) -> Any:
        read = kind.read(given, value)
        if not any(having(row) for one in conditions.benchmarks for row in one.rows):
            refuse(given, str(value), "no row of these benchmarks has a test file")

        def with_value(row: ProfileRow) -> ProfileRow:
            return changed(row, read) if having(row) else row

        benchmarks = tuple(
            replace(one, rows=tuple(map(with_value, one.rows))) for one in conditions.benchmarks
        )
        return replace(conditions, benchmarks=benchmarks)

    return Field(
        "", description, kind, name=name, field="benchmarks", change=change, show=lambda _conditions: ""
    )


# SOL-BMK-04, LSI-ENT-01
ROW_PARAMETERS: Final = (
    _of_rows(
        "passes",
        "Passes of each row, in place of the benchmark's own number.",
        count(1, _MOST_PASSES),
        lambda row, passes: replace(row, passes=passes),
    ),
    "until_rse_pct",
    "most_passes",
    _of_rows(
        "file_size",
        "Size of the test files, in place of the benchmarks' own, such as 1GiB to 8GiB.",
        AMOUNT,
        lambda row, size: replace(row, span_bytes=size),
        lambda row: row.span_bytes is not None,
    ),
    _of_rows(
        "row_data",
        "Data that rows write, in place of the benchmarks' own: a word as for --data-pattern, or test for "
        "the data of the test. Iometer's are repeating-bytes, pseudo-random and full-random.",
        ValueType(str, _row_data, metavar="WORD"),
        lambda row, data: replace(row, data=data),
    ),
)


BENCHMARKS_FIELD: Final = Field(
    "Benchmarks",
    "Benchmarks, one after the other: names of those that `openpts run benchmarks --list` shows, or paths of "
    "TOML files of your own.",
    BENCHMARKS_KIND,
    examples=(["crystaldiskmark-nvme", "kdiskmark"], ["./mine.toml"]),
    change=benchmarks_at_their_scale,
    text=benchmarks_text,
)


class ProfileTestConditions(RestingConditions, frozen=True, kw_only=True):
    """What tests have in common that measure rows of benchmarks.

    No pass or warm-up of a row lasts longer than ``longest_pass_ns``, no pause longer than
    ``longest_pause_ns``. ``impossible`` says in words which rows the device's sectors rule out, or which of
    their sizes. With ``until_rse_pct`` above 0, passes are added to a row until their relative standard error
    is at most that; a row with ``most_passes`` is discarded if it still is not. ``leave_free`` is what
    conditioning leaves free, None for nothing; it lies on sectors of ``sector_bytes``.
    """

    parameters: ClassVar[Listed] = ()

    benchmarks: Annotated[tuple[BenchmarkProfile, ...], BENCHMARKS_FIELD]
    longest_pass_ns: Annotated[
        int,
        Field(
            "Pass or warm-up of a row, at most",
            "Longest time of a pass and of a warm-up of a row.",
            SECONDS,
            rare=True,
        ),
    ] = _LONGEST_NS
    longest_pause_ns: Annotated[
        int, Field("Pause between rows, at most", "Longest pause between rows.", SECONDS, rare=True)
    ] = _LONGEST_NS
    until_rse_pct: Annotated[float, usual.UNTIL_RSE] = 0.0
    most_passes: Annotated[int, usual.MOST_PASSES] = MOST_RUNS
    impossible: Annotated[
        tuple[str, ...],
        usual.IMPOSSIBLE.but(free="what the device can't do, which the report states in its place"),
    ] = ()
    leave_free: Annotated[
        FreeSpace | None,
        Field(
            "Left free by conditioning",
            "Space that conditioning leaves free, in which test files are: 10GB, 25% of the active range, "
            "16x1GB for that many places spread over it; none.",
            LEAVE_FREE,
            examples=("10GB", "25%", "16x1GB"),
            text=free_space_words,
        ),
    ] = None
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    @property
    def set_rule(self) -> SetRule:
        """When the passes of a row are accepted, and with how many they are discarded."""
        return SetRule(self.until_rse_pct or RSE_LIMIT_PCT, self.most_passes)

    @property
    def rows(self) -> tuple[tuple[BenchmarkProfile, ProfileRow], ...]:
        """The rows of all benchmarks in their order."""
        return tuple((one, row) for one in self.benchmarks for row in one.rows)

    def places(self, benchmark: BenchmarkProfile) -> range:
        """The places of a benchmark's rows among those of all, from 0."""
        before = sum(len(one.rows) for one in self.benchmarks[: self.benchmarks.index(benchmark)])
        return range(before, before + len(benchmark.rows))

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A limit that no set can reach, or that all sets begin above."""
        yield from super().contradictions(given)
        yield from usual.even_most("most_passes", self.most_passes, "pass")
        most = max(row.passes for _, row in self.rows)
        if self.until_rse_pct and most > self.most_passes:
            yield (
                ("most_passes", "passes", "until_rse"),
                f"a row begins with {most} passes, and {self.most_passes} are the most: raise --most-passes",
            )

    # SOL-STAT-03
    def doubts(self, given: Collection[str]) -> Contradictions:
        """An even number of passes, where none is added to it."""
        if "passes" in given and not self.until_rse_pct and (even := self.rows[0][1].passes) % 2 == 0:
            yield (
                ("passes",),
                f"{even} is even: the median is the less favorable of the middle two; use an odd number",
            )

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """The benchmark, or the state of the drive, and the row of a profile part."""
        raise NotImplementedError

    def part_name(self, place: StepPlace) -> str | None:
        """Of a row: its title, and the benchmark or the state of the drive."""
        if place.phase is not Phase.PROFILE:
            return None
        where, row = self.row_of(place.number)
        return f"{row.title}, {where}"


class PreconditionedConditions(ProfileTestConditions, frozen=True, kw_only=True):
    """Rows on a preconditioned drive: ``precondition_passes`` user capacities are written sequentially."""

    parameters: ClassVar[Listed] = ()

    precondition_passes: Annotated[float, usual.PRECONDITION_PASSES]
    precondition_block_size_bytes: Annotated[int, usual.PRECONDITION_BLOCK_SIZE] = 128 * KIB
    precondition_tc: Annotated[int, usual.PRECONDITION_TC] = 1
    precondition_qd: Annotated[int, usual.PRECONDITION_QD] = 32
