"""`openpts idle-flush`: leave a drive alone until its background work is done."""

from collections.abc import Callable
from typing import Any, Final, Self

import click
from msgspec import Struct

from openpts.analysis.settling import IdleObservation, Settling
from openpts.cli.options import FiniteRange, argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.engine.contract import Engine, EngineStoppedError
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import InterruptedRunError, NotSettledError, RunFailedError, UsageError
from openpts.fields import readers
from openpts.procedures.shared.settling import SettlingCourse, probe_step, settle
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.step_faults import failure_text
from openpts.runner.stop_signals import StopSignals
from openpts.units import NS_PER_S, NS_PER_US, format_capacity, format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.requests import Answer, Apply, ReadHealth, Request
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import ActiveRange

_TICK_S: Final = 0.1
_SEED: Final = 0  # of the places that are read: others each time would tell nothing more


# SOL-DEV-03
def wait_until_settled(
    target: str,
    rule: SettlingRule,
    active_range: ActiveRange,
    begun: Callable[[TargetFacts, tuple[str, ...]], None],
    observed: Callable[[IdleObservation, Settling], None],
) -> SettlingCourse:
    """Wait until the device has come to rest, or the rule's longest time is over.

    ``begun`` is called with what an operator should know when the device is open, ``observed`` after each
    look at the drive, with a verdict on all so far. Reads go to ``active_range``. Raises OpenptsError;
    InterruptedRunError on Ctrl-C, after what was seen until then was reported.
    """
    with device_under_test(target, Consent(), for_writing=False) as device:
        demand = Demand(1, 1, rule.block_size_bytes)
        with device.engine(demand, _SEED, NativeOptions(), near=True) as engine, StopSignals() as stop:
            begun(device.facts, tuple(device.notes(probe_step(rule, active_range))))
            script = settle(rule, active_range, 1, observed)
            answer: Answer = None
            while True:
                try:
                    request = script.send(answer)
                except StopIteration as end:
                    course: SettlingCourse = end.value
                    return course
                answer = _carry_out(request, device, engine, stop)


def _carry_out(request: Request, device: DeviceUnderTest, engine: Engine, stop: StopSignals) -> Answer:
    if isinstance(request, ReadHealth):
        return device.health()
    assert isinstance(request, Apply)  # noqa: S101 this script asks for nothing else
    engine.submit(request.steps)
    return tuple(_sample(engine, stop, device.facts.sector_bytes) for _ in request.steps)


def _sample(engine: Engine, stop: StopSignals, sector_bytes: int) -> Sample:
    """The next sample. Raises InterruptedRunError on a wish to stop, RunFailedError where a read failed."""
    while True:
        if stop.wished:
            engine.stop()
            raise InterruptedRunError("stopped by the operator")
        try:
            sample = engine.poll(_TICK_S)
        except EngineStoppedError as error:
            raise RunFailedError("the engine ended without a result") from error
        if sample is not None:
            if sample.state is not StepState.COMPLETE:
                raise RunFailedError(failure_text(sample, sector_bytes))
            return sample


_MINUTE_NS: Final = 60 * NS_PER_S
_STANDARD: Final = SettlingRule()
_HEADING: Final = f"{'idle':>9}  {'median us':>9}  {'99 % us':>9}  {'degrees C':>9}  what still moves"


class ListedObservation(Struct, frozen=True, kw_only=True):
    """A look after ``idle_s`` without I/O; ``restless`` names what still changes, empty if nothing does.

    Response times are None without a read, the others where the drive does not report them.
    """

    idle_s: float
    median_us: float | None
    p99_us: float | None
    temperature_c: float | None
    nand_write_bytes: float | None
    settled: bool
    restless: str

    @classmethod
    def of(cls, observation: IdleObservation, verdict: Settling) -> Self:
        """The same as its line."""
        return cls(
            idle_s=observation.at_ns / NS_PER_S,
            median_us=None if observation.median_ns is None else observation.median_ns / NS_PER_US,
            p99_us=None if observation.tail_ns is None else observation.tail_ns / NS_PER_US,
            temperature_c=observation.temperature_c,
            nand_write_bytes=observation.nand_write_bytes,
            settled=verdict.settled,
            restless=verdict.restless,
        )


class IdleFlushDocument(Document, frozen=True, kw_only=True, tag="openpts.idle-flush/1"):
    """By which rule the drive was looked at, and all looks."""

    target: str
    rule: SettlingRule
    user_capacity_bytes: int
    notes: tuple[str, ...]
    settled: bool
    looks: tuple[ListedObservation, ...]


def _minutes(default_ns: int, text: str) -> Any:
    limits = FiniteRange(0, 100_000, min_open=True)
    return option("MINUTES", text, limits, default=default_ns / _MINUTE_NS)


@click.command("idle-flush")
@with_options
def idle_flush(
    *,
    target: str = argument(),
    longest: float = _minutes(_STANDARD.longest_ns, "Wait at most this long."),
    least: float = _minutes(_STANDARD.least_ns, "Wait at least this long."),
    look: float = _minutes(_STANDARD.look_ns, "Idle time between two looks."),
    probe: float = option(
        "SECONDS",
        "Length of a look: single 4 KiB reads at random, one at a time.",
        FiniteRange(0.01, 60),
        default=_STANDARD.probe_ns / NS_PER_S,
    ),
    active_range: str = option(
        "--range START:END", "Part of the LBAs read.", default="100", show_default=False
    ),
    as_json: bool = flag("Print one JSON object; the log goes to stderr.", name="--json"),
) -> int:
    """Wait until the background work of TARGET is done. Only reads; needs no consent.

    A drive with a fast cache (SLC) moves data out of it in the background when it is idle. No standard
    command reports the end of that work, so openpts looks at intervals: it times single reads for two
    seconds. The drive counts as settled when response times and temperature of the last samples hardly
    differ. If its log counts writes to its media, these must have ended. A drive without such a log that
    works evenly for long seems settled too early: set --least for it. Exits with 9 if the drive has not
    settled in time.
    """
    rule = _rule(longest, least, look, probe)
    capacity_bytes, notes, looks = 0, tuple[str, ...](), list[ListedObservation]()

    def say(text: str) -> None:
        click.echo(text, err=as_json)

    def begun(device: TargetFacts, remarks: tuple[str, ...]) -> None:
        nonlocal capacity_bytes, notes
        capacity_bytes, notes = device.user_capacity_bytes, remarks
        capacity = format_capacity(capacity_bytes)
        say(f"{device.path}, {capacity}, a look each {format_duration(rule.look_ns)}")
        for note in notes:
            say(f"note: {note}")
        say(_HEADING)

    def observed(observation: IdleObservation, verdict: Settling) -> None:
        looks.append(ListedObservation.of(observation, verdict))
        say(_line(observation, verdict))

    parsed_range = readers.active_range("--range", active_range)
    course = wait_until_settled(target, rule, parsed_range, begun, observed)
    if as_json:
        print_document(
            IdleFlushDocument(
                target=target,
                rule=rule,
                user_capacity_bytes=capacity_bytes,
                notes=notes,
                settled=course.last.settled,
                looks=tuple(looks),
            )
        )
    say(_ending(course, rule))
    return 0 if course.last.settled else NotSettledError.exit_code


def _rule(longest: float, least: float, look: float, probe: float) -> SettlingRule:
    rule = SettlingRule(
        look_ns=round(look * _MINUTE_NS),
        probe_ns=round(probe * NS_PER_S),
        least_ns=round(least * _MINUTE_NS),
        longest_ns=round(longest * _MINUTE_NS),
    )
    if rule.longest_ns < max(rule.least_ns, rule.looks * rule.look_ns):
        raise UsageError(
            f"--longest {longest:g} min is over before --least {least:g} min and "
            f"{rule.looks} looks, {look:g} min apart, are done"
        )
    return rule


def _line(observation: IdleObservation, verdict: Settling) -> str:
    median = "-" if observation.median_ns is None else f"{observation.median_ns / 1000:.1f}"
    tail = "-" if observation.tail_ns is None else f"{observation.tail_ns / 1000:.1f}"
    temperature = "-" if observation.temperature_c is None else f"{observation.temperature_c:.1f}"
    text = verdict.restless or "nothing: settled"
    return f"{format_duration(observation.at_ns):>9}  {median:>9}  {tail:>9}  {temperature:>9}  {text}"


def _ending(course: SettlingCourse, rule: SettlingRule) -> str:
    if course.last.settled:
        waited = format_duration(course.looks[-1].at_ns)
        return f"settled after {waited}: the last {rule.looks} looks hardly differ"
    return f"NOT settled within {format_duration(rule.longest_ns)}: {course.last.restless}"
