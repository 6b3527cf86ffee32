"""When I/Os are issued, in fio's options."""

from typing import Final

from openpts.engine.fio.operations import FioOptions
from openpts.engine.fio.refusal import refusal
from openpts.units import NS_PER_US
from openpts.vocabulary.pacing import Burst, ClosedLoop, DutyCycle, FixedRate, Poisson, ThinkTime
from openpts.vocabulary.stimulus import Stimulus

_NOT_OPEN: Final = "its latency counts from the submission, and not from the planned moment"


def pacing_options(stimulus: Stimulus) -> FioOptions:
    """``thinktime`` where it means the same; nothing for the closed loop."""
    match stimulus.pacing:
        case ClosedLoop():
            return {}
        case ThinkTime(think_ns):
            if stimulus.qd > 1:
                raise refusal(
                    "think time at a queue depth above 1", "it waits for all that is outstanding first"
                )
            if think_ns % NS_PER_US:
                raise refusal("think time of a fraction of a microsecond")
            return {"thinktime": str(think_ns // NS_PER_US)}
        case FixedRate():
            raise refusal("open loop at a fixed rate", _NOT_OPEN)
        case Poisson():
            raise refusal("open loop of Poisson arrivals", _NOT_OPEN)
        case Burst():
            raise refusal("bursts at fixed times")
        case DutyCycle():
            raise refusal("duty cycle from the step's start on", "its pause begins when the queue is empty")
