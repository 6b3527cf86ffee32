"""A run that was killed behind its last step needs no more I/O: resumed, it is complete."""

import pytest

from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.runner.order import Order
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import run_test
from openpts.vocabulary.consent import Consent
from tests.support.shortened_runs import shortened_run


@pytest.mark.with_plugins
def test_a_run_that_lacks_only_its_end_is_completed(tmp_path) -> None:
    whole = shortened_run("thermal", tmp_path / "run", target="sim:enterprise-tlc?capacity=4GB")
    writer = RunWriter.reopen(whole.folder)
    writer.update_manifest(state=RunState.RUNNING, ended_at=None)
    writer.close()
    order = Order.to_resume(Resumption(read_run(whole.folder)), Consent())
    run_test(PROCEDURES["thermal"], order, [])
    run = read_run(whole.folder)
    assert run.manifest.state is RunState.COMPLETE
    assert run.steps == whole.steps
    assert run.ledger == whole.ledger
    assert [attempt.steps for attempt in run.manifest.attempts] == [0, len(whole.steps)]
    assert run.manifest.cycles == whole.manifest.cycles
