"""The conditions of the tests that measure the rows of benchmarks."""

from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Final

from msgspec.structs import replace

from openpts.analysis.run_comparison import ADVISED_RUNS, MOST_RUNS, RSE_LIMIT_PCT, SetRule
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions, Listed
from openpts.fields.field import Field, Kind, Parameter
from openpts.fields.kinds import SECONDS, count, percent
from openpts.fields.parsing import refuse
from openpts.fields.time_scale import at_time_scale
from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.procedures.shared.benchmark import NAMES

_MOST_PASSES: Final = 99


def _benchmark(name: str, word: str) -> BenchmarkProfile:
    from openpts.procedures.shared.benchmark.profiles import BENCHMARKS  # noqa: PLC0415 slow to load

    if (found := BENCHMARKS.get(word)) is None:
        refuse(name, word, f"is not one of {', '.join(NAMES)}")
    return found


BENCHMARK: Final = Kind(str, _benchmark, lambda benchmark: benchmark.name, "NAME")


def at_its_scale(field: str, kind: Kind) -> Any:
    """Sets other benchmarks, with lengths scaled as those of the present ones were."""

    def change(name: str, value: Any, conditions: Any) -> Any:
        chosen = replace(conditions, **{field: kind.read(name, value)})
        if conditions.time_scale == 1:
            return chosen
        scaled = at_time_scale(chosen, conditions.time_scale)
        return replace(conditions, **{field: getattr(scaled, field)})

    return change


def benchmark_text(benchmark: BenchmarkProfile) -> str:
    """A benchmark for the ledger, with the passes of its rows."""
    counts = sorted({row.passes for row in benchmark.rows})
    return f"{benchmark.title} ({' or '.join(map(str, counts))} pass{'' if counts == [1] else 'es'} a row)"


def passes_of(field: str) -> Parameter:
    """The passes of every row, of one benchmark or of several; each has its own unless that is given."""

    def with_passes(benchmark: BenchmarkProfile, passes: int) -> BenchmarkProfile:
        return replace(benchmark, rows=tuple(replace(row, passes=passes) for row in benchmark.rows))

    def change(_name: str, passes: int, conditions: Any) -> Any:
        value = getattr(conditions, field)
        several = isinstance(value, tuple)
        changed = tuple(with_passes(one, passes) for one in (value if several else (value,)))
        return replace(conditions, **{field: changed if several else changed[0]})

    return Parameter(
        "passes",
        field,
        "Passes of each row, in place of the benchmark's own number.",
        count(1, _MOST_PASSES),
        change=change,
        show=lambda _conditions: "",
    )


UNTIL_ALIKE: Final = ("until_rse_pct", "most_passes")
LONGEST: Final = ("longest_pass_ns", "longest_pause_ns")


class ProfileTestConditions(ExtendedConditions, frozen=True, kw_only=True):
    """What tests have in common that measure rows of benchmarks.

    No pass or warm-up of a row lasts longer than ``longest_pass_ns``, no pause longer than
    ``longest_pause_ns``. ``impossible`` says in words which rows the device's sectors rule out, or which of
    their sizes. With ``until_rse_pct`` above 0, passes are added to a row until their relative standard error
    is at most that; a row with ``most_passes`` is discarded if it still is not.
    """

    parameters: ClassVar[Listed] = ()

    longest_pass_ns: Annotated[
        int,
        Field(
            "Pass or warm-up of a row, at most",
            "Longest time of a pass and of a warm-up of a row.",
            SECONDS,
            rare=True,
        ),
    ]
    longest_pause_ns: Annotated[
        int, Field("Pause between rows, at most", "Longest pause between rows.", SECONDS, rare=True)
    ]
    until_rse_pct: Annotated[
        float,
        Field(
            "Passes added until their RSE is at most (%)",
            "Add passes to a row, two at a time, until their relative standard error is at most this; 0 adds "
            f"none, and the report judges by {RSE_LIMIT_PCT:g}.",
            percent(ge=0, le=100),
            name="until_rse",
            text=lambda pct: f"passes added until their RSE is {pct:g} %" if pct else "no passes added",
        ),
    ] = 0.0
    most_passes: Annotated[
        int,
        Field(
            "Passes of a row, at most, before it is discarded",
            "Discard a row that has so many passes and a larger relative standard error; an odd number.",
            count(ADVISED_RUNS, _MOST_PASSES),
            text="{} passes of a row at most",
        ),
    ] = MOST_RUNS
    impossible: Annotated[
        tuple[str, ...],
        usual.IMPOSSIBLE.but(free="what the device can't do, which the report tells in its place"),
    ] = ()

    @property
    def set_rule(self) -> SetRule:
        """When the passes of a row are accepted, and with how many they are discarded."""
        return SetRule(self.until_rse_pct or RSE_LIMIT_PCT, self.most_passes)

    @property
    def profile_rows(self) -> tuple[ProfileRow, ...]:
        """The rows that are measured, those of one benchmark after those of another."""
        raise NotImplementedError

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A limit that no set can reach, or that all sets begin above."""
        yield from super().contradictions(given)
        if self.most_passes % 2 == 0:
            yield (
                ("most_passes",),
                f"{self.most_passes} is even: use an odd number, of which the median is a pass",
            )
        most = max(row.passes for row in self.profile_rows)
        if self.until_rse_pct and most > self.most_passes:
            yield (
                ("most_passes", "passes", "until_rse"),
                f"a row begins with {most} passes, and {self.most_passes} are the most: raise --most-passes",
            )

    # SOL-STAT-03
    def doubts(self, given: Collection[str]) -> Contradictions:
        """An even number of passes, where none is added to it."""
        if "passes" in given and not self.until_rse_pct and (even := self.profile_rows[0].passes) % 2 == 0:
            yield (
                ("passes",),
                f"{even} is even: the median is the less favorable of the middle two; use an odd number",
            )

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """The benchmark, or the state of the drive, and the row of a profile part."""
        raise NotImplementedError


class PreconditionedConditions(ProfileTestConditions, frozen=True, kw_only=True):
    """Rows on a preconditioned drive: ``precondition_passes`` user capacities are written sequentially."""

    parameters: ClassVar[Listed] = ()

    precondition_passes: Annotated[float, usual.PRECONDITION_PASSES]
    precondition_block_size_bytes: Annotated[int, usual.PRECONDITION_BLOCK_SIZE]
    precondition_tc: Annotated[int, usual.PRECONDITION_TC]
    precondition_qd: Annotated[int, usual.PRECONDITION_QD]
