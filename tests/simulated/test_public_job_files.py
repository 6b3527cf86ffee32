"""Public fio job files in a few seconds of a simulated drive's time: each stream does what its job says."""

import msgspec
import pytest

from openpts.engine.options import NativeOptions
from openpts.errors import UsageError
from openpts.fio_jobs.job_file import read_jobs
from openpts.fio_jobs.translation import translate
from openpts.runner.measure import MeasurementEnded, MeasurementEvent, MeasurementOrder, measure
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import Step, Stream
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf, StopRule
from tests.support.public_job_files import PublicJob, public_jobs

TARGET = "sim:tlc?capacity=200GB&scale=4"
_LONGEST = Duration(2 * NS_PER_S)
_LEAST_OF_66 = 60


def _shorter(stop: StopRule) -> StopRule:
    """As it is where it ends sooner, by a time or an amount; never in a steady state, which takes hours."""
    rules = stop.rules if isinstance(stop, FirstOf) else (stop,)
    amounts = tuple(rule for rule in rules if isinstance(rule, ByteAmount))
    return FirstOf((*amounts, _LONGEST)) if amounts else _LONGEST


def _shortened_stream(stream: Stream) -> Stream:
    stop = None if stream.stop is None else _shorter(stream.stop)
    return msgspec.structs.replace(stream, delay_ns=min(stream.delay_ns, NS_PER_S // 2), stop=stop)


def shortened(step: Step) -> Step:
    streams = tuple(map(_shortened_stream, step.streams))
    own = len(streams) > 1 and all(stream.stop for stream in streams)
    stop = step.stop if own and step.stop == FirstOf(()) else _shorter(step.stop)
    return Step(streams, stop, min(step.ramp_ns, NS_PER_S // 5))


def run(job: PublicJob) -> list[MeasurementEvent]:
    facts = UnopenedTarget.of(TARGET, SystemRoots()).facts
    steps = translate(read_jobs(job.path, job.values), facts).steps
    events: list[MeasurementEvent] = []
    measure([MeasurementOrder(TARGET, tuple(map(shortened, steps)), NativeOptions(), seed=1)], events.append)
    return events


@pytest.mark.slow
def test_at_least_60_of_66_run_to_their_end() -> None:
    ended, refused = {}, {}
    for name, jobs in public_jobs().items():
        for job in {one.workload: one for one in jobs}.values():
            try:
                events = run(job)
            except UsageError as error:
                refused[name] = str(error)
                continue
            samples = [event.sample for event in events if isinstance(event, MeasurementEnded)]
            assert samples, name
            assert all(sample.state is StepState.COMPLETE for sample in samples), name
            ended[name] = samples
            break
    assert len(ended) >= _LEAST_OF_66, refused
    for name, samples in ended.items():
        for sample in samples:
            for index, stream in enumerate(sample.streams):
                planned = sample.step.streams[index].stimulus.operations
                did = {operation for operation, counts in stream.operations.items() if counts.ios}
                allowed = {
                    operation for operation, weight in msgspec.structs.asdict(planned).items() if weight
                }
                assert did <= allowed, name
