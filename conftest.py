import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from openpts import journal
from tests.support.core_alone import BESIDE_OTHERS, is_beside_others, leave_the_core_alone
from tests.support.forks import Forks
from tests.support.machine import lacking
from tests.support.openpts_process import Starts
from tests.support.transcript import Golden

# How fast examples come is a fact of the machine and of what else it does, and fails no test.
settings.register_profile("at any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A sample says the same of the same code: new examples are for all the tests.
settings.register_profile("sample", settings.get_profile("at any speed"), derandomize=True, max_examples=20)
settings.load_profile("at any speed")

pytest_plugins = [
    "tests.support.in_memory",
    "tests.support.loop_devices",
    "tests.support.report_fixtures",
    "tests.support.seconds",
    "tests.data.system_trees",
]

# Folders and files that share what takes long to make, and their places: of four workers each takes one.
_TOGETHER = {
    "packages/openpts_batch/tests/fleet": 0.0,  # a cluster
    "packages/openpts_web/tests/simulated": 0.25,  # a library of runs
    "packages/openpts_pages/tests/unit/browser": 0.5,  # a page of figures
    **dict.fromkeys(  # the syntax trees of all modules
        (
            f"tests/repository/test_{name}.py"
            for name in (
                "architecture",
                "budget",
                "docstrings",
                "english",
                "reachable",
                "single_door",
                "visible_output",
            )
        ),
        0.75,
    ),
}
_OF_THE_SHELL = (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pytest_addoption(parser: pytest.Parser) -> None:
    sample = "leave out what is slow, and of each full matrix all but some cases in which each value occurs"
    parser.addoption("--sample", action="store_true", help=sample)
    alone = "the core with no package beside it but that of pages, and the example of a plug-in"
    parser.addoption("--alone", action="store_true", help=alone)


def pytest_configure(config: pytest.Config) -> None:
    # Tests start openpts hundreds of times: compiled once, each start takes two thirds of the time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput"):
        # Workers share a cache: what one of them has drawn no other draws.
        cache = TemporaryDirectory(prefix="openpts-tests-", ignore_cleanup_errors=True)
        os.environ["CACHE_OF_TESTS"] = cache.name
        config.add_cleanup(cache.cleanup)
    if config.getoption("--alone"):
        config.add_cleanup(partial(rmtree, leave_the_core_alone()))
    if config.getoption("--sample"):
        settings.load_profile("sample")
        # Words of slow tests are in use, too: only all tests can say which are not.
        config.option.disable_unused_snapshots = True


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--alone"):
        return None
    return f"the core alone: {len(BESIDE_OTHERS)} files of its tests need another package, and are left out"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (config.getoption("--alone") and is_beside_others(collection_path)) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Tests stay: looking for garbage among them takes half of the time in which they are collected."""
    gc.disable()
    try:
        _compile_own_share(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # runs and reports are made of many small objects that hold no cycles
        gc.set_threshold(20_000, 20, 20)


def _compile_own_share(config: pytest.Config) -> None:
    """Each worker collects all files, in the same order: on a fresh clone each would compile them all, with
    their assertions rewritten. So it begins with files with which no other begins, and finds the rest done.
    """
    worker: dict[str, str | int] = getattr(config, "workerinput", {})
    if not worker:
        return
    own, workers = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    ignored = tuple(str(Path(path).absolute()) for path in config.getoption("ignore") or ())
    named = [Path(argument.partition("::")[0]).absolute() for argument in config.args]
    files = sorted(file for path in named for file in path.rglob("test_*.py"))
    for file in [file for file in files if not str(file).startswith(ignored)][own::workers]:
        # what is wrong or skipped is said when it is collected
        with suppress(Exception, pytest.skip.Exception):
            import_module(_module(file.relative_to(config.rootpath)))


def _module(file: Path) -> str:
    """The name by which pytest imports a file: packages from their folder, tests from the root."""
    parts = file.with_suffix("").parts
    return ".".join(parts[parts[0] == "packages" :])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for why in filter(None, map(lacking, marker.args)):
            pytest.skip(why)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--sample"):
        chosen = sample_of(items)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
    if hasattr(config, "workerinput"):
        items[:] = mixed(items)


def mixed(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The files of each folder spread over the whole, in their order.

    Tests on devices wait most of their time, for disks, clocks, and for each other; others compute. Workers
    get a part each of what is in a row: in this order each has some of both at any time.
    """
    before, places = Counter[str](), dict[str, float]()
    of_folder = Counter(_folder(item) for item in items)
    for item in items:
        file, folder = _file(item), _folder(item)
        share = before[folder] / of_folder[folder]
        places.setdefault(file, _TOGETHER.get(folder, _TOGETHER.get(file, share)))
        before[folder] += 1
    return sorted(items, key=lambda item: places[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _folder(item: pytest.Item) -> str:
    return _file(item).rpartition("/")[0]


def sample_of(items: Sequence[pytest.Item]) -> set[str]:
    """The ids of those that a sample takes, the same in every process.

    The cases of a matrix come in an order that only their names decide, so that tests of one matrix take the
    same cases and share what is made for them.
    """
    fast = [item for item in items if not item.get_closest_marker("slow")]
    matrices = [(item, matrix) for item in fast if (matrix := item.get_closest_marker("full_matrix"))]
    chosen = {item.nodeid for item in fast} - {item.nodeid for item, _ in matrices}
    matrices.sort(key=lambda case: crc32(case[0].name.partition("[")[2].encode()))
    taken, cases = Counter[tuple[str, str, str]](), Counter[str]()
    # First cases all of whose values are missing yet, then those that have one: fewer are enough so.
    for lacks in (all, any):
        for item, matrix in matrices:
            test, times = item.nodeid.partition("[")[0], matrix.kwargs.get("times", 1)
            if item.nodeid in chosen or cases[test] == matrix.kwargs.get("most"):
                continue
            values = [(test, name, repr(value)) for name, value in item.callspec.params.items()]
            if lacks(taken[value] < times for value in values):
                taken.update(values)
                cases[test] += 1
                chosen.add(item.nodeid)
    return chosen


@pytest.fixture(autouse=True, scope="session")
def _own_cache_and_state() -> Iterator[None]:
    """What openpts keeps between runs stays out of the home and the journal of the user who tests.

    It is set once modules are loaded: what Go has compiled in that home is looked for before
    (tests/second_verifier/faults.py).
    """
    with (
        TemporaryDirectory(prefix="openpts-tests-", ignore_cleanup_errors=True) as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_CACHE_HOME", os.environ["CACHE_OF_TESTS"])
        patch.setenv("OPENPTS_STATE", place)
        yield


@pytest.fixture(autouse=True, scope="session")
def _parts_of_reports_are_made_anew() -> Iterator[None]:
    """In this process, in which tests replace what makes them; the commands that they start keep them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("openpts.report.write.part_digest", lambda *_: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _one_environment() -> Iterator[None]:
    """Whichever shell the tests are started from: its terminal, language, umask, and path, which may lack the
    programs of administrators. Its width would cut tables; readline sets one where there is no terminal.
    """
    before = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OF_THE_SHELL:
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("LANG", "C.UTF-8")
        patch.setenv("PATH", f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        yield
    os.umask(before)


@pytest.fixture(autouse=True, scope="session")
def _starts_of_a_sample_are_forks(pytestconfig: pytest.Config) -> Iterator[None]:
    if not pytestconfig.getoption("--sample"):
        yield
        return
    Starts.forks = Forks()
    yield
    Starts.forks.close()


@pytest.fixture(autouse=True, scope="session")
def _ended_as_from_a_terminal() -> Iterator[None]:
    """However the tests were started: a shell's ``&`` and ``nohup`` leave signals ignored, and so would each
    program that a test starts.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def golden(snapshot: Golden, tmp_path: Path) -> Golden:
    """Words as they were last read, without the folders and the process of this run of the tests."""
    here = {
        str(tmp_path): "TMP",
        os.environ["OPENPTS_STATE"]: "STATE",
        f"process {os.getpid()}": "process PID",
    }

    def everywhere(data: object, path: object) -> object:
        if isinstance(data, str):
            for found, name in here.items():
                data = data.replace(found, name)
        return data

    return snapshot.with_defaults(matcher=everywhere)


@pytest.fixture(autouse=True)
def _no_entry_of_the_journal_is_held_beyond_its_test() -> Iterator[None]:
    """Its lock would hold for as long as the tests run."""
    before = set(journal._LOCKS)
    yield
    for entry_id in journal._LOCKS.keys() - before:
        os.close(journal._LOCKS.pop(entry_id))


@pytest.fixture(autouse=True)
def _no_test_changes_what_ends_the_next_one() -> Iterator[None]:
    """What is done here on Ctrl-C is inherited by every program that a later test starts."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    yield
    changed = [number.name for number in _ENDING if signal.getsignal(number) != before[number]]
    for number, handler in before.items():
        signal.signal(number, handler)
    assert not changed, f"this test leaves another answer to {' and '.join(changed)} behind"
