"""The conditions of the tests that measure the rows of benchmarks."""

from typing import Annotated, Any, ClassVar, Final

from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions, Listed
from openpts.fields.field import Field, Kind, Parameter
from openpts.fields.kinds import SECONDS, count
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


class ProfileTestConditions(ExtendedConditions, frozen=True, kw_only=True):
    """What tests have in common that measure rows of benchmarks.

    No pass or warm-up of a row lasts longer than ``longest_pass_ns``, no pause longer than
    ``longest_pause_ns``. ``impossible`` says in words which rows the device's sectors rule out, or which of
    their sizes.
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
    impossible: Annotated[
        tuple[str, ...],
        usual.IMPOSSIBLE.but(free="what the device can't do, which the report tells in its place"),
    ] = ()

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
