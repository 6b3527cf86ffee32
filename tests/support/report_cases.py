"""The runs whose reports are tested: one of each kind that a report must be honest about."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.sources import default_date
from openpts.runner.physical_device import NOT_THE_DEVICE
from openpts.vocabulary.facts import SimulationFacts, TargetKind
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.verdict import Deviation
from openpts_pages.model import Report
from tests.support.synthetic_run import Synthetic, write_synthetic_run

SIMULATION = SimulationFacts(
    preset="enterprise-tlc",
    summary="a synthetic drive of the enterprise kind",
    model="page-mapped",
    scale=67,
    simulated_bytes=28_662_438_957,
    seed=1,
    assumed=(
        "page_mapped.wear.mean_erases",
        "page_mapped.wear.deviation_share",
        *(f"page_mapped.thermal.parameter_{number}_k_per_w" for number in range(12)),
        "capacity_bytes",
    ),
)
NO_DEVICE = Deviation(
    "PTS-GEN-05",
    "1.1, 6 (2)",
    "block I/O to the device itself",
    f"I/O to a simulated drive in virtual time: {SIMULATION}",
    "nothing is measured: all figures are those of a model",
)

CASES = {
    "steady": Synthetic(),
    "five rounds": Synthetic(rounds=5, steady_round=5, noise=0.0, fixed_iops=None),
    "not steady": Synthetic(rounds=25, steady_round=None, drift=0.028),
    "two rounds": Synthetic(
        rounds=2,
        steady_round=None,
        kind=TargetKind.FILE,
        step_s=2,
        max_rounds=2,
        deviations=(NOT_THE_DEVICE,),
    ),
    "interrupted": Synthetic(
        rounds=6,
        steady_round=None,
        extra_steps=20,
        last_state=StepState.INTERRUPTED,
        state=RunState.INTERRUPTED,
        state_reason="stopped by the operator",
    ),
    "failed": Synthetic(
        rounds=1,
        steady_round=None,
        extra_steps=9,
        last_state=StepState.FAILED,
        state=RunState.FAILED,
        state_reason="an I/O failed",
    ),
    "preconditioned only": Synthetic(rounds=0, steady_round=None, state=RunState.INTERRUPTED),
    "nothing": Synthetic(
        rounds=0, steady_round=None, state=RunState.RUNNING, precondition=False, purge=False
    ),
    "no half KiB": Synthetic(skip_half_kib=True),
    "hostile": Synthetic(hostile=True),
    "bare": Synthetic(facts=False, purge=False, precondition=False),
    "slow": Synthetic(scale=0.0002, step_s=60),
    "fast": Synthetic(scale=14),
    "simulated": Synthetic(kind=TargetKind.SIMULATED, simulation=SIMULATION, deviations=(NO_DEVICE,)),
    "simulated, shortened": Synthetic(
        rounds=2,
        steady_round=None,
        kind=TargetKind.SIMULATED,
        simulation=SIMULATION,
        deviations=(NO_DEVICE,),
        step_s=2,
        max_rounds=2,
    ),
}
_SAMPLED = ("steady", "not steady", "interrupted", "nothing", "hostile", "simulated, shortened")
SLOW_BUT_FOR_A_SAMPLE = [
    case if case in _SAMPLED else pytest.param(case, marks=pytest.mark.slow) for case in CASES
]
"""The same, for what takes a second of each."""


@dataclass
class Reports:
    """Folders and reports of the cases, each made once per session."""

    root: Path
    made: dict[str, Report] = field(default_factory=dict)

    def folder(self, case: str) -> Path:
        folder = self.root / case.replace(" ", "-")
        return folder if folder.exists() else write_synthetic_run(folder, CASES[case])

    def __call__(self, case: str) -> Report:
        if case not in self.made:
            run = read_run(self.folder(case))
            self.made[case] = build_report(run, default_date(run))
        return self.made[case]
