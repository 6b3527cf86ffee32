"""What surrounds a run joins it by the door, plug-ins of others as those of openpts."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts import hooks, plugins
from openpts.errors import PluginError, UsageError
from openpts.hooks import MOMENTS, Concern, RunContext
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.runner.events import Event, RunStarted
from openpts.runner.run import run_test
from tests.support.killed_run import small
from tests.support.manual import ROOT, section
from tests.support.plugin_folders import installed

CONCERN = '''
from contextlib import contextmanager
from pathlib import Path
from openpts.errors import UsageError
from openpts.hooks import Concern
from openpts.vocabulary.verdict import Deviation
from openpts.vocabulary.facts import Fact

class Chamber(Concern):
    """Notes the moments, and takes part in the manifest, the log, the ledger and the start of the run."""

    def __init__(self):
        self.seen = []

    @contextmanager
    def _around(self, name, yielded=None):
        self.seen.append(name)
        yield yielded
        self.seen.append(f"end of {name}")
        Path(__file__).with_suffix(".log").write_text("\\n".join(self.seen))

    def check(self, order):
        self.seen.append("check")
        if order.seed == 13:
            raise UsageError("the chamber does not take the seed 13")

    def around_run(self, run):
        return self._around("around_run")

    def facts(self, run):
        self.seen.append("facts")
        return {"host": {"chamber": Fact("C1", "its label")}}

    def around_engine(self, run):
        return self._around("around_engine", {"host": {"chamber_c": Fact("40", "its sensor")}})

    def gauges(self, run):
        self.seen.append("gauges")
        return ()

    def around_record(self, run):
        return self._around("around_record")

    def preparations(self, run):
        self.seen.append("preparations")
        return ("warmed up",)

    def announcements(self, run):
        self.seen.append("announcements")
        return ("the chamber is warm",)

    def around_steps(self, run):
        return self._around("around_steps", True)

    def surroundings(self, run):
        self.seen.append("surroundings")
        return {"chamber": Fact("closed", "its switch")}

    def log_values(self, run):
        return {"chamber_c": 40.0}

    def follows(self, run, steps, points, now_ns, ended):
        if ended:
            self.seen.append("follows")
        return ()

    def on_event(self, event):
        name = type(event).__name__
        if name in {"RunStarted", "PurgeStarted"}:
            self.seen.append(name)

    def findings(self, run):
        self.seen.append("findings")
        used = f"{len(run.record.steps) > 0} at 40 C"
        return (Deviation("PTS-GEN-01", "1.1", "a cool drive", used, "none"),)
'''


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder of ``sys.path`` in which plug-ins can be installed, beside those of openpts."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_LOADED", {})
    plugins.packages.cache_clear()
    yield tmp_path
    plugins.packages.cache_clear()
    sys.modules.pop("chamber", None)


def test_one_of_others_takes_part_at_each_moment(place, snapshot) -> None:
    installed(place, "chamber", CONCERN, {"concern.chamber": "chamber:Chamber"})
    announced: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, RunStarted):
            announced.extend((*event.preparations, *event.host_limits))

    folder = run_test(PROCEDURES["tp"], small(place), [listen]).folder
    assert (place / "chamber.log").read_text().splitlines() == snapshot
    run = read_run(folder)
    assert run.manifest.state is RunState.COMPLETE
    assert run.manifest.host["chamber"].value == "C1"
    assert run.manifest.host["chamber_c"].value == "40"
    assert run.manifest.host_before["chamber"] == run.manifest.host_after["chamber"]
    assert announced == ["warmed up", "the chamber is warm"]
    assert {one.reading.values["chamber_c"] for one in run.health} == {40.0}
    assert "True at 40 C" in [entry.used for entry in run.ledger]
    assert "plugin_chamber" in run.manifest.software


def test_one_may_refuse_a_run_before_anything_is_changed(place) -> None:
    installed(place, "chamber", CONCERN, {"concern.chamber": "chamber:Chamber"})
    with pytest.raises(UsageError, match="does not take the seed 13"):
        run_test(PROCEDURES["tp"], replace(small(place), seed=13), [])
    assert not (place / "run").exists()


@pytest.mark.parametrize(
    "source",
    [
        "1 / 0",
        "class Chamber: pass",
        "def Chamber(): pass",
        "import openpts.hooks\nclass Chamber(openpts.hooks.Concern):\n    def check(self, order): 1 / 0\n",
    ],
)
def test_a_broken_one_ends_the_run_with_its_name(place, source, snapshot) -> None:
    installed(place, "chamber", source, {"concern.chamber": "chamber:Chamber"})
    with pytest.raises(PluginError) as refusal:
        run_test(PROCEDURES["tp"], small(place), [])
    assert str(refusal.value) == snapshot
    # what openpts itself has changed is put back all the same
    assert hooks.healer_of("write cache").still_needed is not None


def test_the_manual_names_each_moment_in_its_order() -> None:
    text = section(ROOT / "packages/openpts/docs/plugins.md", "Concerns")
    assert re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE) == list(MOMENTS)


def test_a_concern_without_moments_does_nothing(place) -> None:
    context = RunContext(small(place), device=None)  # type: ignore[arg-type]
    for name in ("around_run", "around_record", "around_steps"):
        with getattr(Concern(), name)(context) as yielded:
            assert yielded is None
    with Concern().around_engine(context) as fields:
        assert fields == {}
    for name in (
        "facts",
        "gauges",
        "preparations",
        "announcements",
        "surroundings",
        "log_values",
        "findings",
    ):
        assert not getattr(Concern(), name)(context)
    assert Concern().health_of(None) is None  # type: ignore[arg-type]
    assert not Concern().follows(context, (), (), 0, True)
    assert all(inspect.getdoc(moment) for moment in MOMENTS.values())
