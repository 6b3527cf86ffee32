"""What `pytest --sample` takes: nothing slow, of a matrix each value; and in which order workers get it."""

from itertools import product
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from conftest import mixed, sample_of
from tests.support.processes import die, in_process
from tests.support.seconds import Seconds

ROWS, COLUMNS = ("a", "b", "c", "d"), range(6)


def case(test: str, *marks: pytest.Mark, **params: object) -> SimpleNamespace:
    name = f"{test}[{'-'.join(map(str, params.values()))}]"
    found = {mark.name: mark for mark in marks}
    callspec = SimpleNamespace(params=params)
    return SimpleNamespace(
        nodeid=f"tests/x.py::{name}", name=name, callspec=callspec, get_closest_marker=found.get
    )


def matrix(test: str, mark: pytest.MarkDecorator) -> list[SimpleNamespace]:
    return [case(test, mark.mark, row=row, column=column) for row, column in product(ROWS, COLUMNS)]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_each_value_of_a_full_matrix_occurs_so_many_times(times) -> None:
    items = matrix("test_one", pytest.mark.full_matrix(times=times))
    taken = [item.callspec.params for item in items if item.nodeid in sample_of(items)]
    for name, values in (("row", ROWS), ("column", COLUMNS)):
        assert all(sum(params[name] == value for params in taken) >= times for value in values)
    assert len(taken) < len(items)


def test_of_costly_cases_so_many_are_enough() -> None:
    items = matrix("test_one", pytest.mark.full_matrix(most=3))
    assert len(sample_of(items)) == 3 < len(sample_of(matrix("test_one", pytest.mark.full_matrix())))


def test_tests_of_one_matrix_take_the_same_cases_in_whatever_order_they_come() -> None:
    items = [case for name in ("test_one", "test_other") for case in matrix(name, pytest.mark.full_matrix())]
    chosen = sample_of(items)
    assert chosen == sample_of(items[::-1])
    one, other = ({c.partition("[")[2] for c in chosen if name in c} for name in ("test_one", "test_other"))
    assert one == other


def test_slow_ones_are_left_out_and_all_others_taken() -> None:
    items = [case("test_slow", pytest.mark.slow.mark), case("test_fast"), case("test_cases", n=1)]
    assert sample_of(items) == {"tests/x.py::test_fast[]", "tests/x.py::test_cases[1]"}


def of_file(file: str, number: int) -> list[SimpleNamespace]:
    return [SimpleNamespace(nodeid=f"{file}::test_{at}") for at in range(number)]


def test_files_of_all_folders_are_spread_over_the_whole_and_those_of_a_cluster_stay_together() -> None:
    fleet = "packages/openpts_batch/tests/fleet"
    sizes = {"device/a.py": 1, "device/b.py": 1, f"{fleet}/c.py": 1, f"{fleet}/d.py": 1, "simulated/e.py": 2}
    units = {"unit/f.py": 10, "unit/g.py": 30, "unit/i.py": 40}
    items = [item for file, number in (sizes | units).items() for item in of_file(file, number)]
    ordered = mixed(items)
    assert sorted(map(id, ordered)) == sorted(map(id, items))
    files = [item.nodeid.partition("::")[0] for item in ordered]
    at = {file: files.index(file) for file in sizes | units}
    assert all(
        files[at[file] : at[file] + number] == [file] * number for file, number in (sizes | units).items()
    )
    assert at[f"{fleet}/d.py"] == at[f"{fleet}/c.py"] + 1
    assert at["unit/g.py"] < at["device/b.py"] == at["unit/i.py"] - 1


def test_a_run_ends_with_the_seconds_of_packages_and_what_took_long_without_a_reason() -> None:
    def report(nodeid: str, duration: float, *marks: str, when: str = "call") -> pytest.TestReport:
        return pytest.TestReport(
            nodeid, (nodeid, 1, ""), dict.fromkeys(marks, 1), "passed", None, when, duration=duration
        )

    seconds, said = Seconds(), Mock()
    for each in (
        report("packages/openpts_io/tests/unit/test_a.py::test_one", 4.0),
        report("packages/openpts_io/tests/unit/test_a.py::test_two", 6.0),
        report("packages/openpts_io/tests/unit/test_a.py::test_two", 1.5, when="setup"),
        report("tests/repository/test_b.py::test_three", 60.0, "long"),
    ):
        seconds.pytest_runtest_logreport(each)
    seconds.pytest_terminal_summary(said)
    lines = [" ".join(call.args[0].split()) for call in said.write_line.call_args_list]
    assert lines == [
        "60.0 s 1 tests tests/repository",
        "11.5 s 2 tests openpts_io",
        "71.5 s 3 tests all",
        "6.0 s packages/openpts_io/tests/unit/test_a.py::test_two",
    ]


def test_a_process_of_a_test_that_dies_is_named_by_its_exit_code() -> None:
    assert in_process(lambda: 6 * 7) == 42
    with pytest.raises(ChildProcessError, match="ended with -9 "):
        in_process(die)
