"""What a run offers to a gate: its measures by key, and rates and response times of all that was measured."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from typing import Any, Final, Self

import msgspec
from msgspec import Struct, field

from openpts.analysis.latency import ResponseTimes, ios_needed, nines_percentile, response_times
from openpts.analysis.ratio import spread_pct
from openpts.analysis.rounds import measurement_window, test_point
from openpts.analysis.run_comparison import DRIFT_LIMIT, Made, drift_chance
from openpts.errors import UsageError
from openpts.plugins import Kind, offers
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.units import MB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import NOTHING, Measured, Phase, StepState
from openpts_pages.measure import Measured as Measure
from openpts_pages.measure import key_of
from openpts_pages.texts import fact_text

_JUDGED: Final = frozenset(
    {Phase.ROUND, Phase.HISTOGRAM, Phase.PROFILE, Phase.LOAD, Phase.SWEEP, Phase.SATURATION}
)
_OPERATIONS: Final = ("read", "write", "trim")


def parts_of(run: Run) -> Iterator[tuple[StepRecord, str, Measured, bool]]:
    """Step, name and figures of each stimulus and stream that results are made of, and whether it is of a
    round.
    """
    for step, is_round in _steps_of(run):
        place, sample = step.place, step.sample
        prefix = "" if is_round else f"{place.phase} {place.number} "
        for name, part in _named(step):
            yield step, f"{prefix}{name}", part, is_round
            done = [one for one in _OPERATIONS if part.operations[one].ios]
            for operation in done if len(done) > 1 or sample.streams else ():
                yield step, f"{prefix}{name} {operation}", _alone(part, operation), is_round
        if len(sample.streams) > 1:
            yield step, f"{prefix}all", sample, is_round


def _named(step: StepRecord) -> Iterator[tuple[str, Measured]]:
    sample = step.sample
    if (point := test_point(sample.step.stimulus)) is not None:
        yield str(point), sample
    parts: Sequence[Measured] = sample.streams or (sample,)
    for number, (stream, part) in enumerate(zip(sample.step.streams, parts, strict=False), start=1):
        if stream.name or len(sample.step.streams) > 1:
            yield stream.name or f"stream {number}", part


def _alone(part: Measured, operation: str) -> Measured:
    return Measured(read=part.operations[operation], write=NOTHING, elapsed_ns=part.elapsed_ns, cpu=None)


def _steps_of(run: Run) -> Iterator[tuple[StepRecord, bool]]:
    steps = [
        step for step in run.steps if step.place.phase in _JUDGED and step.sample.state is StepState.COMPLETE
    ]
    rounds = defaultdict[int, set[int]](set)
    for step in steps:
        if step.place.phase is Phase.ROUND:
            rounds[step.place.cycle].add(step.place.number)
    windows = {cycle: _window(run, len(numbers), cycle) for cycle, numbers in rounds.items()}
    for step in steps:
        is_round = step.place.phase is Phase.ROUND
        if not is_round or step.place.number in windows[step.place.cycle]:
            yield step, is_round


def _window(run: Run, rounds: int, cycle: int) -> tuple[int, ...]:
    cycles = run.manifest.cycles
    steady_round = cycles[cycle - 1].outcome.steady_round if cycle <= len(cycles) else None
    return measurement_window(rounds, steady_round).rounds


Tokens = tuple[str, ...]
"""The words of a key in alphabetical order, in one spelling."""

_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNT: Final = rf"(?P<count>[1-9]|{'|'.join(_NUMBERS)})"
_POINT: Final = "~"  # of a percentile, so that it is not taken for the dot between words
_NOT_INSIDE: Final = rf"(?<![a-z0-9{_POINT}])"
_PERCENTILES: Final = tuple(
    re.compile(_NOT_INSIDE + pattern + rf"(?![a-z0-9{_POINT}])")
    for pattern in (
        rf"{_COUNT}[ _-]?(?:nines|9s)",
        r"lat(?P<whole>[0-9]{2})(?P<part>[0-9]*)th(?:usec|msec|nsec)?",
        r"p ?(?P<whole>[0-9]{1,2})(?:[._](?P<part>[0-9]+))?",
        r"(?P<whole>9[0-9])\.(?P<part>[0-9]+)(?: ?%)?",
    )
)
_NAMED_UNIT: Final = re.compile(r"lat[0-9]{2,}th(?P<unit>usec|msec|nsec)")
_WORDS: Final = re.compile(rf"[^a-z0-9{_POINT}]+")
_SIZE: Final = re.compile(r"([0-9]+)(k|kb|kib|m|mb|mib)")
_PATTERN: Final = re.compile(r"(rnd|seq)([0-9].*)")
_SAME: Final = {
    **dict.fromkeys(("art", "avg", "average", "clat", "latency"), "mean"),
    **dict.fromkeys(("mrt", "maximum"), "max"),
    **dict.fromkeys(("bw", "throughput", "bandwidth"), "mb_per_s"),
    **dict.fromkeys(("kb", "k"), "kib"),
    "m": "mib",
    "random": "rnd",
    "sequential": "seq",
}


def tokens_of(text: str) -> Tokens:
    """The words of a key, or of what an operator wrote for one."""
    return tuple(sorted(words_of(text)))


def words_of(text: str) -> list[str]:
    """The same in their order."""
    lower = text.lower().replace("mb_per_s", "throughput").replace("mb/s", "throughput")
    for pattern in _PERCENTILES:
        lower = pattern.sub(_percentile_word, lower)
    return [_SAME.get(word, word) for raw in _WORDS.split(lower) if raw for word in _split(raw)]


def percentile_of(word: str) -> float | None:
    """The percentile that a word stands for: 99.99 of ``p99~99``; None of what is none, such as ``p100``."""
    number = word.removeprefix("p").replace(_POINT, ".")
    if word == number or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number):
        return None
    percentile = float(number)
    return percentile if 0 < percentile < 100 else None


def unit_of_name(text: str) -> str:
    """The unit that a name brings along, as ``usec`` of ``lat9999thUsec``; empty for all others."""
    match = _NAMED_UNIT.search(text.lower())
    return match["unit"] if match else ""


def _percentile_word(match: re.Match[str]) -> str:
    found = match.groupdict()
    if count := found.get("count"):
        nines = _NUMBERS.index(count) + 1 if count in _NUMBERS else int(count)
        value = Decimal(repr(nines_percentile(nines)))
    else:
        value = Decimal(f"{found['whole']}.{found['part'] or 0}")
    text = f"{value.normalize():f}"
    return f" p{text.replace('.', _POINT)} "


def _split(word: str) -> Iterator[str]:
    if match := _PATTERN.fullmatch(word):
        yield match[1]
        word = match[2]
    if match := _SIZE.fullmatch(word):
        yield match[1]
        word = match[2]
    yield word


# What differs between repeats by its nature, or concerns the report alone.
NO_CONDITION: Final = ("seed", "secondary_metrics", "battery_wh")
OF_SUBJECTS: Final = ("iops", "mb_per_s", "mean", "p99.9", "p99.99", "p99.999", "max")
"""Figures of a stimulus or stream; any other percentile can be named as well."""
_UNFINISHED: Final = {
    RunState.RUNNING: "the run is in progress, or was killed",
    RunState.INTERRUPTED: "the run was interrupted",
    RunState.FAILED: "the run failed",
}
_UNITS: Final = {"iops": "IOPS", "mb_per_s": "MB/s", "mean": "ms", "max": "ms"}


class RunFigure(Struct, frozen=True):
    """A figure of one run. ``missing`` says why there is no value; ``state`` that it is not of steady state.

    ``by_round`` are the values of the rounds that it is of, where it has any.
    """

    name: str
    unit: str
    value: float | None
    missing: str = ""
    state: str = ""
    by_round: tuple[float, ...] = ()

    @property
    def rounds_spread_pct(self) -> float | None:
        """Standard deviation of the rounds, in per cent; None of fewer than two."""
        return spread_pct(self.by_round)


class _Subject(Struct, frozen=True):
    """What was measured of one stimulus, or one stream: each round of it, or each step."""

    name: str
    parts: list[Measured] = field(default_factory=list)
    is_of_rounds: bool = False


class RunAttributes(Struct, frozen=True, kw_only=True):
    """By what a run may be held against others.

    ``folder`` is where it is, or was when it was read. ``conditions`` are the same text for runs that were
    made under the same ones, ``deviations`` rule and what was used instead. ``seeds`` are of a simulated
    drive and its workload: a run with the same ones does the same again. ``source`` is the checksum of the
    results that an imported run is made of. ``firmware``, ``host`` and ``boot`` are empty where they are not
    known.
    """

    test_id: str
    folder: str
    started_at: str
    test: str
    state: RunState
    conditions: str
    deviations: frozenset[tuple[str, str]]
    seeds: tuple[int, int] | None
    source: str | None
    firmware: str
    host: str = ""
    boot: str = ""

    @property
    def made(self) -> Made | None:
        """Host, start time and boot of the run; None for a simulated drive."""
        if self.seeds is not None:
            return None
        return Made(self.host, datetime.fromisoformat(self.started_at).timestamp(), self.boot)

    @property
    def unfinished(self) -> str:
        """What came before its end; empty for a complete run."""
        return _UNFINISHED.get(self.state, "")


class MeasuredRun(RunAttributes, frozen=True, kw_only=True, dict=True):
    """A run with its report's content; figures are found by what an operator calls them."""

    run: Run
    content: ReportContent

    @classmethod
    def of(cls, run: Run, content: ReportContent | None = None, **more: Any) -> Self:
        """The run with what its report holds; ``content``, if that is made already."""
        manifest = run.manifest
        conditions, simulation, imported = manifest.conditions, manifest.target.simulation, manifest.imported
        return cls(
            run=run,
            content=content or procedure_of(conditions.test).report(run),
            test_id=manifest.test_id,
            folder=str(run.folder),
            started_at=manifest.started_at,
            test=conditions.test,
            state=manifest.state,
            conditions=conditions_key(run),
            deviations=frozenset((one.rule_id, one.used) for one in run.ledger),
            seeds=None if simulation is None else (simulation.seed, conditions.seed),
            source=None if imported is None else imported.sha256,
            firmware=fact_text(manifest.dut, "firmware", ""),
            host=manifest.host_name,
            boot=(manifest.attempts[0].boot_id or "") if manifest.attempts else "",
            **more,
        )

    @property
    def manifest(self) -> Manifest:
        """Manifest of the run."""
        return self.run.manifest

    @property
    def key_values(self) -> tuple[Measure, ...]:
        """Measures that runs are compared by, those that the run did not measure among them."""
        return tuple(one for one in self.content.measures if one.is_key)

    def key_value(self, key: str) -> Measure | None:
        """A key value by its key; None if the run has none."""
        return next((one for one in self.key_values if one.key == key), None)

    def value(self, key: str) -> float | None:
        """What may be compared of a key value; None if it was not measured."""
        found = self.key_value(key)
        return None if found is None else found.comparable

    @cached_property
    def _measures(self) -> dict[Tokens, list[Measure]]:
        found: dict[Tokens, list[Measure]] = {}
        for one in self.content.measures:
            found.setdefault(tokens_of(one.key), []).append(one)
        return found

    @cached_property
    def _subjects(self) -> dict[Tokens, _Subject]:
        found: dict[Tokens, _Subject] = {}
        for _, name, part, is_round in parts_of(self.run):
            subject = found.setdefault(tokens_of(name), _Subject(name, is_of_rounds=is_round))
            subject.parts.append(part)
        return found

    def find(self, measure: str) -> RunFigure | None:
        """A figure by its name, with or without the test in front; None if this run has none of it.

        A name that begins with another test is of that test alone. Raises UsageError where it means several.
        """
        if measure not in self._found:
            self._found[measure] = self._figure(measure)
        return self._found[measure]

    @cached_property
    def _found(self) -> dict[str, RunFigure | None]:
        """What was asked for so far: a gate asks several times, and merging histograms takes long."""
        return {}

    def _figure(self, measure: str) -> RunFigure | None:
        if test_named(measure) not in {"", self.test}:
            return None
        tokens = tokens_of(measure)
        for name in dict.fromkeys((tokens, self._without_test(tokens))):
            if found := self._measures.get(name):
                return self._of_measure(self._meant(measure, found), name)
            if figure := self._of_subject(name):
                return figure
        return None

    def _meant(self, measure: str, found: Sequence[Measure]) -> Measure:
        """Of measures with the same words the one that has them in this order."""
        words = words_of(measure)
        in_order = [one for one in found if words_of(one.key) in (words, words[len(words_of(self.test)) :])]
        if len(found) > 1 and len(in_order) != 1:
            names = " or ".join(f"{self.test}.{one.key}" for one in found)
            raise UsageError(f"{measure} means {names}: give the key as it is")
        return (in_order or found)[0]

    def _without_test(self, tokens: Tokens) -> Tokens:
        rest = list(tokens)
        for word in tokens_of(self.test):
            if word in rest:
                rest.remove(word)
        return tuple(rest)

    def _of_measure(self, one: Measure, tokens: Tokens) -> RunFigure:
        name, missing = f"{self.test}.{one.key}", ""
        if one.stands_in:
            missing = f"too few I/Os for the percentile: {one.note}".rstrip(": ")
        elif one.value is None:
            reason = one.note or one.text
            missing = reason if "not measured" in reason else f"not measured: {reason}"
        if missing:
            return RunFigure(name, one.unit, None, missing)
        of_rounds = self._of_subject(tokens)
        by_round = of_rounds.by_round if of_rounds is not None else ()
        return RunFigure(name, one.unit, one.value, state=one.state, by_round=by_round)

    def _of_subject(self, tokens: Tokens) -> RunFigure | None:
        for word in tokens:
            percentile = percentile_of(word)
            rest = list(tokens)
            rest.remove(word)
            subject = self._subjects.get(tuple(rest))
            if subject is not None and (percentile is not None or word in _UNITS):
                return self._derived(subject, word, percentile)
        return None

    def _derived(self, subject: _Subject, word: str, percentile: float | None) -> RunFigure:
        """A rate is the mean of the rounds, as reports have it; response times are of all I/Os together."""
        figure = word if percentile is None else f"p{percentile:.10g}"
        name = f"{self.test}.{key_of(subject.name)}.{figure}"
        unit = _UNITS.get(word, "ms")
        by_round = tuple(
            found
            for part in subject.parts
            if (found := _value(response_times([part]), part, word, percentile))
        )
        times, missing = response_times(subject.parts), ""
        if percentile is not None and times.ios and not times.recorded_ios:
            missing = "not measured: no distribution of response times"
        elif percentile is not None and not times.distribution.supports(percentile):
            needed = ios_needed(percentile)
            missing = f"too few I/Os: {times.recorded_ios:,}, {figure} needs {needed:,}"
        if missing:
            return RunFigure(name, unit, None, missing)
        is_rate = word in {"iops", "mb_per_s"} and by_round
        value = fmean(by_round) if is_rate else _value(times, subject.parts[0], word, percentile)
        state = self._state if subject.is_of_rounds else ""
        return RunFigure(
            name,
            unit,
            value,
            missing="" if value is not None else "not measured",
            state=state,
            by_round=by_round if subject.is_of_rounds else (),
        )

    @cached_property
    def _state(self) -> str:
        """The note of the test's measures of steady state: all of a window share it."""
        return next((one.state for one in self.content.measures if one.state), "")

    def names(self) -> Iterator[str]:
        """The names of all that can be limited, the measures first."""
        for one in self.content.measures:
            yield f"{self.test}.{one.key}"
        for subject in self.subjects:
            for figure in OF_SUBJECTS:
                yield f"{subject}.{figure}"

    def subject(self, measure: str) -> str:
        """The stimulus or stream that is named without a figure; empty where it is none."""
        tokens = tokens_of(measure)
        found = self._subjects.get(tokens) or self._subjects.get(self._without_test(tokens))
        return "" if found is None else f"{self.test}.{key_of(found.name)}"

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names of all stimuli and streams, of which there are rates and response times."""
        return tuple(f"{self.test}.{key_of(subject.name)}" for subject in self._subjects.values())


def test_named(measure: str) -> str:
    """The test that a name begins with; empty where it begins with none."""
    first = measure.strip().lower().replace(" ", ".").partition(".")[0]
    return first if first in PROCEDURES or first in offers(Kind.PROCEDURE) else ""


def _value(times: ResponseTimes, part: Measured, word: str, percentile: float | None) -> float | None:
    if percentile is not None:
        found_ns: float | None = times.percentile_ns(percentile)
    elif word == "iops":
        return times.iops
    elif word == "mb_per_s":
        return part.bytes * NS_PER_S / part.elapsed_ns / MB if part.elapsed_ns else None
    else:
        found_ns = times.mean_latency_ns if word == "mean" else times.max_latency_ns
    return None if found_ns is None else found_ns / NS_PER_MS


def conditions_key(run: Run) -> str:
    """The same text for runs that were made under the same conditions of their test."""
    conditions: dict[str, Any] = msgspec.to_builtins(run.manifest.conditions)
    for name in NO_CONDITION:
        conditions.pop(name, None)
    return msgspec.json.encode(conditions).decode()


def drift_of(values: Sequence[float], runs: Sequence[RunAttributes]) -> str:
    """Why runs of a real drive drift, if the order of their values says so; empty where they do not."""
    made = [
        (run.made.started_s, value, run.folder)
        for value, run in zip(values, runs, strict=True)
        if run.made is not None
    ]
    made.sort(key=lambda one: one[0])
    chance = drift_chance([value for _, value, _ in made])
    if chance > DRIFT_LIMIT:
        return ""
    return (
        f"the {len(made)} runs from {made[0][2]} on drift, each near the one before it, as by chance in "
        f"{100 * chance:.2g} %: they are no repeats; bring drive and host into the same state before each"
    )


def repeated_run(*sides: Sequence[RunAttributes]) -> str:
    """Why runs that should be repeats are the same one; empty where they are not."""
    if any(_several([run.seeds for run in side]) for side in sides):
        return "simulated runs of one set have the same seed: they are one run, repeated"
    of_folders = {run.folder: run for side in sides for run in side}.values()
    if _several([run.source for run in of_folders]):
        return "the same results were imported twice: they are one run"
    if _several([run.test_id for run in of_folders]):
        return "two folders are copies of one run: leave one out"
    return ""


def _several(marks: Sequence[object]) -> bool:
    """Whether two runs have the same mark: a simulated drive with the same seeds shows no spread."""
    known = [mark for mark in marks if mark is not None]
    return len(set(known)) < len(known)
