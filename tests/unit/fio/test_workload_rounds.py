"""What the workload test moves before its rounds, and rounds behind steady state."""

import pytest
from msgspec.structs import replace

from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, dry_run
from openpts.units import GB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts_fio.workload.job import FioJob
from openpts_fio.workload.script import script, standard_conditions

CAPACITY_BYTES = 4 * GB
JOB = FioJob("load.fio", ("[load]", "rw=randwrite", "bs=4k", "time_based", "runtime=60s"), ())


@pytest.mark.parametrize(("ending", "until_steady"), [(Ending.SHORTEST, 5), (Ending.LONGEST, 25)])
def test_further_rounds_follow_behind_steady_state(ending: Ending, until_steady: int) -> None:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), job=JOB, further_rounds=7)
    planned = dry_run(script(conditions, CAPACITY_BYTES), CAPACITY_BYTES, AssumedDrive(), ending)
    rounds = [one.apply.number for one in planned if one.apply.phase is Phase.ROUND]
    assert rounds == list(range(1, until_steady + 8))


def test_the_job_moves_what_is_asked_before_its_rounds() -> None:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), job=JOB, load_fills=0.5)
    planned = dry_run(script(conditions, CAPACITY_BYTES), CAPACITY_BYTES, AssumedDrive(), Ending.SHORTEST)
    (load,) = [one for one in planned if one.apply.phase is Phase.LOAD]
    assert sum(load.written_bytes) == pytest.approx(0.5 * CAPACITY_BYTES, rel=1e-6)
    first = next(one for one in planned if one.apply.phase is Phase.ROUND)
    assert sum(first.durations_ns) == 60 * NS_PER_S
