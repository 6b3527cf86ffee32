"""Which phase of a test a step belongs to: the specification's words for what is applied when."""

from enum import StrEnum

from msgspec import Struct


class Phase(StrEnum):
    """A phase of a test; ``number`` beside it in requests and record counts from 1 within the phase.

    WIPC: workload independent preconditioning (PTS 2.1.18 a).
    WDPC: continuous preconditioning with the test's own pattern; the number is that of the tracking round
    at whose end it is judged (11.2 step 3, 13.2 step 3, 14.2 step 2).
    ROUND: one pass through all test points (2.1.21).
    SATURATION: the continuous stimulus of WSAT, numbered as WDPC is (10.2 step 2.2).
    WAIT_STATE, RETURN_TO_BASELINE: numbered by the wait state's name: 1, 2, 3, 5, 10 (11.2 steps 4 to 8).
    ACCESS_GROUP: 1, 2, 3 (12.2 steps 2 to 4).
    ROUND_PREWRITE: the inter-round pre-write before the round of that number (13.2 step 4.2).
    HISTOGRAM_PREWRITE, HISTOGRAM: for response times; of CBW and DIRTH 1 is that of the maximum, 2 of the
    minimum, and from 3 on those between (13.2 steps 7 to 9).

    Of tests beyond the specification: CONDITIONING brings the drive into a state, PROFILE measures the
    figures of a benchmark in it, SWEEP varies one property of the stimulus, LOAD is a long stimulus, FILL
    writes the capacity once, BURST is a short stimulus between others, REST is idle, a DRIVE_CYCLE
    writes and reads the capacity once, and a LATER_READ reads what the drive cycle of its number wrote in an
    earlier run.
    """

    WIPC = "wipc"
    WDPC = "wdpc"
    ROUND = "round"
    SATURATION = "saturation"
    WAIT_STATE = "wait_state"
    RETURN_TO_BASELINE = "return_to_baseline"
    ACCESS_GROUP = "access_group"
    ROUND_PREWRITE = "round_prewrite"
    HISTOGRAM_PREWRITE = "histogram_prewrite"
    HISTOGRAM = "histogram"
    CONDITIONING = "conditioning"
    PROFILE = "profile"
    SWEEP = "sweep"
    LOAD = "load"
    FILL = "fill"
    BURST = "burst"
    REST = "rest"
    DRIVE_CYCLE = "drive_cycle"
    LATER_READ = "later_read"


_WORDS = {
    Phase.WIPC: "WIPC",
    Phase.WDPC: "preconditioning, tracking round {}",
    Phase.ROUND: "round {}",
    Phase.SATURATION: "saturation, tracking round {}",
    Phase.WAIT_STATE: "wait state {}",
    Phase.RETURN_TO_BASELINE: "return to baseline {}",
    Phase.ACCESS_GROUP: "access group {}",
    Phase.ROUND_PREWRITE: "pre-write of round {}",
    Phase.HISTOGRAM_PREWRITE: "pre-write of histogram {}",
    Phase.HISTOGRAM: "histogram {}",
    Phase.CONDITIONING: "conditioning {}",
    Phase.PROFILE: "profile {}",
    Phase.SWEEP: "sweep {}",
    Phase.LOAD: "load {}",
    Phase.FILL: "fill {}",
    Phase.BURST: "burst {}",
    Phase.REST: "rest {}",
    Phase.DRIVE_CYCLE: "drive cycle {}",
    Phase.LATER_READ: "later read of drive cycle {}",
}


def phase_text(phase: Phase, number: int) -> str:
    """A phase and its number in words: ``round 3``."""
    return _WORDS[phase].format(number)


class StepPlace(Struct, frozen=True, order=True):
    """Where a step stands: ``cycle`` counts purges from 1, ``position`` from 0 within phase and number."""

    cycle: int
    phase: Phase
    number: int
    position: int

    def __str__(self) -> str:
        cycle = f"cycle {self.cycle}, " if self.cycle > 1 else ""
        return f"{cycle}{phase_text(self.phase, self.number)}, step {self.position + 1}"
