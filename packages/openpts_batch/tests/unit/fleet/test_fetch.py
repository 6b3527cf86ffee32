"""When run folders may be fetched, and that they arrive whole: jobs are programs of this machine."""

import multiprocessing
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from unittest.mock import patch

import pytest

from openpts.errors import FleetError, RecordError
from openpts.programs import Reply, run_program
from openpts.record.manifest import RunState
from openpts_batch.cli import fleet_fetch
from openpts_batch.cli.fleet_fetch import MARK, fetch, fetched, in_the_way
from openpts_batch.fleet.configuration import Fleet, Observation, parse_fleet
from openpts_batch.fleet.slurm import run_with_open_stdin

DONE = Observation("a", RunState.COMPLETE, "h1", folder="/runs/a")
OTHER = Observation("b", RunState.RUNNING, "h1", folder="/runs/b")
ELSEWHERE = Observation("c", RunState.RUNNING, "h2", folder="/runs/c")


def test_a_run_that_has_ended_on_an_idle_host_can_be_fetched() -> None:
    assert in_the_way([DONE], ["a"]) == ()
    assert in_the_way([DONE, ELSEWHERE], ["a"]) == ()
    cut = Observation("a", RunState.INTERRUPTED, "h1", folder="/runs/a")
    assert in_the_way([cut], ["a"]) == ()


def test_nothing_is_taken_from_a_host_that_measures() -> None:
    assert in_the_way([DONE, OTHER], ["a"]) == (
        "host h1, with run a, measures for b, which a transfer would disturb",
    )
    assert in_the_way([DONE, OTHER, ELSEWHERE], ["a", "c"])[1:] == ("run c is running",)
    spared = Observation("d", RunState.UNKNOWN, None, "h2 measures, so its journal is not read")
    assert in_the_way([spared, ELSEWHERE], ["d"]) == (
        "where run d stands is unknown: h2 measures, so its journal is not read",
    )


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (Observation("a", RunState.UNKNOWN, None, "no host has begun it"), "no host has begun it"),
        (Observation("a", RunState.CANCELLED, "h1", "before it had begun"), "before it had begun"),
        (Observation("a", RunState.FAILED, "h1"), "it is failed"),
    ],
)
def test_what_has_no_folder_is_refused_at_once(seen, reason) -> None:
    with pytest.raises(FleetError, match=f"run a has no folder to fetch: {reason}"):
        in_the_way([seen], ["a"])


@dataclass
class Reported:
    """A backend that has seen these runs, one list after the other."""

    lists: list[Sequence[Observation]]
    fleet: Fleet
    asked: int = field(default=0)

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        return Observation(run_id, RunState.UNKNOWN, None, "no host has begun it")

    def list(self) -> Sequence[Observation]:
        self.asked += 1
        return self.lists[min(self.asked, len(self.lists)) - 1]


@pytest.fixture
def fleet() -> Fleet:
    return parse_fleet(b"[hosts.h1]\nslots = {}\n[hosts.h2]\nslots = {}", "fleet.toml")


@pytest.fixture
def here(tmp_path) -> Path:
    """A folder with run a, fetched before: no host is needed for it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.db").write_bytes(b"x")
    (tmp_path / f"a{MARK}").write_text(f"{'0' * 64}  a/run.db\n")
    return tmp_path


def test_waiting_ends_with_the_last_run_on_the_host(fleet, here, capsys) -> None:
    backend = Reported([[DONE, OTHER], [DONE, OTHER], [DONE]], fleet)
    with patch.object(fleet_fetch, "_POLL_S", 0.0):
        fetched(backend, ["a"], here, wait=True, as_json=False)
    assert backend.asked == 3
    captured = capsys.readouterr()
    assert captured.out == f"{here}/a  was there, from h1\n"
    assert captured.err == "waiting: host h1, with run a, measures for b, which a transfer would disturb\n"


def test_without_waiting_it_ends_at_once(fleet, here) -> None:
    with pytest.raises(FleetError, match=r"measures for b.*give --wait"):
        fetched(Reported([[DONE, OTHER]], fleet), ["a"], here, wait=False, as_json=False)
    with pytest.raises(FleetError, match="run x has no folder to fetch: no host has begun it"):
        fetched(Reported([[DONE]], fleet), ["x"], here, wait=True, as_json=False)


def test_all_that_have_ended_are_fetched_from_idle_hosts(fleet, here, capsys) -> None:
    fetched(Reported([[DONE, ELSEWHERE]], fleet), [], here, wait=False, as_json=False)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        f"{here}/a  was there, from h1\n",
        "h2 measures: its runs are left there\n",
    )
    fetched(Reported([[]], fleet), [], here, wait=False, as_json=False)
    assert capsys.readouterr().out == "no runs have ended\n"


def here_(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
    """What a job says, without Slurm: its program is started on this machine."""
    before = list(command[: command.index("srun")])
    job = dropwhile(lambda word: word.startswith("--"), command[len(before) + 1 :])
    return run_program([*before, *job], timeout_s)


@pytest.fixture
def large(tmp_path) -> Observation:
    """A folder that takes its time."""
    folder = tmp_path / "host" / "a"
    (folder / "capture").mkdir(parents=True)
    source = random.Random(1)
    for name in ("run.db", "capture/a b.parquet", "capture/c\\'\n.parquet"):
        (folder / name).write_bytes(source.randbytes(2**22))
    (folder / "run.db-shm").write_bytes(b"made again by each reader")
    return Observation("a", RunState.COMPLETE, "h1", folder=str(folder))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def on_the_host(seen: Observation) -> dict[str, bytes]:
    found = content(Path(seen.folder or ""))
    del found["run.db-shm"]
    return found


def sums_hold(out: Path, run_id: str) -> bool:
    """By the program that everybody has."""
    command = ["sha256sum", "--check", "--strict", "--quiet", f"{run_id}{MARK}"]
    return subprocess.run(command, cwd=out, check=False).returncode == 0


def test_a_program_of_slurm_reads_no_end_of_file() -> None:
    look = "import select; print(select.select([0], [], [], 0.2)[0])"
    assert run_with_open_stdin([sys.executable, "-c", look], 30).stdout == "[]\n"


def test_a_fetched_run_is_the_one_on_the_host(fleet, large, tmp_path) -> None:
    out = tmp_path / "results"
    found = fetch(fleet, large, out, here_)
    assert found.is_new
    assert content(Path(found.folder)) == on_the_host(large)
    assert sums_hold(out, large.run_id)
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


def test_what_changes_on_the_host_meanwhile_is_not_taken_for_whole(fleet, large, tmp_path) -> None:
    changed = Path(large.folder or "") / "run.db"

    def changing(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if command[0] == "sh":
            changed.write_bytes(b"x" + changed.read_bytes()[1:])
        return here_(command, timeout_s)

    with pytest.raises(FleetError, match=r"1 of 3 files .* run\.db among them\. Fetch again"):
        fetch(fleet, large, tmp_path / "results", changing)
    assert not (tmp_path / "results" / large.run_id).exists()
    found = fetch(fleet, large, tmp_path / "results", here_)
    assert content(Path(found.folder)) == on_the_host(large)


def test_a_transfer_that_breaks_off_leaves_no_folder(fleet, large, tmp_path) -> None:
    def broken(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if command[0] == "sh":
            command = [word.replace("exec tar", "head -c 3000000 run.db; exit 1 #") for word in command]
        return here_(command, timeout_s)

    with pytest.raises(FleetError, match=r"the transfer from host h1 broke off: .*; fetch again"):
        fetch(fleet, large, tmp_path / "results", broken)
    assert not (tmp_path / "results" / large.run_id).exists()


@pytest.mark.slow
def test_a_fetch_killed_at_any_moment_leaves_the_whole_or_none(fleet, large, tmp_path) -> None:
    whole, source = on_the_host(large), random.Random(7)
    context = multiprocessing.get_context("fork")
    for number in range(6):
        out = tmp_path / str(number // 3)
        process = context.Process(target=fetch, args=(fleet, large, out, here_))
        process.start()
        time.sleep(source.uniform(0.0, 0.3))
        process.kill()
        process.join()
        folder, mark = out / large.run_id, out / f"{large.run_id}{MARK}"
        assert not folder.exists() or content(folder) == whole
        assert not mark.exists() or folder.exists()
    for number in range(2):
        assert content(Path(fetch(fleet, large, tmp_path / str(number), here_).folder)) == whole


def test_a_folder_of_that_name_with_other_files_is_left_alone(fleet, large, tmp_path) -> None:
    other = tmp_path / large.run_id
    other.mkdir()
    (other / "notes").write_text("mine")
    with pytest.raises(RecordError, match="is no copy of run"):
        fetch(fleet, large, tmp_path, here_)
    assert content(other) == {"notes": b"mine"}


def test_a_run_that_has_no_folder_on_its_host_is_refused(fleet, tmp_path) -> None:
    gone = Observation("0199", RunState.COMPLETE, "h1", folder="/nowhere/0199")
    with pytest.raises(FleetError, match=r"host h1 can't read /nowhere/0199: .*can't cd"):
        fetch(fleet, gone, tmp_path / "results", here_)
    assert list((tmp_path / "results").iterdir()) == []
