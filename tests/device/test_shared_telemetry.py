"""Runs on one host read it once for all, as the kernel sees it; one that is killed costs others nothing."""

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from openpts.batch.side_by_side import SideBySide, new_batch
from openpts.ownership import new_run_id
from openpts.record.reader import read_run
from openpts.units import NS_PER_S
from openpts.vocabulary.run_request import RunRequest
from tests.device.host_samplers import Samplers
from tests.device.test_batch import TEST
from tests.support.file_readers import readers_of

STAT = Path("/proc/stat")
PERIOD_S = 0.5
PERIOD_NS = round(PERIOD_S * NS_PER_S)
MOST = 0.6  # where each reads for itself, it is none; a busy machine lets some come too late
IN_SECONDS = (*TEST, "--step-seconds", "1.5")


def last_reader(seen: list[tuple[int, int]], ours: Samplers) -> int:
    """Which of them has read last."""
    return next(ours.pids.index(pid) for _, pid in reversed(seen) if pid in ours.pids)


def test_one_reads_for_all_and_all_have_its_samples(samplers: Callable[..., Samplers]) -> None:
    """The last of them samples at half the rate."""
    periods = 12
    with readers_of(STAT) as seen:
        ours = samplers(*[PERIOD_S] * 4, 2 * PERIOD_S)
        begin_ns = (time.monotonic_ns() // PERIOD_NS + 1) * PERIOD_NS
        end_ns = begin_ns + periods * PERIOD_NS
        time.sleep((periods + 4) * PERIOD_S)
    readers = [set[int]() for _ in range(periods)]
    for t_ns, pid in seen:
        if begin_ns <= t_ns < end_ns and pid in ours.pids:
            readers[(t_ns - begin_ns) // PERIOD_NS].add(pid)
    # on a machine that is busy one may come too late for the others
    assert sum(len(of_period) == 1 for of_period in readers) >= MOST * periods
    sampled = [
        {t_ns: value for t_ns, value in ours.points(number).items() if begin_ns <= t_ns < end_ns}
        for number in range(5)
    ]
    for points, count in zip(sampled, [*[periods] * 4, periods // 2], strict=True):
        assert len(points) >= MOST * count
        assert len(points.items() & sampled[0].items()) >= MOST * count
    # a share is one of the time since the sample before, which one that came too late has at another moment
    first, *others = (ours.spans(number, "cpu_all_user_pct") for number in range(4))
    for of_one in others:  # values that stay as they are have few points
        common = first.keys() & of_one.keys()
        assert common
        assert {span: first[span] for span in common} == {span: of_one[span] for span in common}


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_without_the_one_that_has_read_the_others_go_on(
    samplers: Callable[..., Samplers], how: signal.Signals
) -> None:
    with readers_of(STAT) as seen:
        ours = samplers(*[PERIOD_S] * 3)
        rest = set(range(3))
        for _ in range(2):
            gone, since_ns = last_reader(seen, ours), time.monotonic_ns()
            os.kill(ours.pids[gone], how)
            rest.remove(gone)
            time.sleep(6 * PERIOD_S)
            for number in rest:
                gaps_s = ours.gaps_s(number, since_ns)
                assert len(gaps_s) >= 4
                assert max(gaps_s) <= 3 * PERIOD_S
    counted = {at_ns: ticks for number in range(3) for at_ns, ticks in ours.points(number, "counted").items()}
    for number in rest:
        # growth goes on from a sample of the one that is gone
        spent = ours.points(number, "spent")
        assert len(spent) >= len(ours.points(number)) - 2
        for t_ns, ticks in spent.items():
            lately = [before for at_ns, before in counted.items() if 0 < t_ns - at_ns < 3 * PERIOD_NS]
            assert ticks in {counted[t_ns] - before for before in lately}
    assert len(rest) == 1


@pytest.mark.slow
def test_the_runs_of_a_batch_read_the_host_once(tmp_path: Path) -> None:
    """Or not at all, where a run that is none of them is first."""
    targets = [f"file:{tmp_path / f'drive{number}'}?size=8MiB" for number in range(3)]
    requests = [RunRequest(run_id=new_run_id(), test_words=IN_SECONDS, target=target) for target in targets]
    # the engine reads the times of processors around each step as well, but nothing of drives
    with readers_of(Path("/proc/diskstats")) as seen:
        batch = SideBySide(folder=tmp_path / "batch", batch=new_batch(requests)).run()
        now_ns, now_s = time.monotonic_ns(), time.time()
    folders = [tmp_path / "batch" / entry.folder for entry in batch.entries]
    pids = [json.loads((folder / "claim.jsonl").read_text().splitlines()[0])["pid"] for folder in folders]
    # each reads as it starts
    begin = max(next(t_ns for t_ns, of in seen if of == pid) for pid in pids) // NS_PER_S + 2
    ended_s = [datetime.fromisoformat(str(entry.ended_at)).timestamp() for entry in batch.entries]
    end = (now_ns - round((now_s - min(ended_s)) * NS_PER_S)) // NS_PER_S - 2
    assert end - begin >= 3
    readers = [
        {pid for t_ns, pid in seen if t_ns // NS_PER_S == at and pid in pids} for at in range(begin, end)
    ]
    assert sum(len(of_second) <= 1 for of_second in readers) >= MOST * len(readers)
    for folder in folders:
        run = read_run(folder)
        assert "by one run for all on this host" in str(run.manifest.telemetry["processors"].value)
        (group,) = {"cpu_engine_busy_pct", "cpu_all_busy_pct"} & run.telemetry_series.keys()
        busy = run.telemetry_series[group]
        last = run.steps[-1].sample
        assert busy.t_ns[0] < last.started_ns
        assert busy.t_ns[-1] >= last.started_ns + last.elapsed_ns - 2 * NS_PER_S
