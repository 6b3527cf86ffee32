"""What of a command line is passed on to the runs of a batch: all but targets and what is of the batch."""

from pathlib import Path
from typing import Any

import pytest

from openpts.cli import batch
from openpts.cli.parameter_options import own_words
from openpts.cli.run import run
from openpts.procedures.kit.procedure import Procedure


@pytest.mark.with_plugins
@pytest.mark.parametrize(
    ("words", "targets", "own"),
    [
        (
            ("iops", "d1", "--step-seconds=3", "d2", "--stagger", "3s", "--confirm-serial=1", "--tune"),
            ("d1", "d2"),
            ("--step-seconds=3", "--tune"),
        ),
        (
            ("workload", "job.fio", "d1", "d2", "--label", "a=b", "--out=o", "--json"),
            ("d1", "d2"),
            ("job.fio", "--label", "a=b"),
        ),
        (("workload", "job.fio", "--drives", "slot=3", "--no-report"), (), ("job.fio",)),
        (("app", "d1", "d2", "--", "make", "--out", "x"), ("d1", "d2"), ("--", "make", "--out", "x")),
    ],
)
def test_options_of_the_test_go_on_and_those_of_the_batch_do_not(
    words: tuple[str, ...], targets: tuple[str, ...], own: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def note(test: Procedure, asked: batch.BatchArgs, options: dict[str, Any], _limits: Path | None) -> None:
        found.append((asked.targets, own_words(test, options, batch._OF_THE_BATCH)))

    monkeypatch.setattr(batch, "run_several", note)
    run.main(list(words), standalone_mode=False)
    assert found == [(targets, own)]
