"""The host is set up once for a batch: before its first run, until behind its last."""

from itertools import groupby
from pathlib import Path

import pytest

from openpts.ownership import new_run_id
from openpts.record.manifest import RunState
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Scenario
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.executor import BatchEvent, EntryChanged
from openpts_batch.side_by_side import SideBySide, new_batch


def test_settings_last_from_the_first_run_to_the_end_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a made-up host, with runs that are refused at once: their files are too small."""
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    ceiling = tmp_path / "host/devices/system/cpu/cpu0/cpufreq"
    ceiling.mkdir(parents=True)
    (ceiling / "cpuinfo_max_freq").write_text("3000000\n")
    (ceiling / "scaling_max_freq").write_text("2000000\n")
    roots = SystemRoots(sys=tmp_path / "host")
    requests = [
        RunRequest(run_id=new_run_id(), test_words=("iops",), target=f"file:{tmp_path / name}?size=4KiB")
        for name in ("a", "b")
    ]
    seen: list[tuple[RunState, str]] = []

    def on_event(event: BatchEvent) -> None:
        if isinstance(event, EntryChanged):
            seen.append((event.entry.state, (ceiling / "scaling_max_freq").read_text().strip()))

    SideBySide(
        folder=tmp_path / "batch",
        batch=new_batch(requests, at_most=1),
        listener=on_event,
        tune=Scenario.REAL_WORLD,
        roots=roots,
    ).run()
    running, refused = RunState.RUNNING, RunState.REFUSED
    # a state is heard again when something else of the run has changed
    changes = [each for each, _ in groupby(seen)]
    assert changes == [(state, "3000000") for state in (running, refused, running, refused)]
    assert (ceiling / "scaling_max_freq").read_text().strip() == "2000000"
