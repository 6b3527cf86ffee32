"""A campaign on other hosts: each run at most once, whatever hosts and watchers do meanwhile."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.errors import FleetError, RecordError, RefusedError
from openpts.record.batch import BATCH_NAME
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.begun import begin, read_begun
from openpts_many.campaign.campaign_file import Campaign, CampaignDrive, CampaignTest, OnInterruption
from openpts_many.campaign.expansion import requests_of
from openpts_many.campaign.on_fleet import OnFleet
from openpts_many.campaign.status import status_of
from openpts_many.fleet.port import NOT_BEGUN, Backend, HostState, Observation


class WatcherDiedError(Exception):
    """In place of kill -9: nothing after it is carried out."""


@dataclass
class Hosts:
    """Two hosts that keep the port's contract: what was claimed is observed, and begun only once.

    Time passes with each look: a run takes three of them. A host is silent as often as ``silent`` says, the
    engine loses what was submitted as often as ``lost``, and takes a run for failed as often as ``unsure``.
    """

    silent: float = 0.0
    cut_off: float = 0.0
    lost: float = 0.0
    unsure: float = 0.0
    seed: int = 1
    begun: Counter[str] = field(default_factory=Counter)
    resumed: Counter[str] = field(default_factory=Counter)
    known: dict[str, Observation] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    places: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def submit(
        self, request: RunRequest, *, again: bool = False, resume_words: Sequence[str] = ()
    ) -> Observation:
        self._answer()
        run_id, known = request.run_id, self.known.get(request.run_id)
        if known is None and self.draw.random() < self.lost:
            return Observation(run_id, RunState.QUEUED, None, is_certain=False)
        if known is None or (again and known.stage is RunState.INTERRUPTED):
            (self.begun if known is None else self.resumed)[run_id] += 1
            self.places[run_id] = request.host, request.slot
            busy = [self.places[one] for one, seen in self.known.items() if seen.stage is RunState.RUNNING]
            assert self.places[run_id] not in busy, "two runs at once in a slot"
            self.known[run_id] = Observation(run_id, RunState.RUNNING, request.host, request=request)
            self.left[run_id] = 3
        self._answer()
        return self.known[run_id]

    def observe(self, run_id: str, *, ask_host: bool = False) -> Observation:
        self._answer()
        found = self.known.get(run_id)
        return Observation(run_id, RunState.UNKNOWN, None, NOT_BEGUN) if found is None else found

    def _passed(self, run_id: str) -> None:
        found = self.known[run_id]
        if found.stage is RunState.RUNNING:
            self.left[run_id] -= 1
            if self.draw.random() < self.cut_off:
                found = replace(found, stage=RunState.INTERRUPTED, reason="the host was restarted")
            elif not self.left[run_id]:
                found = replace(found, stage=RunState.COMPLETE, folder="/runs")
            self.known[run_id] = found

    def cancel(self, run_id: str) -> Observation:
        raise NotImplementedError

    def list(self, hosts: Collection[str] = ()) -> Sequence[Observation]:
        self._answer()
        for run_id in self.known:
            self._passed(run_id)
        found = [run for run in self.known.values() if run.host in hosts]
        if self.draw.random() < self.unsure:
            return [replace(run, stage=RunState.FAILED, is_certain=False) for run in found]
        return found

    def hosts(self) -> Sequence[HostState]:
        return ()

    def _answer(self) -> None:
        if self.draw.random() < self.silent:
            raise FleetError("h0 does not answer")


def planned(interrupted: OnInterruption = OnInterruption.RESUME) -> Campaign:
    return Campaign(
        drives=tuple(CampaignDrive(slot=f"b{n % 2}", serial=f"S{n}", host=f"h{n // 2}") for n in range(4)),
        tests=(CampaignTest(test="iops"), CampaignTest(test="lat")),
        repetitions=2,
        interrupted=interrupted,
    )


def went_on(folder: Path, hosts: Backend, pause: Callable[[float], object] = lambda _: None) -> None:
    OnFleet(folder=folder, batch=read_begun(folder), backend=hosts, pause=pause).run()


def carried_out(folder: Path, hosts: Backend, die: float = 0.0, seed: int = 0) -> None:
    """As often as it takes: the watcher dies between two looks."""
    draw, left = random.Random(seed), list[bytes]()

    def pause(_: float) -> None:
        if draw.random() < die:
            left.append((folder / BATCH_NAME).read_bytes())
            raise WatcherDiedError

    for _ in range(200):
        try:
            went_on(folder, hosts, pause)
        except WatcherDiedError:
            (folder / BATCH_NAME).write_bytes(left[-1])
            continue
        if {one.state for one in status_of(folder, read_begun(folder)).runs} == {RunState.COMPLETE}:
            return
    pytest.fail("it does not come to its end")


@pytest.mark.parametrize("seed", range(8))
def test_watchers_that_die_hosts_that_are_silent_and_engines_that_forget_make_no_run_twice_and_miss_none(
    tmp_path: Path, seed: int
) -> None:
    hosts, campaign = Hosts(silent=0.2, lost=0.3, unsure=0.3, seed=seed), planned()
    requests = requests_of(campaign)
    begin(tmp_path, campaign, requests)
    carried_out(tmp_path, hosts, die=0.3, seed=seed)
    assert hosts.begun == Counter({request.run_id: 1 for request in requests})
    assert hosts.resumed == Counter()


def test_an_interrupted_run_waits_for_the_next_call_and_is_resumed(tmp_path: Path) -> None:
    hosts, campaign = Hosts(cut_off=0.2), planned()
    requests = requests_of(campaign)
    begin(tmp_path, campaign, requests)
    went_on(tmp_path, hosts)
    states = Counter(one.state for one in status_of(tmp_path, read_begun(tmp_path)).runs)
    assert set(states) == {RunState.COMPLETE, RunState.INTERRUPTED}
    assert not hosts.resumed
    hosts.cut_off = 0.0
    carried_out(tmp_path, hosts)
    assert hosts.begun == Counter({request.run_id: 1 for request in requests})
    assert sum(hosts.resumed.values()) == states[RunState.INTERRUPTED]


def test_where_the_file_says_so_an_interrupted_run_is_made_again_as_another_one(tmp_path: Path) -> None:
    hosts, campaign = Hosts(cut_off=0.2), planned(OnInterruption.REPEAT)
    requests = requests_of(campaign)
    begin(tmp_path, campaign, requests)
    carried_out(tmp_path, hosts, die=0.3)
    assert not hosts.resumed
    assert set(hosts.begun.values()) == {1}
    cut = [seen for seen in hosts.known.values() if seen.stage is RunState.INTERRUPTED]
    assert cut
    assert len(hosts.begun) == len(requests) + len(cut)
    now = [entry.request for entry in read_begun(tmp_path).entries]
    assert [request.test_words for request in now] == [request.test_words for request in requests]
    assert all(hosts.known[request.run_id].stage is RunState.COMPLETE for request in now)


def test_a_run_that_its_host_refused_is_tried_again_by_the_next_call_and_a_failed_one_is_not(
    tmp_path: Path,
) -> None:
    hosts, campaign = Hosts(), planned()
    refused, failed, *others = requests_of(campaign)
    begin(tmp_path, campaign, (refused, failed, *others))
    hosts.known[refused.run_id] = Observation(refused.run_id, RunState.FAILED, "h0", "slot b0 of h0 is empty")
    hosts.known[failed.run_id] = Observation(
        failed.run_id, RunState.FAILED, "h0", "I/O error", folder="/runs"
    )
    went_on(tmp_path, hosts)
    assert set(hosts.begun) == {request.run_id for request in others}
    went_on(tmp_path, hosts)
    states = [one.state for one in status_of(tmp_path, read_begun(tmp_path)).runs]
    assert states == [RunState.COMPLETE, RunState.FAILED, *[RunState.COMPLETE] * len(others)]
    assert len(hosts.begun) == len(others) + 1


def test_openpts_resume_goes_on_when_each_serial_number_is_confirmed_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, campaign, fleet_file = Hosts(), planned(), ["--fleet", str(tmp_path / "fleet.toml")]
    begin(tmp_path, campaign, requests_of(campaign))
    monkeypatch.setattr("openpts_many.cli.campaign.backend_of", lambda _: hosts)
    monkeypatch.setattr("time.sleep", lambda _: None)
    some = [f"--confirm-serial=S{number}" for number in range(3)]
    refused = CliRunner().invoke(cli, ["resume", str(tmp_path), *fleet_file, *some])
    assert isinstance(refused.exception, RefusedError)
    assert not hosts.begun
    assert str(refused.exception).endswith("agree with --confirm-serial S3")
    ended = CliRunner().invoke(cli, ["resume", str(tmp_path), *fleet_file, *some, "--confirm-serial=S3"])
    assert (ended.exit_code, sum(hosts.begun.values())) == (0, 16), ended.output


def test_pauses_grow_while_nothing_happens(tmp_path: Path) -> None:
    hosts, campaign, pauses = Hosts(), planned(), []
    begin(tmp_path, campaign, requests_of(campaign)[:1])

    def pause(wait_s: float) -> None:
        pauses.append(wait_s)
        if len(pauses) == 2:
            hosts.left = dict.fromkeys(hosts.left, 8)

    went_on(tmp_path, hosts, pause)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_run_that_batch_json_can_t_name_is_not_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, campaign, written = Hosts(), planned(), []
    begin(tmp_path, campaign, requests_of(campaign))

    def full(*_: object) -> None:
        written.append(1)
        if len(written) > 1:
            raise RecordError("no space left")

    monkeypatch.setattr("openpts.batch.executor.write_batch", full)
    with pytest.raises(RecordError, match="no space left"):
        went_on(tmp_path, hosts)
    assert not hosts.begun


def line(kind: str, **fields: object) -> bytes:
    return msgspec.json.encode({"kind": kind, "at": "2026-11-20T10:00:00+00:00", **fields}) + b"\n"


def test_a_campaign_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """As it wrote campaign.jsonl: a plan, a run that gave way to another, runs seen, a line cut off."""
    hosts, campaign = Hosts(), planned()
    first, second, *others = requests_of(campaign)
    again = replace(first, run_id="019aa0c1-7d52-7c43-9d1e-0e5c8b3f2a10")
    seen = [
        Observation(first.run_id, RunState.INTERRUPTED, "h0", "was cut off", folder="/runs"),
        Observation(again.run_id, RunState.COMPLETE, "h0", folder="/runs"),
        Observation(second.run_id, RunState.UNKNOWN, "h0", "is being submitted", is_certain=False),
    ]
    plan = {"format": "openpts-campaign", "version": "1.0", "campaign": campaign}
    lines = [
        line("planned", **plan, requests=(first, second, *others)),
        line("seen", observation=seen[0]),
        line("replaced", run_id=first.run_id, by=again),
        *(line("seen", observation=one) for one in seen[1:]),
        b'{"kind":"seen","at":"2026',
    ]
    (tmp_path / "campaign.jsonl").write_bytes(b"".join(lines))
    found = status_of(tmp_path, read_begun(tmp_path))
    wanted = [RunState.COMPLETE, RunState.UNKNOWN, *[RunState.WAITING] * len(others)]
    assert [one.state for one in found.runs] == wanted
    carried_out(tmp_path, hosts)
    assert set(hosts.begun) == {one.run_id for one in (second, *others)}
    ids = [entry.request.run_id for entry in read_begun(tmp_path).entries]
    assert ids == [again.run_id, second.run_id, *(one.run_id for one in others)]
