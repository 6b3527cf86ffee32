"""The questions with which a capture is read, and what one trace can answer of them."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from openpts.units import format_block_size

Figures = Mapping[str, Any]

_MOST_OF_ALL: Final = 0.8
_SMALL_BYTES: Final = 16 << 10
_NAMED: Final = 4


class AnsweredQuestion(Struct, frozen=True):
    """A question and its answer in words."""

    question: str
    text: str


def questions(figures: Figures) -> tuple[AnsweredQuestion, ...]:
    """The five questions; what one trace can't tell is unknown, with what would."""
    return (
        AnsweredQuestion("Which streams make at least 80 % of I/Os?", _streams(figures)),
        AnsweredQuestion("Random or sequential, small or large?", _pattern(figures)),
        AnsweredQuestion("Were other programs running?", _programs(figures)),
        AnsweredQuestion(
            "Is it repeatable?", "unknown from one trace: compare two with `openpts trace characterize A B`"
        ),
        AnsweredQuestion(
            "Does the fill level change it?", "unknown: a trace has no fill level; capture at two and compare"
        ),
    )


def _streams(figures: Figures) -> str:
    total = sum(stream["ios"] for stream in figures["streams"])
    names, covered = [], 0
    for stream in figures["streams"]:
        names.append(stream["name"])
        covered += stream["ios"]
        if covered >= _MOST_OF_ALL * total:
            break
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = f"{', '.join(names[:_NAMED])}{more}"
    return f"{len(names)} of {len(figures['streams'])}: {listed} ({100 * covered / total:.1f} %)"


def _pattern(figures: Figures) -> str:
    moved = [stream for stream in figures["streams"] if stream["kind"] in {"read", "write"}]
    ios = sum(stream["ios"] for stream in moved)
    if not ios:
        return "unknown: no reads and writes"
    sequential = sum(stream["ios"] for stream in moved if stream["pattern"] == "seq") / ios
    windowed = ""
    if figures["whole"] is not None:
        operations = figures["whole"]["places"]["by_operation"].values()
        share = sum(operation["windowed"]["ios"] for operation in operations) / ios
        windowed = f", {100 * share:.1f} % (windowed)"
    small = sum(stream["ios"] for stream in moved if stream["size_bytes"] <= _SMALL_BYTES) / ios
    return (
        f"{100 * sequential:.1f} % sequential (strict){windowed}; "
        f"{100 * small:.1f} % of at most {format_block_size(_SMALL_BYTES)}"
    )


def _programs(figures: Figures) -> str:
    if figures["whole"] is None:
        return "unknown from a step table: capture every I/O, without --steps"
    shown = figures["whole"]["processes"]
    if shown is None:
        return "unknown: the trace has no processes"
    names: dict[str, int] = {}
    for process in shown["processes"]:
        name = process["command"] or f"pid {process['pid']}"
        names[name] = names.get(name, 0) + process["ios"]
    total = sum(names.values())
    listed = sorted(names.items(), key=lambda item: -item[1])[:_NAMED]
    return f"{len(names)}: " + ", ".join(f"{name} {100 * ios / total:.1f} %" for name, ios in listed)
