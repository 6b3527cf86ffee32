"""The tool that seeds faults makes programs that Python takes, and of each place another one."""

import ast

import pytest

from tests.mutations.seeded_faults import PACKAGES, candidates


@pytest.mark.parametrize("name", ["analysis/steady_state.py", "engine/program_queue.py", "units.py"])
def test_each_fault_is_another_program(name: str) -> None:
    path = PACKAGES / "openpts" / name
    lines = path.read_text().splitlines()
    faults = list(candidates("room", path))
    assert len(faults) >= 20
    whole = ast.dump(ast.parse(path.read_text()))
    for fault in faults[:60]:
        line = lines[fault.line - 1]
        changed = line[: fault.column] + fault.new + line[fault.column + len(fault.old) :]
        assert (line.strip(), changed.strip()) == (fault.before, fault.after)
        text = "\n".join([*lines[: fault.line - 1], changed, *lines[fault.line :]])
        assert ast.dump(ast.parse(text)) != whole, fault
