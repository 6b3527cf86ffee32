"""What a simulated drive did in the step that it was given."""

from openpts.engine.contract import EngineStoppedError
from openpts.errors import RunFailedError
from openpts.vocabulary.sample import Sample, StepState
from openpts_sim.simulated_engine import SimulatedEngine


def next_sample(engine: SimulatedEngine, failed: str) -> Sample:
    """Wait for the next step. Raises RunFailedError, whose text ``failed`` begins, if it is not complete."""
    try:
        while (sample := engine.poll(1.0)) is None:
            pass
    except EngineStoppedError as error:
        raise RunFailedError(f"{failed}: {error}") from error
    if sample.state is not StepState.COMPLETE:
        reason = sample.failure.reason if sample.failure else sample.state
        raise RunFailedError(f"{failed}: {reason}")
    return sample
