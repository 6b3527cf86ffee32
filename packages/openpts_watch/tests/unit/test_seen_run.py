"""What is known of a run from its lines, in exact figures and in words."""

import os
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts.ownership import CLAIM_NAME, RunOwner, folder_claimed
from openpts.record.manifest import RunState
from openpts.record.writer import DATABASE_NAME, EVENTS_NAME
from openpts.runner import event_lines as lines
from openpts.system_files import SystemRoots
from openpts_watch.attach import attach
from openpts_watch.run_texts import block
from openpts_watch.runs_here import EventsFile, SeenRun, runs_here
from openpts_watch.tests.unit.seen import AT, HOSTILE, S, in_round_seven, phase, second, started, step, write
from tests.support.report_cases import CASES
from tests.support.synthetic_run import write_synthetic_run


def seen_of(folder: Path, *, ends_only: bool = False) -> SeenRun:
    seen, file = SeenRun(), EventsFile(folder, ends_only=ends_only)
    while seen.take(file.new_lines()):
        pass
    return seen


def test_a_run_in_words(tmp_path, snapshot) -> None:
    write(tmp_path, in_round_seven())
    seen = seen_of(tmp_path)
    assert "\n".join(block(seen, RunState.RUNNING)) == snapshot
    assert seen.left_ns == 5000 * S
    assert seen.done_share == pytest.approx(0.5)
    assert seen.elapsed_ns == (1 + 12) * 100 * S + S
    assert list(seen.tracked["RND 4 KiB RW0"].values.items()) == [(n, 1000.0 + 10 * n) for n in range(1, 7)]


def test_both_attempts_of_a_run_that_was_killed_and_resumed(tmp_path) -> None:
    """The torn line is cut off by the second attempt; a step that is repeated counts once."""
    write(tmp_path, in_round_seven())
    seen, file = SeenRun(), EventsFile(tmp_path)
    seen.take(file.new_lines())
    path = tmp_path / EVENTS_NAME
    whole = path.stat().st_size
    with path.open("ab") as appended:
        appended.write(b'{"kind":"step_fin')
    assert seen.take(file.new_lines()) == 0
    os.truncate(path, whole)
    before = seen.elapsed_ns
    second_attempt: list[lines.EventLine] = [
        lines.ProgramStarted(at=AT, program_version="1", command_line=("resume", "r")),
        started("round 6 of cycle 1"),
        phase(6),
        step(6),
        lines.RunEnded(at=AT, state="complete", reason=None),
    ]
    write(tmp_path, iter(second_attempt))
    seen.take(file.new_lines())
    assert (seen.attempts, seen.done_share, seen.left_ns) == (2, 1.0, 0)
    assert seen.elapsed_ns == before - S  # no step runs any more
    assert "resumes at round 6 of cycle 1" in "\n".join(seen.log)


def test_kinds_of_later_versions_and_damaged_lines_are_passed_over(tmp_path) -> None:
    (tmp_path / EVENTS_NAME).write_bytes(b'{"kind":"later","at":"now"}\n\xff\n[1]\n')
    write(tmp_path, in_round_seven())
    assert seen_of(tmp_path).run is not None


def test_points_of_any_run_fit_into_memory_and_keep_their_mean() -> None:
    seen = SeenRun()
    seen.take(chain([started(), phase(1)], (second(1, float(at)) for at in range(8192))))
    assert 1024 <= len(seen.points) <= 2048
    assert sum(one.iops for one in seen.points) / len(seen.points) == pytest.approx(8191 / 2, rel=1e-3)


def test_of_a_long_file_both_ends_are_read_for_a_list(tmp_path) -> None:
    write(tmp_path, in_round_seven())
    write(tmp_path, (second(7, left_s=left_s) for left_s in range(9000, 0, -1)))
    assert (tmp_path / EVENTS_NAME).stat().st_size > 2 << 20
    seen = seen_of(tmp_path, ends_only=True)
    assert (seen.left_ns, seen.run) == (S, started())
    assert seen.done_share == pytest.approx(1 - 1 / 10_000)


def test_a_list_has_each_run_once_with_its_state(tmp_path) -> None:
    complete = (lines.RunEnded(at=AT, state="complete", reason=None),)
    for name, end in (("a", ()), ("b/1", complete), ("c", ())):
        (tmp_path / name).mkdir(parents=True)
        write(tmp_path / name, chain(in_round_seven(), end))
    write_synthetic_run(tmp_path / "imported", CASES["steady"])
    roots = SystemRoots()
    owner = RunOwner.this_process("id", "/dev/nvme0n1", (), roots)
    with folder_claimed(tmp_path / "c", owner):
        listed = [run for run in runs_here(tmp_path, roots) if Path(run.folder).is_relative_to(tmp_path)]
    found = {Path(run.folder).relative_to(tmp_path).as_posix(): run for run in listed}
    states = {name: run.state for name, run in found.items()}
    assert states == {
        "a": RunState.INTERRUPTED,
        "b/1": RunState.COMPLETE,
        "c": RunState.RUNNING,
        "imported": RunState.COMPLETE,
    }
    assert found["c"].serial == HOSTILE
    assert not (tmp_path / "a" / CLAIM_NAME).exists()


@pytest.mark.parametrize("name", [EVENTS_NAME, CLAIM_NAME, DATABASE_NAME])
@pytest.mark.parametrize("kind", ["pipe", "link", "no UTF-8", "nested", "holes", "folder"])
def test_whatever_is_in_one_folder_the_others_are_listed(kind, name, tmp_path) -> None:
    for one in ("a", "b", "c"):
        (tmp_path / one).mkdir()
        write(tmp_path / one, in_round_seven())
    place = tmp_path / "b" / name
    place.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to(place)
        case "folder":
            place.mkdir()
        case "holes":
            place.touch()
            os.truncate(place, 20 << 30)
        case _:
            text = b'{"run_id":"\xff"}' if kind == "no UTF-8" else b"[" * 2**15
            place.write_bytes(b'{"kind":"note","at":"\xff","text":"\xff"}\n' + text + b"\n")
    found = {Path(run.folder).name: run.state for run in runs_here(tmp_path, SystemRoots())}
    assert found.keys() >= {"a", "c"}
    assert found["a"] == found["c"] == RunState.INTERRUPTED


def test_a_name_that_is_no_utf_8_is_listed(tmp_path, monkeypatch) -> None:
    folder = tmp_path / os.fsdecode(b"run-\xff")
    folder.mkdir()
    write(folder, in_round_seven())
    monkeypatch.chdir(tmp_path)
    for words in ([], ["--json"]):
        result = CliRunner().invoke(attach, [str(tmp_path), *words], standalone_mode=False)
        assert result.exception is None
        assert "run-" in result.output


def test_a_second_of_a_step_that_has_ended_counts_once() -> None:
    seen = SeenRun()
    seen.take([started(), phase(1), second(1)])
    assert seen.elapsed_ns == S
    seen.take([step(1)])
    assert seen.elapsed_ns == 100 * S
