"""Leaves a device alone until it has come to rest; nothing on it is changed, and nothing is recorded."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from openpts.analysis.settling import IdleObservation, Settling
from openpts.engine.contract import Engine, EngineStoppedError
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.procedures.shared.settling import SettlingCourse, probe_step, settle
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.step_faults import failure_text
from openpts.runner.stop_signals import StopSignals
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.requests import Answer, Apply, ReadHealth, Request
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.stimulus import ActiveRange

_TICK_S: Final = 0.1
_SEED: Final = 0  # of the places that are read: others each time would tell nothing more


class SettlingRequest(Struct, frozen=True):
    """What to wait for, on which device; reads go to ``active_range``."""

    target: str
    rule: SettlingRule = field(default_factory=SettlingRule)
    active_range: ActiveRange = field(default_factory=lambda: ActiveRange(0, 100))


class SettlingStarted(Struct, frozen=True):
    """The device is open; ``notes`` are what an operator should know before."""

    target: TargetFacts
    notes: tuple[str, ...]


class IdleObserved(Struct, frozen=True):
    """One more look at the drive was taken; ``verdict`` judges all looks so far."""

    observation: IdleObservation
    verdict: Settling


SettlingListener = Callable[[SettlingStarted | IdleObserved], None]


# SOL-DEV-03
def wait_until_settled(order: SettlingRequest, on_event: SettlingListener) -> SettlingCourse:
    """Wait until the device has come to rest, or the rule's longest time is over.

    Raises OpenptsError; InterruptedRunError on Ctrl-C, after what was seen until then was reported.
    """
    rule = order.rule
    with device_under_test(order.target, Consent(), for_writing=False) as device:
        demand = Demand(1, 1, rule.block_size_bytes)
        with device.engine(demand, _SEED, NativeOptions(), near=True) as engine, StopSignals() as stop:
            on_event(SettlingStarted(device.facts, device.notes(probe_step(rule, order.active_range))))
            script = settle(
                rule,
                order.active_range,
                1,
                lambda observation, verdict: on_event(IdleObserved(observation, verdict)),
            )
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
