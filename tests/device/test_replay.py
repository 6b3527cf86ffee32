"""A trace replayed on real targets: what the block layer saw is what the trace has, element by element."""

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.engine.fio.process import find_fio
from openpts.errors import EngineUnavailableError
from openpts.units import MIB
from tests.device.openpts_process import openpts
from tests.support.block_trace import BlockEvent, BlockTrace, of_event

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
    words = ("--passes", "1", "--purge", "none", "--telemetry-period", "off")
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


def test_a_trace_is_replayed_on_a_file_and_verified(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.iolog", gap_us=100)
    words = ("--passes", "2", "--speed", "2", "--out", "run", "--json")
    target = f"file:./x?size={_CAPACITY // MIB}MiB"
    ended = openpts("run", "replay", "trace.iolog", target, *words, "--io-path", "io_uring", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    assert [one["issued"] for one in ended.json["passes"]] == [_IOS] * 2
    # Half of 3,000 gaps of 100 us each, and never less than that.
    assert ended.json["passes"][0]["execution_seconds"] > 0.14
    assert openpts("verify", "run", cwd=tmp_path).exit_code == 0


def test_a_path_that_keeps_no_order_is_refused(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.iolog")
    words = ("--passes", "1", "--prefill", "none", "--io-path", "sync", "--out", "run")
    ended = openpts("run", "replay", "trace.iolog", "file:./x?size=64MiB", *words, cwd=tmp_path)
    assert ended.exit_code == 2
    assert "io_uring" in ended.complaint
