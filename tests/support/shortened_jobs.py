"""Public fio job files, shortened, on a target: each stream does what its job says."""

import msgspec

from openpts.engine.options import NativeOptions
from openpts.errors import UsageError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import STREAMS_END, ByteAmount, Duration, FirstOf, Step, StopRule
from openpts_fio.jobs.job_file import read_jobs
from openpts_fio.jobs.translation import translate
from openpts_io.measure import MeasurementEnded, MeasurementEvent, MeasurementRequest, measure
from tests.support.public_job_files import PublicJob, public_jobs

LEAST_OF_66 = 60
_DELAY_SHARE, _RAMP_SHARE = 4, 10


def _shorter(stop: StopRule, longest: Duration) -> StopRule:
    """As it is where it ends sooner, by a time or an amount; never in a steady state, which takes hours."""
    rules = stop.rules if isinstance(stop, FirstOf) else (stop,)
    amounts = tuple(rule for rule in rules if isinstance(rule, ByteAmount))
    return FirstOf((*amounts, longest)) if amounts else longest


def _shortened(step: Step, longest: Duration) -> Step:
    streams = tuple(
        msgspec.structs.replace(
            stream,
            delay_ns=min(stream.delay_ns, longest.duration_ns // _DELAY_SHARE),
            stop=None if stream.stop is None else _shorter(stream.stop, longest),
        )
        for stream in step.streams
    )
    own = len(streams) > 1 and all(stream.stop for stream in streams)
    stop = step.stop if own and step.stop == STREAMS_END else _shorter(step.stop, longest)
    return Step(streams, stop, min(step.ramp_ns, longest.duration_ns // _RAMP_SHARE))


def _run(job: PublicJob, target: str, consent: Consent, longest: Duration) -> list[Sample]:
    facts = UnopenedTarget.of(target, SystemRoots()).facts
    steps = translate(read_jobs(job.path, job.values), facts).steps
    shortened = tuple(_shortened(step, longest) for step in steps)
    events: list[MeasurementEvent] = []
    measure([MeasurementRequest(target, shortened, NativeOptions(), consent, seed=1)], events.append)
    return [event.sample for event in events if isinstance(event, MeasurementEnded)]


def assert_that_they_run(target: str, consent: Consent, longest: Duration) -> None:
    """At least 60 of 66 run to their end with one of their suites' values, and do nothing else."""
    ended, refused = {}, {}
    for name, jobs in public_jobs().items():
        for job in {one.workload: one for one in jobs}.values():
            try:
                ended[name] = _run(job, target, consent, longest)
                break
            except UsageError as error:
                refused[name] = str(error)
    assert len(ended) >= LEAST_OF_66, refused
    for name, samples in ended.items():
        assert samples, name
        for sample in samples:
            assert sample.state is StepState.COMPLETE, (name, sample.failure)
            for stream, part in zip(sample.step.streams, sample.streams, strict=False):
                weights = msgspec.structs.asdict(stream.stimulus.operations)
                did = {operation for operation, counts in part.operations.items() if counts.ios}
                assert did <= {operation for operation, weight in weights.items() if weight}, name
