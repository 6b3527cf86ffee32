"""Programs of others that no test machine need have: one that says the same to all, and a missing one."""

from collections.abc import Sequence

from openpts import programs
from openpts.programs import ProgramMissingError, ProgramRunner, Reply


def says(stdout: str, status: int = 0) -> ProgramRunner:
    """Every program prints this and ends with that status."""

    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        assert timeout_s > 0
        return Reply(tuple(command), status, stdout, "", 0)

    return run


def no_programs(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
    """A machine without any of them."""
    package = programs.PACKAGES[command[0]].debian if command[0] in programs.PACKAGES else command[0]
    raise ProgramMissingError(f"the program {command[0]} is missing: install the package {package}")
