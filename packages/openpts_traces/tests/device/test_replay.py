"""A trace replayed on real targets: what the block layer saw is what the trace has, element by element."""

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.analysis.latency import LatencyDistribution
from openpts.errors import EngineUnavailableError
from openpts.record.reader import read_run
from openpts.units import MIB
from openpts.vocabulary.sample import Phase
from openpts_fio.engine.engine import find_fio
from tests.support.block_trace import BlockEvent, BlockTrace, of_event
from tests.support.openpts_process import FIGURES, openpts, start_openpts
from tests.support.transcript import Golden

_CAPACITY = 64 * MIB
_BLOCK = 4096
_IOS = 3000

Io = tuple[str, int, int]
"""R or W, first sector, sectors."""


def write_trace(path: Path, gap_us: int = 300) -> list[Io]:
    draws = random.Random(7)
    lines, ios, at_us = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"], [], 0
    for _ in range(_IOS):
        kind, blocks = draws.choice(("read", "write")), draws.choice((1, 2, 16))
        block = draws.randrange(_CAPACITY // _BLOCK - blocks)
        lines.append(f"{at_us} /dev/x {kind} {block * _BLOCK} {blocks * _BLOCK}")
        ios.append((kind[0].upper(), block * _BLOCK // 512, blocks * _BLOCK // 512))
        at_us += draws.randrange(2 * gap_us)
    path.write_text("\n".join([*lines, f"{at_us} /dev/x close", ""]))
    return ios


def issued(trace: BlockTrace) -> list[Io]:
    """Reads and writes by the thread that issued most of them: udev looks at drives as well."""
    queued = of_event(trace.events, BlockEvent.QUEUE)
    ((task, _),) = Counter(queued["task"].tolist()).most_common(1)
    own = queued[queued["task"] == task]
    kinds = [kind[:1] for kind in own["rwbs"].astype(str)]
    places = zip(kinds, own["sector"].tolist(), own["sectors"].tolist(), strict=True)
    return [(kind, first, count) for kind, first, count in places if kind in {"R", "W"}]


def test_the_device_sees_the_trace_element_by_element_and_so_it_does_of_fio(
    traceable: None, attach_memory: Callable[[int], Path], tmp_path: Path
) -> None:
    drive = attach_memory(_CAPACITY)
    trace = tmp_path / "trace.iolog"
    ios = write_trace(trace)
    # The prefill empties the page cache of what the guard has read: io_uring leaves writes there to others.
    words = ("--passes", "1", "--purge", "none", "--telemetry-period", "off", "--no-report")
    with BlockTrace(drive) as seen:
        ended = openpts(
            "run", "replay", str(trace), str(drive), "--confirm-device-path", str(drive), *words,
            "--out", "run", "--json", cwd=tmp_path,
        )  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    (one,) = ended.json["passes"]
    assert (one["issued"], one["early"], one["reordered"]) == (_IOS, 0, 0)
    assert issued(seen)[-_IOS:] == ios
    try:
        fio = find_fio().path
    except EngineUnavailableError as error:
        pytest.skip(str(error))
    with BlockTrace(drive) as seen:
        subprocess.run(
            [fio, "--name=log", f"--read_iolog={trace}", f"--replay_redirect={drive}", "--ioengine=libaio",
             "--direct=1", "--replay_no_stall=1"],
            check=True, capture_output=True, cwd=tmp_path,
        )  # fmt: skip
    assert issued(seen) == ios


@pytest.mark.needs("io_uring")
def test_a_trace_is_replayed_on_a_file_and_verified(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.iolog", gap_us=100)
    words = ("--passes", "2", "--speed", "2", "--out", "run", "--json", "--no-report")
    target = f"file:./x?size={_CAPACITY // MIB}MiB"
    ended = openpts("run", "replay", "trace.iolog", target, *words, "--io-path", "io_uring", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    assert [one["issued"] for one in ended.json["passes"]] == [_IOS] * 2
    # Half of 3,000 gaps of 100 us each, and never less than that.
    assert ended.json["passes"][0]["execution_seconds"] > 0.14
    assert openpts("report", "run", *FIGURES, cwd=tmp_path).exit_code == 0
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


@pytest.mark.needs("io_uring")
def test_traces_are_replayed_at_once_from_the_command_line(tmp_path: Path, golden: Golden) -> None:
    write_trace(tmp_path / "first.iolog", gap_us=100)
    write_trace(tmp_path / "second.iolog", gap_us=50)
    words = ("--also", "second.iolog?region=50-100&mapping=wrap", "--passes", "1", "--conflicts", "push-back")
    ended = openpts(
        "run", "replay", "first.iolog?region=0-100", f"file:./x?size={_CAPACITY // MIB}MiB", *words,
        "--unaligned", "rmw", "--out", "run", "--json", "--no-report", cwd=tmp_path,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    assert (ended.json["trace"], ended.json["also"][0]["trace"]) == ("first.iolog", "second.iolog")
    assert ended.json["also"][0]["changed"].keys() <= {"split by the mapping"}
    first, second = ended.json["passes"]
    assert first["issued"] == _IOS
    assert second["issued"] >= _IOS
    assert first["execution_seconds"] >= 0.9 * _IOS * 100e-6
    assert second["execution_seconds"] >= 0.9 * _IOS * 50e-6
    assert openpts("report", "run", *FIGURES, cwd=tmp_path).exit_code == 0
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0
    wrong = openpts("run", "replay", "first.iolog", "file:./x", "--also", "second.iolog?size=1", cwd=tmp_path)
    assert wrong.exit_code == 2
    assert wrong.complaint == golden


@pytest.mark.slow
@pytest.mark.needs("io_uring")
def test_a_freeze_delays_what_was_due_in_it_and_nothing_after_it(tmp_path: Path) -> None:
    gap_us, ios, stop_s = 500, 7_000, 2.0
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    lines += [f"{number * gap_us} /dev/x read {number % 1024 * _BLOCK} {_BLOCK}" for number in range(ios)]
    (tmp_path / "trace.iolog").write_text("\n".join([*lines, f"{ios * gap_us} /dev/x close", ""]))
    words = ("--passes", "1", "--telemetry-period", "off", "--io-path", "io_uring", "--out", "run", "--json")
    target = f"file:./x?size={_CAPACITY // MIB}MiB"
    with start_openpts("run", "replay", "trace.iolog", target, *words, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert any("conditioning 1 done" in line for line in iter(process.stderr.readline, ""))
        time.sleep(0.6)
        process.send_signal(signal.SIGSTOP)
        time.sleep(stop_s)
        process.send_signal(signal.SIGCONT)
        stdout, complaints = process.communicate(timeout=60)
    assert process.returncode in {0, 4}, complaints
    (one,) = json.loads(stdout)["passes"]
    assert (one["issued"], one["early"], one["reordered"]) == (ios, 0, 0)
    # Each I/O that was due in the freeze is late, by what is left of it; it is put down to the host.
    assert sum(one["late_by_cause"].values()) >= 0.95 * stop_s * 1e6 / gap_us
    assert one["late_by_cause"]["host"] > 0.9 * stop_s * 1e6 / gap_us
    slips = read_run(tmp_path / "run").phase(Phase.LOAD)[0].sample.played[0].slips
    most_ns = LatencyDistribution.merged([slips]).buckets()[-1][1]
    assert stop_s * 1e9 * 0.9 < most_ns < stop_s * 1e9 * 1.5
    # The end is where it was: nothing adds up, however busy this machine is.
    assert one["execution_seconds"] < (ios - 1) * gap_us / 1e6 + 0.5 * stop_s
    assert one["drift_us"] < 0.5e6 * stop_s
    found = read_run(tmp_path / "run")
    assert found.phase(Phase.LOAD)[0].sample.standstills
    assert any("openpts itself did not run" in entry.used for entry in found.ledger)


def test_a_path_that_keeps_no_order_is_refused(tmp_path: Path, golden: Golden) -> None:
    write_trace(tmp_path / "trace.iolog")
    words = ("--passes", "1", "--prefill", "none", "--io-path", "sync", "--out", "run")
    ended = openpts("run", "replay", "trace.iolog", "file:./x?size=64MiB", *words, cwd=tmp_path)
    assert ended.exit_code == 2
    assert ended.complaint == golden
