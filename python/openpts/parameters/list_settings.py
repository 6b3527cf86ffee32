"""Settings of parameters that have several values, or that several fields depend on."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Meta
from msgspec.structs import replace

from openpts.fields import readers
from openpts.fields.setting import Read, Setting, sets
from openpts.fields.workload_table import WorkloadTable, workload_or_same, workload_word
from openpts.procedures.pts.hir.conditions import WaitState
from openpts.procedures.pts.tp.conditions import ThroughputConditions
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable

_MOST_VALUES: Final = 64


def listed(
    field: str,
    description: str,
    read: Callable[[str, Iterable[Any]], tuple[Any, ...]],
    show: Callable[[Any], str],
    **limits: Any,
) -> Meta:
    """The annotation of a list, at least one long; on the command line its values stand between commas."""

    def shown(values: Iterable[Any]) -> str:
        return ",".join(show(value) for value in values)

    return sets(field, description, read, shown, min_length=1, max_length=_MOST_VALUES, **limits)


def numbers(field: str, description: str) -> Meta:
    """The annotation of a list of numbers, each there once."""
    return listed(field, description, lambda name, values: readers.without_repeats(name, tuple(values)), str)


def round_length() -> Setting:
    """All elements of a round together; a round of the throughput test has one block size."""

    def elements(conditions: Any) -> int:
        sizes = 1 if isinstance(conditions, ThroughputConditions) else len(conditions.block_sizes_bytes)
        return len(conditions.read_pcts) * sizes

    def change(_name: str, seconds: float, conditions: Any) -> Any:
        return replace(conditions, minute_ns=readers.seconds_ns("", seconds / elements(conditions)))

    def show(conditions: Any) -> str:
        return readers.seconds_text(conditions.minute_ns * elements(conditions))

    return Setting("minute_ns", change, show)


def throughput_sizes() -> Setting:
    """Block sizes with a cycle each; in each one steady state is judged on its own writes (PTS 8.3.5)."""

    def change(name: str, texts: list[str], conditions: Any) -> Any:
        figure = conditions.tracking[0].figure
        sizes = readers.block_sizes_bytes(name, texts)
        return replace(
            conditions,
            block_sizes_bytes=sizes,
            tracking=tuple(TrackingVariable(AccessPattern.SEQUENTIAL, size, 0, figure) for size in sizes),
        )

    def show(conditions: Any) -> str:
        return ",".join(readers.size_text(size) for size in conditions.block_sizes_bytes)

    return Setting("block_sizes_bytes", change, show)


def tracking() -> Setting:
    """Tracking variables; their figure is that on which the test is judged anyway."""

    def change(name: str, texts: list[str], conditions: Any) -> Any:
        figure = conditions.tracking[0].figure
        points = readers.without_repeats(name, tuple(readers.point_of(name, text) for text in texts))
        return replace(
            conditions,
            tracking=tuple(
                TrackingVariable(point.access_pattern, point.block_size_bytes, point.read_pct, figure)
                for point in points
            ),
        )

    return Setting(
        "tracking", change, lambda conditions: ",".join(str(variable) for variable in conditions.tracking)
    )


def workload_list() -> Setting:
    """Workloads of WSAT, each with a cycle of its own."""

    def change(name: str, words: list[str | WorkloadTable], conditions: Any) -> Any:
        present = conditions.workloads[0]
        meant = tuple(workload_or_same(name, word, present) for word in words)
        readers.without_repeats(name, tuple(workload.title for workload in meant))
        return replace(conditions, workloads=meant)

    return Setting(
        "workloads",
        change,
        lambda conditions: ",".join(workload_word(workload) for workload in conditions.workloads),
    )


def wait_states() -> Setting:
    """Which wait states there are; their idle times keep their unit."""

    def change(name: str, states: list[int], conditions: Any) -> Any:
        unit_ns = _unit_ns(conditions)
        wanted = readers.without_repeats(name, tuple(states))
        return replace(
            conditions, wait_states=tuple(WaitState(number, number * unit_ns) for number in wanted)
        )

    return Setting(
        "wait_states",
        change,
        lambda conditions: ",".join(str(state.number) for state in conditions.wait_states),
    )


def wait_state_unit() -> Setting:
    """Idle time of wait state 1, whether it is among them or not."""

    def change(_name: str, seconds: float, conditions: Any) -> Any:
        unit_ns = readers.seconds_ns("", seconds)
        states = tuple(WaitState(state.number, state.number * unit_ns) for state in conditions.wait_states)
        return replace(conditions, wait_states=states)

    return Setting("wait_states", change, lambda conditions: readers.seconds_text(_unit_ns(conditions)))


def of_groups(field: str, read: Read, show: Callable[[Any], str]) -> Setting:
    """One field of all access groups, in their order."""

    def change(name: str, values: list[Any], conditions: Any) -> Any:
        pairs = zip(conditions.groups, values, strict=True)
        return replace(
            conditions,
            groups=tuple(replace(group, **{field: read(name, value)}) for group, value in pairs),
        )

    return Setting(
        "groups",
        change,
        lambda conditions: ",".join(show(getattr(group, field)) for group in conditions.groups),
    )


def _unit_ns(conditions: Any) -> int:
    first: WaitState = conditions.wait_states[0]
    return max(1, round(first.idle_ns / first.number))
