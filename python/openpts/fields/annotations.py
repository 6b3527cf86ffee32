"""Annotations that tables of several tests use: limits, units, help, and what is set."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.fields import readers
from openpts.fields.setting import Setting, as_it_is, changes, sets
from openpts.fields.time_scale import at_time_scale
from openpts.fields.workload_table import WorkloadTable, workload_or_same, workload_word

_MOST_TC: Final = 1024
_MOST_QD: Final = 4096
_YEAR_S: Final = 365 * 24 * 3600
_MOST_ROUNDS: Final = 10_000

THREAD_LIMITS = {"ge": 1, "le": _MOST_TC}
DEPTH_LIMITS = {"ge": 1, "le": _MOST_QD}
LENGTH_LIMITS = {"ge": 0.001, "le": _YEAR_S}


def seconds(field: str, description: str) -> Any:
    """A duration in seconds."""
    return sets(field, description, readers.seconds_ns, readers.seconds_text, **LENGTH_LIMITS)


def one_number(field: str, description: str, **limits: Any) -> Any:
    """A number as it is."""
    return sets(field, description, as_it_is, lambda value: f"{value:.12g}", **limits)


def one_block_size(field: str, description: str, *examples: str) -> Any:
    """A size of transfers, in KiB or MiB; ``field`` is in bytes."""
    told = {"examples": list(examples)} if examples else {}
    return sets(field, description, readers.block_size_bytes, readers.size_text, **told)


def switch(field: str, description: str) -> Any:
    """Yes or no."""
    return sets(field, description, as_it_is, lambda value: "yes" if value else "no")


def one_workload(description: str) -> Any:
    """A workload by name, in words, or as a table."""

    def change(name: str, word: str | WorkloadTable, conditions: Any) -> Any:
        return replace(conditions, workload=workload_or_same(name, word, conditions.workload))

    return changes(Setting("workload", change, lambda c: workload_word(c.workload)), description)


TIME_SCALE = changes(
    Setting(
        "time_scale",
        lambda name, value, conditions: at_time_scale(conditions, readers.time_scale(name, value)),
        lambda _conditions: "",
    ),
    "Share of all durations and repetitions to run, such as 1/60; amounts of data and values given "
    "separately stay.",
    examples=["1/60"],
)
STEP_SECONDS = seconds(
    "minute_ns",
    "Length of one element, and of one record of a continuous stimulus: the specification's minute.",
)
SEGMENTS = sets(
    "segments",
    "Restrict random accesses to N LBA segments of one size, spread at random over the active range: "
    "16x64MiB.",
    readers.segments,
    readers.segments_text,
    examples=["16x64MiB"],
)
TC = one_number("tc", "Thread count.", **THREAD_LIMITS)
QD = one_number("qd", "Queue depth of each thread.", **DEPTH_LIMITS)
MAX_ROUNDS = one_number("max_rounds", "Give up after this many rounds.", ge=1, le=_MOST_ROUNDS)
TRACKING_SECONDS = seconds(
    "tracking_period_ns", "Time from the start of one tracked minute to that of the next."
)
HISTOGRAM_SECONDS = seconds("histogram_ns", "Length of the stimulus of the response time histogram.")
NINES = one_number("nines", "Make the histogram long enough for a percentile of N nines.", ge=1, le=9)
