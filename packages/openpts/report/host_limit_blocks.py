"""When the host, and not the drive, was the limit: a verdict, and a row for each thing that showed it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.limited_seconds import MarkRule, rule_of
from openpts.procedures.kit.host_limits import LimitedTime, limited_times
from openpts.record.host_marks import StepMarks
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Table, Verdict
from openpts_pages.texts import fact_text

_WHAT: Final = "Host as the limit"
_LINKS: Final = "links to the drive"


def host_limit_blocks(run: Run) -> tuple[Block, ...]:
    """Nothing for a simulated drive, which has no host, and of an imported run."""
    if run.host_marks is None:
        return ()
    pairs = list(zip(run.steps, run.host_marks, strict=True))
    judged_ns = sum(marks.judged_ns for _, marks in pairs)
    if not judged_ns:
        return (Verdict(f"{_WHAT}: n/a (no second of a step was sampled)."),)
    found = limited_times(pairs)
    if not found:
        text = f"{_WHAT}: never, in {_s(judged_ns)} s with I/O."
        return (Verdict(text, "pass"),)
    marked_ns = sum(marks.marked_ns() for _, marks in pairs)
    text = (
        f"{_WHAT}: in {_s(marked_ns)} of {_s(judged_ns)} s with I/O "
        f"({cells.fixed(100 * marked_ns / judged_ns, 1)} %): {', '.join(map(_part, found))}."
    )
    return Verdict(text, "fail"), _table(run, pairs, judged_ns)


def _part(limited: LimitedTime) -> str:
    return f"{limited.limit} {_s(limited.marked_ns)} s"


def _s(duration_ns: int) -> str:
    return f"{duration_ns / NS_PER_S:,.0f}"


def _table(run: Run, pairs: Sequence[tuple[StepRecord, StepMarks]], judged_ns: int) -> Table:
    start_ns = pairs[0][0].sample.started_ns
    return rows_table(
        "run-conditions-host-limits",
        "Seconds in which the host was the limit",
        "What told it:<3.2 | Limit:<0.9 | Time (s) | Share (%) | Longest in a row (s) | First at (s) | "
        "Longest from:<1.6",
        (_row(run, reported, start_ns, judged_ns) for reported in _told(pairs)),
        note="A second is marked by what was sampled in it; host-limits.md of the manual has the rules. "
        "Several may mark the same second. First: since the first step.",
    )


class _Marked(Struct, frozen=True):
    """A span with I/O that is marked, the ``number``-th of the run."""

    number: int
    from_ns: int
    lasted_ns: int
    step: StepRecord


class _Told(Struct, frozen=True):
    """All spans that one sampled value marks."""

    name: str
    rule: MarkRule
    spans: tuple[_Marked, ...]

    @property
    def marked_ns(self) -> int:
        return sum(span.lasted_ns for span in self.spans)

    @property
    def longest(self) -> tuple[int, StepRecord]:
        """The longest stretch of spans in a row, also over several steps, and the step that it begins in."""
        best, length_ns, begin, number = (0, self.spans[0].step), 0, self.spans[0].step, -1
        for span in self.spans:
            if span.number != number + 1:
                length_ns, begin = 0, span.step
            length_ns, number = length_ns + span.lasted_ns, span.number
            best = max(best, (length_ns, begin), key=lambda one: one[0])
        return best


def _told(pairs: Sequence[tuple[StepRecord, StepMarks]]) -> Iterator[_Told]:
    spans: dict[str, list[_Marked]] = {}
    number = 0
    for step, marks in pairs:
        for (from_ns, to_ns), names in zip(marks.spans, marks.marks, strict=True):
            for name in names or ():
                spans.setdefault(name, []).append(_Marked(number, from_ns, to_ns - from_ns, step))
            number += 1
    for name, found in sorted(spans.items(), key=lambda one: (-len(one[1]), one[0])):
        if (rule := rule_of(name)) is not None:
            yield _Told(name, rule, tuple(found))


def _row(run: Run, reported: _Told, start_ns: int, judged_ns: int) -> Cells:
    longest_ns, step = reported.longest
    link = _links(run).get(reported.name.removesuffix("_use_pct"), "")
    words = f"{reported.rule.words}: {link}" if link else reported.rule.words
    return (
        words,
        str(reported.rule.limit),
        cells.number(reported.marked_ns / NS_PER_S, 0),
        cells.percent(100 * reported.marked_ns / judged_ns),
        cells.number(longest_ns / NS_PER_S, 0),
        cells.number((reported.spans[0].from_ns - start_ns) / NS_PER_S, 0),
        str(step.place),
    )


def _links(run: Run) -> Mapping[str, str]:
    """Each link by the beginning of its value's name, as the record tells what was sampled."""
    parts = fact_text(run.manifest.telemetry, _LINKS, "").split("; ")
    named = (part.rpartition("path_")[2].partition(": ") for part in parts)
    return {f"path_{number}": text for number, _, text in named if number.isdecimal()}
