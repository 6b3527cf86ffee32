"""When run folders may be fetched, by what a backend tells of runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from openpts.errors import FleetError
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.cli import fleet_fetch
from openpts_many.cli.fleet_fetch import fetched
from openpts_many.fleet.configuration import Fleet, parse_fleet
from openpts_many.fleet.fetch import MARK, in_the_way
from openpts_many.fleet.port import HostState, Observation

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
def test_what_has_no_folder_is_refused_at_once(seen: Observation, reason: str) -> None:
    with pytest.raises(FleetError, match=f"run a has no folder to fetch: {reason}"):
        in_the_way([seen], ["a"])


@dataclass
class Reported:
    """A backend that has seen these runs, one list after the other."""

    lists: list[Sequence[Observation]]
    asked: int = field(default=0)

    def submit(
        self, request: RunRequest, *, again: bool = False, resume_words: Sequence[str] = ()
    ) -> Observation:
        raise NotImplementedError

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        return Observation(run_id, RunState.UNKNOWN, None, "no host has begun it")

    def cancel(self, run_id: str) -> Observation:
        raise NotImplementedError

    def list(self) -> Sequence[Observation]:
        self.asked += 1
        return self.lists[min(self.asked, len(self.lists)) - 1]

    def hosts(self) -> Sequence[HostState]:
        raise NotImplementedError


@pytest.fixture
def fleet() -> Fleet:
    return parse_fleet(b'backend = "ssh"\n[hosts.h1]\nslots = {}\n[hosts.h2]\nslots = {}', "fleet.toml")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with run a, fetched before: no host is needed for it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.db").write_bytes(b"x")
    (tmp_path / f"a{MARK}").write_text(f"{'0' * 64}  a/run.db\n")
    return tmp_path


def test_waiting_ends_with_the_last_run_on_the_host(
    fleet: Fleet, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = Reported([[DONE, OTHER], [DONE, OTHER], [DONE]])
    with patch.object(fleet_fetch, "_POLL_S", 0.0):
        fetched(backend, fleet, ["a"], here, wait=True, as_json=False)
    assert backend.asked == 3
    captured = capsys.readouterr()
    assert captured.out == f"{here}/a  was there, from h1\n"
    assert captured.err == "waiting: host h1, with run a, measures for b, which a transfer would disturb\n"


def test_without_waiting_it_ends_at_once(fleet: Fleet, here: Path) -> None:
    with pytest.raises(FleetError, match=r"measures for b.*give --wait"):
        fetched(Reported([[DONE, OTHER]]), fleet, ["a"], here, wait=False, as_json=False)
    with pytest.raises(FleetError, match="run x has no folder to fetch: no host has begun it"):
        fetched(Reported([[DONE]]), fleet, ["x"], here, wait=True, as_json=False)


def test_all_that_have_ended_are_fetched_from_idle_hosts(
    fleet: Fleet, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched(Reported([[DONE, ELSEWHERE]]), fleet, [], here, wait=False, as_json=False)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        f"{here}/a  was there, from h1\n",
        "h2 measures: its runs are left there\n",
    )
    fetched(Reported([[]]), fleet, [], here, wait=False, as_json=False)
    assert capsys.readouterr().out == "no runs have ended\n"
