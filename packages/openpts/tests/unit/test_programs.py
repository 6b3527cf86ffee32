"""Programs of others: what they answer, their limits, and what an interrupt does to them."""

import subprocess
import time
from pathlib import Path

import pytest

from openpts import programs
from openpts.programs import ProgramError, ProgramMissingError, run_program


def test_an_answer_holds_all_that_was_said() -> None:
    answer = run_program(["sh", "-c", "echo out; echo 'bad  sense\n data' >&2; exit 3"], 10)
    assert (answer.returncode, answer.stdout) == (3, "out\n")
    assert answer.complaint == "bad sense data"
    assert answer.command[0] == "sh"
    assert answer.duration_ns > 0


def test_output_speaks_when_the_error_channel_is_silent_and_a_silent_failure_is_told() -> None:
    assert run_program(["sh", "-c", "echo refused; exit 1"], 10).complaint == "refused"
    assert run_program(["sh", "-c", "exit 9"], 10).complaint == "exit status 9 and no word"


def test_control_characters_of_a_drive_reach_no_terminal() -> None:
    answer = run_program(["printf", "\\033[31mred"], 10)
    assert answer.complaint == "\N{REPLACEMENT CHARACTER}[31mred"


def test_a_missing_program_names_its_package(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SYSTEM_PROGRAM_FOLDERS", str(tmp_path))
    with pytest.raises(ProgramMissingError, match="nvme is missing: install the package nvme-cli"):
        run_program(["nvme", "list"], 10)


def test_a_program_that_hangs_is_killed_with_all_that_it_started() -> None:
    started = time.monotonic()
    with pytest.raises(ProgramError, match=r"sh did not end within 0\.3 s and was killed"):
        run_program(["sh", "-c", "sleep 60 & sleep 60"], 0.3)
    assert time.monotonic() - started < 30


# The program itself interrupts who waits for it: whatever the machine is busy with, it is not too early.
INTERRUPT = "sleep 0.3; kill -INT $PPID"


def test_an_interrupt_ends_what_may_be_ended(tmp_path) -> None:
    own_number = tmp_path / "pid"
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", f"echo $$ > {own_number}; {INTERRUPT}; sleep 60"], 50)
    assert not Path(f"/proc/{int(own_number.read_text())}").exists()


def test_an_interrupt_waits_for_what_must_come_to_its_end(tmp_path) -> None:
    done = tmp_path / "done"
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", f"{INTERRUPT}; sleep 0.3; touch {done}"], 30, to_the_end=True)
    assert done.exists()


def test_an_interrupt_is_not_forgotten_where_the_program_never_ends() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", f"{INTERRUPT}; sleep 60"], 2.0, to_the_end=True)


def test_an_error_that_comes_again_and_again_is_raised_and_the_program_left_to_its_end(
    monkeypatch, tmp_path
) -> None:
    done = tmp_path / "done"
    asked: list[subprocess.Popen[str]] = []

    def fail(process: "subprocess.Popen[str]", timeout: float) -> tuple[str, str]:
        assert timeout > 0
        asked.append(process)
        raise MemoryError if len(asked) < 5 else AssertionError("it would spin for ever")

    with monkeypatch.context() as patched:
        patched.setattr(subprocess.Popen, "communicate", fail)
        with pytest.raises(MemoryError):
            run_program(["sh", "-c", f"sleep 0.3; touch {done}"], 30, to_the_end=True)
    (process,) = asked
    process.communicate(timeout=20)
    assert done.exists()
