"""A record that is deleted under a run ends it at once, not after the hours that are left."""

import time
from pathlib import Path

from openpts.errors import RecordError
from openpts.record.reader import read_run
from tests.device.openpts_process import start_openpts

HOURS = ("--step-seconds", "0.1", "--max-rounds", "1000", "--precondition-passes", "1")
RUN = ("run", "iops", "file:x?size=64MiB", "--class", "client", "--no-report", "--out", "r1", *HOURS)
PATIENCE_S = 60


def _wait_for_steps(folder: Path) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        try:
            if len(read_run(folder).steps) >= 3:
                return
        except RecordError:
            pass
        time.sleep(0.05)
    raise AssertionError("no step was stored")


def test_a_run_without_its_record_ends_at_once(tmp_path: Path) -> None:
    with start_openpts(*RUN, cwd=tmp_path, OPENPTS_STATE=str(tmp_path / "state")) as process:
        try:
            _wait_for_steps(tmp_path / "r1")
            (tmp_path / "r1" / "run.db").unlink()
            _, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 8
    said, _, saved = errors.rstrip().rpartition(" in ")
    assert said == (
        "openpts: can't continue the record: r1/run.db can't be found: No such file or directory; "
        "don't touch a run's folder during the run; all of it is saved"
    )
    assert len(read_run(Path(saved)).steps) >= 3
