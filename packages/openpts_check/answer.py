"""The answer to a question, from the record of its run alone: verdicts, how sure, what to do next."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final, Self

from msgspec import Struct

from openpts.analysis.host_limits import limited_by_host
from openpts.errors import UsageError
from openpts.procedures.kit.standing import limited_times
from openpts.record.health import around
from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord
from openpts.units import format_duration, format_significant
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.limit import JudgedLimit, Judgement, whole_of
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts_check.check import CheckConditions
from openpts_check.purpose import (
    BUFFERED_LOOP,
    DEVICE_READS,
    Asked,
    CheckPurpose,
    PurposeFigure,
    Seen,
    purpose_named,
)
from openpts_pages.texts import fact_text
from openpts_work.counters import change

# of what the engine has read: a disk that gave out less than that was not asked for the rest
_LEAST_FROM_DISK: Final = 0.9
_THROTTLING: Final = ("throttle_events", "throttled_s", "drive_throttle_events", "critical_temperature_s")


class Circumstances(Struct, frozen=True):
    """``cached`` is the share of the reads that a cache of this host answered, None if small or not known.

    ``in_memory``: the disk is a loop device without direct I/O, so that the page cache answers for its file.
    ``limited`` names what of the host was the limit, empty if nothing was. ``throttled``: heat slowed the
    drive down, by its log or in an interval.
    """

    cached: float | None
    limited: str
    throttled: bool
    in_memory: bool = False

    @classmethod
    def of(cls, run: Run) -> Self:
        """By the record of a run."""
        in_memory = fact_text(run.manifest.dut, "interface", "") == BUFFERED_LOOP
        return cls(_cached_share(run), _limits_text(run), _is_throttled(run), in_memory)

    def doubt(self, figure: PurposeFigure, *, kept: bool) -> str:
        """Why the figure may be another one than the disk's; empty where it can only be better or is not."""
        if kept:
            return self._cache_text if figure.of_reads and self._is_cached else ""
        if self.limited:
            return f"this host was the limit ({self.limited})"
        return "the drive was throttled by heat" if self.throttled and figure.needs_repeats else ""

    @property
    def sentences(self) -> Iterator[str]:
        """What the answer has to be taken with."""
        if self._is_cached:
            yield f"{self._cache_text}: the disk was not asked"
        in_part = f"this host was the limit in part ({self.limited})"
        yield in_part if self.limited else "this host was not the limit"
        if self.throttled:
            yield "the drive was throttled by heat meanwhile"

    @property
    def remedies(self) -> Iterator[str]:
        """What to do so that it can be said."""
        if self.in_memory:
            yield "switch the loop device to direct I/O: `losetup --direct-io=on /dev/loopN`"
        elif self.cached is not None:
            yield "name a directory on a file system with direct I/O to the disk, such as ext4 or xfs"
        if self.limited:
            yield "ask again when this machine has nothing else to do"
        if self.throttled:
            yield "cool the drive, and ask again; `openpts run thermal` finds what it does when hot"

    @property
    def _is_cached(self) -> bool:
        return self.in_memory or self.cached is not None

    @property
    def _cache_text(self) -> str:
        if self.in_memory:
            return f"the page cache of this host answers for a {BUFFERED_LOOP}"
        return f"a cache of this host answered {100 * (self.cached or 0):.0f} % of the reads"


def _measuring(run: Run) -> list[StepRecord]:
    return [step for step in run.steps if step.place.phase is not Phase.CONDITIONING]


def _cached_share(run: Run) -> float | None:
    """The share of the reads that did not come from the disk; None where it is small, or not known."""
    reads = [step.sample for step in _measuring(run) if step.sample.read.bytes]
    series = run.telemetry_series.get(DEVICE_READS)
    if series is None or not reads:
        return None
    at = dict(zip(series.t_ns, series.values, strict=True))
    pairs = [(at.get(one.started_ns), at.get(one.started_ns + one.elapsed_ns)) for one in reads]
    known = [(first, last) for first, last in pairs if first is not None and last is not None]
    if len(known) < len(reads):
        return None
    from_disk = sum(last - first for first, last in known)
    share = from_disk / sum(one.read.bytes for one in reads)
    return None if share >= _LEAST_FROM_DISK else 1 - share


def _limits_text(run: Run) -> str:
    """What of the host was the limit in steps that count; empty if nothing was."""
    steps = _measuring(run)
    found = []
    if run.host_marks is not None:
        marks = dict(zip((step.place for step in run.steps), run.host_marks, strict=True))
        pairs = [(step, marks[step.place]) for step in steps]
        found = [str(one.limit) for one in limited_times(pairs) if one.steps]
    if not found and any(limited_by_host(step.sample) for step in steps):
        found.append("processors full, or I/Os submitted late")
    return ", ".join(dict.fromkeys(found))


def _is_throttled(run: Run) -> bool:
    before, after = around(run.health)
    if before is not None and after is not None:
        first, last = before.reading.values, after.reading.values
        if any(change(first, last, name) for name in _THROTTLING):
            return True
    return any(interval.throttled for step in _measuring(run) for interval in step.sample.intervals)


WORDS: Final = {Judgement.PASS: "YES", Judgement.FAIL: "NO", Judgement.NO_VERDICT: "CAN'T SAY"}


class JudgedFigure(Struct, frozen=True):
    """A figure with its verdict: ``value`` of all repeats together, ``values`` of each."""

    figure: PurposeFigure
    value: float | None
    values: tuple[float, ...]
    judgement: Judgement
    reason: str = ""

    @property
    def text(self) -> str:
        """The value with its unit, or a dash."""
        if self.value is None:
            return "-"
        return f"{self.value:,.{self.figure.decimals}f} {self.figure.unit}"

    @property
    def is_left_out(self) -> bool:
        """Whether it was not measured, and need not be."""
        return self.value is None and self.figure.is_optional

    @property
    def span(self) -> str:
        """From the least to the largest, the value among them: ``9.11 to 46.83``; empty of fewer than two."""
        every = (*self.values, *(() if self.value is None else (self.value,)))
        ends = (f"{end(every):,.{self.figure.decimals}f}" for end in (min, max))
        return " to ".join(ends) if len(self.values) > 1 else ""

    @property
    def spread_pct(self) -> float | None:
        """From the least to the largest repeat, in per cent of the mean; None of fewer than two."""
        mean = fsum(self.values) / len(self.values) if len(self.values) > 1 else 0
        return 100 * (max(self.values) - min(self.values)) / mean if mean else None

    @property
    def limit(self) -> JudgedLimit:
        """As gate, report and exports have limits."""
        bound = self.figure.bound
        return JudgedLimit(
            name=self.figure.key,
            limit=bound.text(self.figure.unit),
            judgement=self.judgement,
            reason=self.reason,
            unit=self.figure.unit,
            at_least=bound.value if bound.is_least else None,
            at_most=None if bound.is_least else bound.value,
            value=self.value,
            runs=1,
            note=bound.source,
        )

    @property
    def document(self) -> "CheckedFigure":
        """As machines read it."""
        limit = self.limit
        return filled(
            CheckedFigure,
            self.figure,
            value=self.value,
            repeats=self.values,
            at_least=limit.at_least,
            at_most=limit.at_most,
            source=limit.note,
            judgement=self.judgement,
            reason=self.reason or None,
        )


class CheckedFigure(Struct, frozen=True, kw_only=True):
    """A figure with its bound, all in ``unit``; ``repeats`` are the values of each repeat."""

    key: str
    label: str
    unit: str
    value: float | None
    repeats: tuple[float, ...]
    at_least: float | None
    at_most: float | None
    source: str
    judgement: Judgement
    reason: str | None


class ShownFigures(Struct, frozen=True, kw_only=True):
    """Figures in ``unit`` by their names, held against nothing; null where too little was measured."""

    label: str
    unit: str
    values: dict[str, float | None]

    @property
    def text(self) -> str:
        """``fdatasync beside others: 50 % 0.46, 99 % 9.5 ms``."""
        known = (
            f"{name} {'-' if value is None else format_significant(value)}"
            for name, value in self.values.items()
        )
        return f"{self.label}: {', '.join(known)} {self.unit}"


class CheckDocument(Document, frozen=True, kw_only=True, tag="openpts.check/1"):
    """An answer. ``answer`` is that of the gate; ``shown`` are further figures, held against nothing."""

    purpose: str
    question: str
    answer: Judgement
    reason: str
    figures: tuple[CheckedFigure, ...]
    shown: tuple[ShownFigures, ...]
    how_sure: tuple[str, ...]
    next: tuple[str, ...]
    run: str
    reports: tuple[str, ...]


class CheckAnswer(Struct, frozen=True):
    """What a run says to its question. ``whole`` is what all repeats measured together."""

    purpose: CheckPurpose
    conditions: CheckConditions
    judgement: Judgement
    figures: tuple[JudgedFigure, ...]
    shown: tuple[ShownFigures, ...]
    sure: tuple[str, ...]
    advice: tuple[str, ...]
    whole: Seen

    @property
    def word(self) -> str:
        """YES, NO or CAN'T SAY."""
        return WORDS[self.judgement]

    @property
    def reason(self) -> str:
        """Why, in a few words: the figures that decided."""
        decisive = [one for one in self.figures if one.judgement is self.judgement]
        match self.judgement:
            case Judgement.PASS:
                return "every figure keeps its bound"
            case Judgement.FAIL:
                return "; ".join(f"{one.figure.label}: {one.text}, not {one.limit.limit}" for one in decisive)
            case Judgement.NO_VERDICT:
                return "; ".join(dict.fromkeys(one.reason for one in decisive)) or "no figure answers"

    def document(self, run: str, reports: Sequence[str] = ()) -> CheckDocument:
        """As machines read it, with the run's folder and the files of its report."""
        return CheckDocument(
            purpose=self.purpose.name,
            question=self.purpose.question,
            answer=self.judgement,
            reason=self.reason,
            figures=tuple(one.document for one in self.figures),
            shown=self.shown,
            how_sure=self.sure,
            next=self.advice,
            run=run,
            reports=tuple(reports),
        )


def answer_of(run: Run) -> CheckAnswer:
    """The answer that a record gives; none where its purpose is not installed here."""
    conditions = run.conditions(CheckConditions)
    purpose = _purpose_of(conditions.purpose)
    repeats, whole = _seen(run, purpose, conditions)
    around_it = Circumstances.of(run)
    every = [_answered(figure, repeats, whole, around_it) for figure in purpose.figures]
    figures = tuple(one for one in every if not one.is_left_out)
    limits = [one.limit for one in figures]
    failing = [one.figure.remedy for one in figures if one.judgement is Judgement.FAIL]
    unknown = [one for one in figures if one.judgement is Judgement.NO_VERDICT]
    return CheckAnswer(
        purpose=purpose,
        conditions=conditions,
        judgement=whole_of(limits),
        figures=figures,
        shown=tuple(
            ShownFigures(label=one.label, unit=one.unit, values={name: of(whole) for name, of in one.of})
            for one in purpose.shown
        ),
        sure=(
            *_sure(run, purpose, figures, conditions, around_it),
            *(f"can't say: {one.figure.absent}" for one in every if one.is_left_out),
        ),
        advice=tuple(dict.fromkeys((*failing, *_to_find_out(unknown, around_it)))) or (_DONE,),
        whole=whole,
    )


_BOTH_SIDES: Final = "the repeats lie on both sides of the bound"
_DONE: Final = "nothing: ask again when the disk is fuller, hotter or older, and compare (`openpts compare`)"


def _purpose_of(name: str) -> CheckPurpose:
    try:
        return purpose_named(name)
    except UsageError as error:
        return CheckPurpose(name, name, str(error), 0, 0, 0.0, lambda _asked: (), ())


def _seen(run: Run, purpose: CheckPurpose, conditions: CheckConditions) -> tuple[list[Seen], Seen]:
    """What each repeat measured, and all of them together."""
    # names are asked for alone, which do not depend on the part
    length_ns, heat_ns = conditions.minute_ns, conditions.heat_ns
    loads = purpose.loads(Asked(conditions.active_range, conditions.size_bytes, length_ns, heat_ns))
    again = [load.name for load in loads if not load.once]
    once = [load.name for load in loads if load.once]
    before, after = (None if one is None else one.reading for one in around(run.health))
    heat = _by_name(run.phase(Phase.LOAD), once)
    by_repeat = [
        Seen(_by_name(run.phase(Phase.PROFILE, number=number), again), before, after)
        for number in range(1, conditions.repeats + 1)
    ]
    together: dict[str, list[Sample]] = defaultdict(list)
    for seen in by_repeat:
        for name, samples in seen.loads.items():
            together[name] += samples
    return by_repeat, Seen({**together, **heat}, before, after)


def _by_name(steps: Sequence[StepRecord], names: Sequence[str]) -> Mapping[str, list[Sample]]:
    found: dict[str, list[Sample]] = defaultdict(list)
    for step in steps:
        if step.sample.state is StepState.COMPLETE and step.place.position < len(names):
            found[names[step.place.position]].append(step.sample)
    return found


def _answered(
    figure: PurposeFigure, repeats: Sequence[Seen], whole: Seen, around_it: Circumstances
) -> JudgedFigure:
    value = figure.of(whole)
    each = [figure.of(seen) for seen in repeats] if figure.needs_repeats else []
    values = tuple(one for one in each if one is not None)
    if value is None or len(values) < len(each):
        return JudgedFigure(figure, value, values, Judgement.NO_VERDICT, figure.absent)
    kept = {figure.bound.keeps(one) for one in (*values, value)}
    if len(kept) > 1:
        return JudgedFigure(figure, value, values, Judgement.NO_VERDICT, _BOTH_SIDES)
    judgement = Judgement.PASS if kept == {True} else Judgement.FAIL
    if doubt := around_it.doubt(figure, kept=judgement is Judgement.PASS):
        return JudgedFigure(figure, value, values, Judgement.NO_VERDICT, doubt)
    return JudgedFigure(figure, value, values, judgement)


def _sure(
    run: Run,
    purpose: CheckPurpose,
    figures: Sequence[JudgedFigure],
    conditions: CheckConditions,
    around_it: Circumstances,
) -> Iterator[str]:
    """How far the answer can be trusted, most important first."""
    if run.manifest.state is not RunState.COMPLETE:
        yield f"the run did not come to its end ({run.manifest.state})"
    spreads = [(one.spread_pct, one.figure.label) for one in figures if one.spread_pct is not None]
    times = f"{conditions.repeats} repeats"
    if purpose.timed_loads:
        times += f" of {format_duration(conditions.minute_ns)} a load"
    if spreads:
        widest, label = max(spreads)
        yield f"{times}; they differ by {widest:.0f} % at the most ({label})"
    else:
        yield f"{times}; they do not differ" if any(one.values for one in figures) else times
    yield from around_it.sentences
    if "virtio" in fact_text(run.manifest.dut, "interface", ""):
        yield "the disk is a virtual one: memory of the machine below may have answered for it"


def _to_find_out(unknown: Sequence[JudgedFigure], around_it: Circumstances) -> Iterator[str]:
    if not unknown:
        return
    yield from around_it.remedies
    if any(one.reason == _BOTH_SIDES for one in unknown):
        yield "ask again with more repeats (--repeats 9), and longer (--minutes)"
    if any(one.reason == one.figure.absent for one in unknown):
        yield "ask again for longer (--minutes)"
