"""The parameters of the tests that measure the rows of benchmarks."""

from typing import Annotated, Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from openpts.fields import readers
from openpts.fields.annotations import LENGTH_LIMITS, QD, TC, TRACKING_SECONDS, one_number, seconds
from openpts.fields.parsing import refuse
from openpts.fields.setting import Setting, changes, sets
from openpts.fields.time_scale import at_time_scale
from openpts.parameters.common_table import CommonParameters
from openpts.procedures.kit.benchmark_profile import BenchmarkProfile
from openpts.procedures.shared.benchmark.profiles import BENCHMARKS
from openpts.units import NS_PER_S

NAMES: Final = ", ".join(BENCHMARKS)
_MOST_PASSES: Final = 99


def _benchmark(name: str, word: str) -> BenchmarkProfile:
    if (found := BENCHMARKS.get(word)) is None:
        refuse(name, word, f"is not one of {NAMES}")
    return found


def _at_its_scale(conditions: Any, field: str, value: Any) -> Any:
    """The conditions with another benchmark, whose lengths are scaled as those of the others were."""
    chosen = replace(conditions, **{field: value})
    if conditions.time_scale == 1:
        return chosen
    scaled = at_time_scale(chosen, conditions.time_scale)
    return replace(conditions, **{field: getattr(scaled, field)})


def _benchmarks_setting() -> Setting:
    def change(name: str, words: list[str], conditions: Any) -> Any:
        wanted = readers.without_repeats(name, tuple(words))
        return _at_its_scale(conditions, "benchmarks", tuple(_benchmark(name, word) for word in wanted))

    return Setting("benchmarks", change, lambda c: ",".join(one.name for one in c.benchmarks))


def _benchmark_setting() -> Setting:
    def change(name: str, word: str, conditions: Any) -> Any:
        return _at_its_scale(conditions, "benchmark", _benchmark(name, word))

    return Setting("benchmark", change, lambda conditions: conditions.benchmark.name)


def _with_passes(benchmark: BenchmarkProfile, passes: int) -> BenchmarkProfile:
    return replace(benchmark, rows=tuple(replace(row, passes=passes) for row in benchmark.rows))


def _passes_setting(field: str) -> Setting:
    """The passes of every row, of one benchmark or of several; each has its own unless that is given."""

    def change(_name: str, passes: int, conditions: Any) -> Any:
        value = getattr(conditions, field)
        several = isinstance(value, tuple)
        changed = tuple(_with_passes(one, passes) for one in (value if several else (value,)))
        return replace(conditions, **{field: changed if several else changed[0]})

    return Setting(field, change, lambda _conditions: "")


def _passes(field: str) -> Any:
    return changes(
        _passes_setting(field),
        "Passes of each row, in place of the benchmark's own number.",
        ge=1,
        le=_MOST_PASSES,
    )


_LONGEST_PASS = seconds("longest_pass_ns", "Longest time of a pass and of a warm-up of a row.")
_LONGEST_PAUSE = seconds("longest_pause_ns", "Longest pause between rows.")


def _fills(field: str, description: str) -> Any:
    return one_number(field, description, ge=0, le=1000)


class BenchmarksParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Profiles of popular benchmarks, each with its own rows."""

    benchmarks: (
        Annotated[
            list[str],
            changes(
                _benchmarks_setting(),
                f"Benchmarks, one after the other: {NAMES}.",
                min_length=1,
                max_length=64,
                examples=[["crystaldiskmark-nvme", "kdiskmark"]],
            ),
        ]
        | UnsetType
    ) = UNSET
    passes: Annotated[int, _passes("benchmarks")] | UnsetType = UNSET
    precondition_passes: (
        Annotated[
            float,
            _fills(
                "precondition_passes",
                "Times the user capacity written in sequence before; 0 leaves the drive as purged.",
            ),
        ]
        | UnsetType
    ) = UNSET
    settle_seconds: (
        Annotated[
            float,
            sets(
                "settle_ns",
                "Before each benchmark, leave the drive alone until it has come to rest, but no longer; 0 is "
                "not at all.",
                lambda _name, seconds: round(seconds * NS_PER_S),
                readers.seconds_text,
                ge=0,
                le=LENGTH_LIMITS["le"],
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_pass_seconds: Annotated[float, _LONGEST_PASS] | UnsetType = UNSET
    longest_pause_seconds: Annotated[float, _LONGEST_PAUSE] | UnsetType = UNSET


class PreconParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The figures of one benchmark on a fresh drive, after sequential and after random writes."""

    benchmark: (
        Annotated[
            str,
            changes(
                _benchmark_setting(),
                f"Whose rows are measured in each state: one of {NAMES}.",
                examples=["crystaldiskmark"],
            ),
        ]
        | UnsetType
    ) = UNSET
    passes: Annotated[int, _passes("benchmark")] | UnsetType = UNSET
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    precondition_passes: (
        Annotated[
            float,
            _fills(
                "precondition_passes", "Times the user capacity written in sequence for the second state."
            ),
        ]
        | UnsetType
    ) = UNSET
    recondition_passes: (
        Annotated[
            float,
            _fills(
                "recondition_passes",
                "Times the user capacity written to bring a state back that a row has disturbed.",
            ),
        ]
        | UnsetType
    ) = UNSET
    drive_fills: (
        Annotated[
            float,
            one_number(
                "drive_fills",
                "End random writes that are not steady after this many times the user capacity.",
                gt=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_seconds: (
        Annotated[float, seconds("longest_ns", "End random writes that are not steady after this time.")]
        | UnsetType
    ) = UNSET
    tracking_seconds: Annotated[float, TRACKING_SECONDS] | UnsetType = UNSET
    tracking_drive_fills: (
        Annotated[
            float,
            one_number(
                "tracking_fills",
                "Tracked minutes are no further apart than this many times the user capacity.",
                gt=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    steady_after_drive_fills: (
        Annotated[
            float,
            _fills(
                "steady_after_drive_fills",
                "Random writes from fresh and after sequential writes go on for so many times the user "
                "capacity at the least.",
            ),
        ]
        | UnsetType
    ) = UNSET
    file_share_pct: (
        Annotated[
            float,
            one_number(
                "file_share_pct",
                "Largest share of the active range that the test file may have.",
                gt=0,
                le=100,
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_pass_seconds: Annotated[float, _LONGEST_PASS] | UnsetType = UNSET
    longest_pause_seconds: Annotated[float, _LONGEST_PAUSE] | UnsetType = UNSET
