"""Random writes that never got steady are in the ledger of the preconditioning comparison."""

from random import Random

from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.findings import findings
from tests.support.made_up_run import made_up_run
from tests.support.transcript import Golden


def test_courses_that_never_got_steady_are_entered(golden: Golden) -> None:
    draws = Random(1)

    def wild(_stimulus: Stimulus, phase: Phase, _number: int) -> float:
        return 20_000 * draws.uniform(1, 3) if phase is Phase.LOAD else 20_000.0

    entries = findings(made_up_run("precon", rate=wild))
    assert [entry.required for entry in entries] == [
        f"random writes until steady, from {state}" for state in ("FOB", "after SEQ", "after RND")
    ]
    assert [entry.used for entry in entries] == golden


def test_a_level_drive_has_no_entry() -> None:
    assert findings(made_up_run("precon")) == ()
