"""Compares the conditions of a run with those of the specification: the ledger of shortenings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from openpts.procedures.kit.benchmark_profile import BenchmarkProfile
from openpts.vocabulary.condition_text import condition_text, duration_text
from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.deviation import Deviation


@dataclass(frozen=True, slots=True)
class Rule:
    """A requirement on one field of the conditions, and what breaking it does to the results.

    ``field`` may lead into one of several: ``groups.1.duration_ns``. ``more_is_allowed``: only less than the
    standard's deviates. ``as_in`` is the field of the same conditions that this one has to be like, if it is
    not the standard's value that binds.
    """

    field: str
    rule_id: str
    clause: str
    effect: str
    more_is_allowed: bool = False
    as_in: str = ""

    @property
    def name(self) -> str:
        """The field of the conditions itself."""
        return self.field.split(".", 1)[0]

    def entry(self, used: Conditions, standard: Conditions) -> Deviation | None:
        """The entry of the ledger, if the conditions used break the rule."""
        ours = _value(used, self.field)
        theirs = _value(used, self.as_in) if self.as_in else _value(standard, self.field)
        if not _differs(self.field, ours, theirs) or (self.more_is_allowed and ours > theirs):
            return None
        required, text = _text(self.field, theirs), _text(self.field, ours)
        return Deviation(self.rule_id, self.clause, required, text, self.effect)


RULES_OF_ALL: Final = (
    Rule("time_scale", "PTS-GEN-01", "1.1", "nothing lasts, or is repeated, as the specification has it"),
    Rule("write_cache_enabled", "PTS-CACHE-01", "3.7", "a volatile cache takes writes, or does not"),
    Rule("active_range", "PTS-AR-01", "3.4", "over-provisioning in effect differs"),
    Rule("segments", "PTS-AR-01", "3.4", "fewer LBAs are accessed than the active range has"),
    Rule("data", "PTS-DAT-01", "3.5", "drives that compress or deduplicate do less work, or more"),
)
"""What binds every test; a test's own rule for the same field comes in place of it."""

HARMLESS: Final = {
    "drive_class": "a set of settings of the specification",
    "seed": "the specification leaves it open, and the record has it",
    "nines": "9.2 (3.3.3) and 10.2 (2.4.3) allow them; the histogram gets longer, never shorter",
    "skipped_block_sizes_bytes": "block_sizes_bytes says it",
    "precondition_block_size_bytes": "8.2 (2.2) preconditions with the size under test; others have a rule",
    "secondary_metrics": "the specification makes them optional",
    "workload": "14.2 leaves it to the operator, and the report's header has it",
    "stop_when_steady": "10.2 (2.2) and 10.3.2 let steady state end the stimulus",
}
"""Fields that may differ from the standard's without an entry in the ledger, and why."""

_SAME_TEST: Final = {
    "drive_class": "a set of settings of its own",
    "seed": "the record has it",
    "secondary_metrics": "what is shown, not what is done",
    "claims": "what figures are compared with",
    "ambient_c": "what the operator has seen",
    "airflow": "what the operator has seen",
    "impossible": "what the device can't do, which the report tells in its place",
}
_OTHER_TEST: Final = "figures compare only with those of runs that were made in the same way"


def deviations(used: Conditions, standard: Conditions, rules: Sequence[Rule]) -> tuple[Deviation, ...]:
    """One entry for each rule that the conditions used break; beyond the specification, for each change."""
    own = {rule.name for rule in rules}
    everything = (*(rule for rule in RULES_OF_ALL if rule.name not in own), *rules)
    entries = tuple(entry for rule in everything if (entry := rule.entry(used, standard)) is not None)
    if used.of_specification:
        return entries
    return (*entries, *_changes(used, standard, {rule.name for rule in everything}))


def _changes(used: Conditions, standard: Conditions, ruled: Set[str]) -> Iterator[Deviation]:
    """What a test of practice does in another way than openpts has defined it."""
    for name in used.__struct_fields__:
        if name in ruled or name in _SAME_TEST:
            continue
        required, text = _named(name, getattr(standard, name)), _named(name, getattr(used, name))
        if text != required:
            yield Deviation("PTS-GEN-01", "1.1", required, text, _OTHER_TEST)


def _value(conditions: Conditions, field: str) -> Any:
    value: Any = conditions
    for key in field.split("."):
        value = value[int(key)] if key.isdigit() else getattr(value, key)
    return value


def shortened(used: Conditions, standard: Conditions) -> bool:
    """Whether durations, amounts or repetitions are below the standard's.

    Fewer rounds alone are not: they only matter where steady state is not reached, and the ledger has them.
    """
    pairs = zip(_amounts(used), _amounts(standard), strict=False)
    return used.time_scale < 1 or any(ours < theirs for ours, theirs in pairs)


def _amounts(conditions: Struct) -> Iterator[float]:
    """Durations and amounts, also those of wait states and access groups, in the order of the fields."""
    unscaled = getattr(conditions, "unscaled", ())
    for name in conditions.__struct_fields__:
        value = getattr(conditions, name)
        if (name.endswith("_ns") and name not in unscaled) or name in _AMOUNTS:
            yield value
        elif name in _SEQUENCES:
            yield len(value)
            for entry in value:
                if isinstance(entry, Struct):
                    yield from _amounts(entry)


def _differs(field: str, used: object, standard: object) -> bool:
    if field == "workloads" and isinstance(used, tuple) and isinstance(standard, tuple):
        # optional ones beside the default are no deviation: 10.2 (2.2.3)
        return not set(standard) <= set(used)
    return used != standard


_UNIT: Final = re.compile(r"_(ns|bytes|pct)$")
_SEQUENCES: Final = {"wait_states", "groups"}
_AMOUNTS: Final = {
    "precondition_passes",
    "drive_fills",
    "cycles",
    "drive_cycles",
    "prewrite_capacity_pct",
    "zones",
}
_DEMANDS: Final = {"": "", "sequential_": " in sequential workloads", "precondition_": " in preconditioning"}


def _list(field: str, unit: str = "") -> Callable[[tuple[int, ...]], str]:
    return lambda values: (
        ", ".join(condition_text(field, value).removesuffix(" KiB") for value in values) + unit
    )


def _demand(word: str, where: str) -> Callable[[int | None], str]:
    return lambda value: f"{word} of the test{where}" if value is None else f"{word} {value}{where}"


def _lasting(form: str) -> Callable[[int], str]:
    return lambda duration_ns: form.format(duration_text(duration_ns))


def _scale(scale: float) -> str:
    ratio = Fraction(scale).limit_denominator(10_000)
    return "as specified" if scale == 1 else f"durations and repetitions x {ratio or scale}"


def _benchmark(benchmark: BenchmarkProfile) -> str:
    counts = sorted({row.passes for row in benchmark.rows})
    return f"{benchmark.title} ({' or '.join(map(str, counts))} pass{'' if counts == [1] else 'es'} a row)"


_TEXTS: Final[Mapping[str, Callable[[Any], str]]] = {
    "minute_ns": _lasting("{} per step"),
    "tracking_period_ns": _lasting("tracked minutes {} apart"),
    "longest_ns": _lasting("for {} at the most"),
    "access_ns": _lasting("accesses of {}"),
    "prewrite_shortest_ns": _lasting("pre-writes of {} at the least"),
    "prewrite_longest_ns": _lasting("pre-writes of {} at the most"),
    "histogram_prewrite_ns": _lasting("pre-writes of {}"),
    "histogram_ns": _lasting("{} for the histogram"),
    "art_limit_ns": _lasting("ART below {}"),
    "wait_states": lambda states: f"wait states {condition_text('wait_states', states)}",
    "stop_when_steady": lambda stop: "ends in steady state" if stop else "steady state does not end it",
    "time_scale": _scale,
    "benchmark": _benchmark,
    "benchmarks": lambda benchmarks: ", ".join(map(_benchmark, benchmarks)),
    "active_range": lambda part: f"AR {part.start_pct:g}-{part.end_pct:g} %",
    "write_cache_enabled": lambda enabled: "WCE" if enabled else "WCD",
    "segments": lambda part: "the whole active range" if part is None else condition_text("segments", part),
    "read_pcts": _list("read_pcts", " % reads"),
    "block_sizes_bytes": _list("block_sizes_bytes", " KiB"),
    "tcs": lambda values: f"TC {_list('tcs')(values)}",
    "qds": lambda values: f"QD {_list('qds')(values)}",
    **{
        f"{of}{word}": _demand(word.upper(), where) for of, where in _DEMANDS.items() for word in ("tc", "qd")
    },
    "precondition_passes": lambda passes: f"{passes:g} x user capacity",
    "drive_fills": lambda fills: f"{fills:g} x user capacity",
    "steady_after_drive_fills": lambda fills: f"after {fills:g} x user capacity at the earliest",
    "max_rounds": lambda rounds: f"up to {rounds} round{'' if rounds == 1 else 's'}",
    "cycles": lambda cycles: "once" if cycles == 1 else f"{cycles} times",
    "prewrite_capacity_pct": lambda share: f"{share:g} % of the user capacity",
    "plateau_pct": lambda share: f"points within {share:g} % of the highest IOPS",
    "mid_points": lambda number: f"{number} MidIOPS point{'' if number == 1 else 's'}",
}


def _named(name: str, value: object) -> str:
    """A value that tells of itself what it is of."""
    if name in _TEXTS:
        return _TEXTS[name](value)
    words = _UNIT.sub("", name).replace("_", " ")
    return f"{words}: {condition_text(name, value)}{' %' if name.endswith('_pct') else ''}"


def _text(field: str, value: object) -> str:
    name, _, inside = field.partition(".")
    if inside:
        number, _, of_group = inside.partition(".")
        return f"{name.replace('_', ' ').removesuffix('s')} {int(number) + 1}: {_text(of_group, value)}"
    return _TEXTS[name](value) if name in _TEXTS else condition_text(name, value)
