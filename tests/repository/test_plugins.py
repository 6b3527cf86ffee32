"""The door to plug-ins, with made-up ones in a folder of ``sys.path``."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from openpts import plugins
from openpts.cli.commands_on_demand import FirstPages
from openpts.cli.main import cli
from openpts.concerns.plugin_gauges import PluginGauges
from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import Capability, PurgeMethod, capabilities, choose, method_named
from openpts.device.purge.purge import Discard
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import parse_target, scheme_of
from openpts.errors import PluginError, UsageError
from openpts.gauge import Gauge
from openpts.hooks import RunContext
from openpts.plugins import Kind, audit, load, offers, plugin_facts
from openpts.procedures.registry import PROCEDURES
from openpts.report.build import build_report
from openpts.runner.device_under_test import device_under_test
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.purge import Consent, PurgeChoice
from openpts_contents import LISTING
from openpts_sim import simulated_device
from tests.data.system_trees import server
from tests.support.made_up_run import made_up_run
from tests.support.plugin_folders import DOOR, installed, with_metadata

__all__ = ["server"]

NONE_TAKEN = dict.fromkeys(Kind, ())
COMMAND = "import click\n\n@click.command('hello')\ndef hello():\n    click.echo('from afar')\n"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty folder, the only one with metadata."""
    known = set(sys.modules)
    monkeypatch.setattr(
        sys, "path", [str(tmp_path), *(path for path in sys.path if "site-packages" not in path)]
    )
    monkeypatch.setattr(plugins, "_LOADED", {})
    plugins.packages.cache_clear()
    yield tmp_path
    plugins.packages.cache_clear()
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


OWN = next(package for package in plugins.packages() if package.is_own).entries


@pytest.fixture
def beside_openpts(place: Path) -> Path:
    """The folder, with the metadata of openpts as they are installed."""
    with_metadata(place, "openpts", OWN, "1.0")
    plugins.packages.cache_clear()
    return place


def failures() -> dict[str, str]:
    return {offer.name: failure for offer, failure in audit(NONE_TAKEN)}


def test_names_are_known_without_an_import(place) -> None:
    installed(
        place, "acme_far", "raise SystemExit(3)", {"exporter.tsv": "acme_far:files", "gauge.x": "acme_far:g"}
    )
    assert [str(package) for package in plugins.packages()] == ["acme-far 1.0"]
    assert list(offers(Kind.EXPORTER)) == ["tsv"]
    assert list(offers(Kind.GAUGE)) == ["x"]
    assert "acme_far" not in sys.modules


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def other(): ...", "AttributeError: module 'broken' has no attribute 'files'"),
        ("files = 3", "broken:files is of the type int"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_one_that_is_broken_is_named_and_takes_nothing_down(place, source, why) -> None:
    installed(place, "broken", source, {"exporter.bad": "broken:files"})
    installed(place, "sound", "def files(run): return {}", {"exporter.good": "sound:files"})
    assert failures() == {
        "bad": f"can't load the exporter 'bad' of the plug-in broken 1.0: {why}; "
        "repair it, or pip uninstall broken",
        "good": "",
    }


def test_one_that_hangs_is_ended_though_it_catches_exceptions(place, monkeypatch) -> None:
    monkeypatch.setattr(plugins, "LONGEST_IMPORT_S", 0.2)
    source = (
        "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except Exception:\n        pass\n"
    )
    installed(place, "hanging", source, {"exporter.slow": "hanging:files"})
    with pytest.raises(PluginError, match=r"its import took longer than 0\.2 s"):
        load(offers(Kind.EXPORTER)["slow"])


def test_openpts_own_may_take_as_long_as_a_busy_host_needs(place, monkeypatch) -> None:
    monkeypatch.setattr(plugins, "LONGEST_IMPORT_S", 0.2)
    (place / "unhurried.py").write_text("import time\ntime.sleep(0.5)\ndef files(run): return {}\n")
    with_metadata(place, "openpts", {"door": DOOR, "exporter.good": "unhurried:files"}, "1.0")
    assert load(offers(Kind.EXPORTER)["good"])(None) == {}


def test_another_thread_than_the_main_one_loads_too(place) -> None:
    installed(place, "sound", "def files(run): return {}", {"exporter.good": "sound:files"})
    found: list[object] = []
    thread = Thread(target=lambda: found.append(load(offers(Kind.EXPORTER)["good"])))
    thread.start()
    thread.join()
    assert callable(found[0])


@pytest.mark.parametrize("door", [None, "openpts.plugins:DOOR_1"])
def test_one_for_another_door_is_refused_unseen(place, door, golden) -> None:
    installed(place, "later", "1 / 0", {"exporter.tsv": "later:files"}, door=door)
    assert failures()["tsv"] == golden
    assert "later" not in sys.modules
    assert offers(Kind.EXPORTER)["tsv"].summary == golden


def test_a_kind_or_a_name_that_can_not_be_is_refused(place, golden) -> None:
    installed(place, "odd", "", {"engine.fast": "odd:e", "gauge.Not_One": "odd:g", "gauge": "odd:h"})
    assert failures() == golden


def test_a_name_stays_with_openpts_or_the_earlier_plug_in(place, golden) -> None:
    for name in ("aaa", "bbb"):
        installed(place, name, f"def files(run): return '{name}'", {"exporter.tsv": f"{name}:files"})
    installed(place, "ccc", "1 / 0", {"procedure.iops": "ccc:PROCEDURE"})
    assert load(offers(Kind.EXPORTER)["tsv"])(None) == "aaa"
    found = {
        f"{offer.package.name} {offer.name}": why
        for offer, why in audit({**NONE_TAKEN, Kind.PROCEDURE: PROCEDURES})
    }
    assert found == golden
    assert "ccc" not in sys.modules


def test_an_object_has_the_name_that_metadata_give(place, golden) -> None:
    installed(place, "greeter", COMMAND, {"command.hullo": "greeter:hello"})
    assert failures()["hullo"] == golden


def test_a_command_is_listed_and_loaded_when_it_is_called(place, golden) -> None:
    installed(place, "greeter", COMMAND, {"command.hello": "greeter:hello", "command.run": "greeter:hello"})
    group = FirstPages("openpts", places={"run": cli.commands._places["run"]})  # type: ignore[attr-defined]
    shown = CliRunner().invoke(group, ["--help"]).output
    assert shown == golden
    assert shown.count("  run ") == 1
    assert "greeter" not in sys.modules
    assert CliRunner().invoke(group, ["hello"]).output == "from afar\n"


GAUGES = """
from pathlib import Path
from openpts.gauge import Gauge

def sound():
    understand = lambda contents, at_ns: {"temperature_c": 1}
    yield Gauge("load", "load", "there", (Path("/proc/loadavg"),), understand, of_host=True)

def dishonest():
    yield Gauge("disk", "all of it", "there", (Path("/dev/null"),))

def clumsy():
    yield Gauge("load", "load", "there", (Path("/proc/loadavg"),), lambda c, t: 1 / 0)

def failing():
    raise OSError("no such sensor")
"""


class _Drive:
    """One that exists."""

    facts = TargetFacts(TargetKind.FILE, "x", "/x", 10**9, 512)


def test_gauges_are_confined_and_a_broken_one_is_not_sampled(place, golden) -> None:
    names = ("sound", "dishonest", "clumsy", "failing")
    installed(place, "sensors", GAUGES, {f"gauge.{name}": f"sensors:{name}" for name in names})
    sound, dishonest, clumsy, failing = PluginGauges().gauges(RunContext(None, _Drive()))  # type: ignore[arg-type]
    assert (sound.name, sound.of_host) == ("sound: load", False)
    assert sound.understand([b""], 0) == {"sound_temperature_c": 1.0}
    assert clumsy.understand([b""], 0) == {}
    assert dishonest == Gauge("dishonest", None, dishonest.source)
    assert dishonest.source == golden
    assert failing.what is None
    assert failing.source == golden


def test_a_record_says_which_plug_ins_took_part_and_with_what_files(place) -> None:
    module = installed(place, "greeter", COMMAND, {"command.hello": "greeter:hello"})
    installed(place, "sensors", GAUGES, {"gauge.sound": "sensors:sound"})
    assert plugin_facts(sampling=False) == {}
    assert set(plugin_facts(sampling=True)) == {"plugin_sensors"}
    load(offers(Kind.COMMAND)["hello"])
    before = plugin_facts(sampling=False)["plugin_greeter"]
    assert before.value.startswith("greeter 1.0 sha256:")
    assert before.source == "1 files of greeter-1.0.dist-info"
    module.write_text(COMMAND.replace("afar", "here"), encoding="utf-8")
    assert plugin_facts(sampling=False)["plugin_greeter"] != before


def test_help_imports_no_plug_in(place) -> None:
    installed(
        place, "acme_far", "raise SystemExit(3)", {"procedure.far": "acme_far:P", "gauge.x": "acme_far:g"}
    )
    program = f"import sys; sys.path.insert(0, {str(place)!r}); from openpts.cli.main import main; main()"
    root = Path(plugins.__file__).parents[1]
    for words in (["--help"], ["run", "iops", "--help"], ["run", "--help"]):
        ended = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", program, *words],
            env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-500:]
        assert "acme_far" not in ended.stderr


PURGE = """
from openpts.device.purge.methods import Capability


class Vendor:
    name, title, is_purge = "vendor-erase", "Erase of the vendor's", True

    def capability(self, device):
        return Capability(True, f"{device.name} is one of ours")

    def carry_out(self, target, progress):
        return "done"

    def status(self, target):
        return {}


METHOD = Vendor()
SHADOW = Vendor()
BROKEN = "no method"
"""


def test_a_purge_method_of_a_plug_in_comes_last_and_takes_no_name(beside_openpts, server) -> None:
    entries = {
        "purge.vendor-erase": "acme_purge:METHOD",
        "purge.discard": "acme_purge:SHADOW",
        "purge.broken": "acme_purge:BROKEN",
    }
    installed(beside_openpts, "acme_purge", PURGE, entries)
    *own, (method, capability), (broken, why) = capabilities(BlockDevice.of_name("nvme0n1", server))
    assert [one.name for one, _ in own] == [name.removeprefix("purge.") for name in OWN_PURGES]
    assert broken.name == "broken"
    assert not why.supported
    assert (method.name, capability.reason) == ("vendor-erase", "nvme0n1 is one of ours")
    assert method_named("vendor-erase") is method
    assert isinstance(method_named("discard"), Discard)
    with pytest.raises(PluginError, match="is of the type str"):
        method_named("broken")
    with pytest.raises(PluginError, match="is of the type str"):
        broken.carry_out(OpenTarget(-1, TargetFacts(TargetKind.BLOCK, "a", "b", 1, 512), None), print)


OWN_PURGES = [f"purge.{name}" for name in LISTING.purges]
BEST = "nvme-format"


@pytest.mark.parametrize("where", [None, "acme_gone:METHOD", "openpts.errors:PluginError", "openpts:no"])
def test_one_of_openpts_own_purge_methods_that_can_not_be_used_is_refused_and_not_passed_over(
    where, place, server
) -> None:
    """Nor does the method of another package stand in for it."""
    own = {name: at for name, at in OWN.items() if name != f"purge.{BEST}"}
    with_metadata(place, "openpts", {**own, **({f"purge.{BEST}": where} if where else {})}, "1.0")
    installed(
        place, "acme_purge", PURGE.replace("vendor-erase", BEST), {f"purge.{BEST}": "acme_purge:METHOD"}
    )
    device = BlockDevice.of_name("nvme0n1", server)

    def ask(_device: BlockDevice) -> list[tuple[PurgeMethod, Capability]]:
        return [(method, Capability(True, "has it")) for method, _ in capabilities(device)]

    for text in ("auto", BEST):
        with pytest.raises(PluginError, match=f"purge.*{BEST}"):
            choose(PurgeChoice.parse(text), device, frozenset(), ask)
    assert [one.name for one in choose(PurgeChoice.parse("discard"), device, frozenset(), ask).methods] == [
        "discard"
    ]


def test_every_purge_method_of_openpts_has_its_place_in_the_order() -> None:
    assert {name for name in OWN if name.startswith("purge.")} == set(OWN_PURGES)


PAGES = """
from openpts_pages.model import Page


def page(run):
    return Page("mine", "Mine", ())


def alerts(run):
    return ("something of mine",)
"""


def test_pages_and_red_lines_of_a_plug_in_stand_in_their_places(beside_openpts: Path) -> None:
    before = build_report(made_up_run("iops"))
    entries = {"page.back.mine": "acme_pages:page", "alert.mine": "acme_pages:alerts"}
    installed(beside_openpts, "acme_pages", PAGES, entries)
    plugins.packages.cache_clear()
    after = build_report(made_up_run("iops"))
    assert [page.id for page in after.front] == [page.id for page in before.front]
    *others, glossary, files = [page.id for page in before.back]
    assert [page.id for page in after.back] == [*others, "mine", glossary, files]
    assert [section.alerts for section in after.sections] == [
        (*section.alerts, "something of mine") for section in before.sections
    ]


LAB = """
from contextlib import contextmanager

from openpts.device.targets.target import Scheme
from openpts.report.build import build_report
from openpts_sim import simulated_device

SCHEME = Scheme("lab", what="a drive of the lab", device="acme_lab:opened", unopened="acme_lab:unopened")
ONE = "sim:mlc?capacity=2GB"


@contextmanager
def opened(text, run_id):
    with simulated_device.opened(ONE, run_id) as device:
        yield device


def unopened(text):
    return simulated_device.unopened(ONE)
"""


def test_a_scheme_of_a_plug_in_opens_its_targets_and_no_other(beside_openpts) -> None:
    entries = {
        "scheme.lab": "acme_lab:SCHEME",
        "scheme.sim": "acme_lab:SCHEME",
        "scheme.file": "acme_lab:SCHEME",
        "scheme.gone": "acme_lab:NOTHING",
    }
    installed(beside_openpts, "acme_lab", LAB, entries)
    one = simulated_device.unopened("sim:mlc?capacity=2GB").facts
    assert UnopenedTarget.of("lab:one", SystemRoots()).facts == one
    with device_under_test("lab:one", Consent(), for_writing=True, run_id="run") as device:
        assert device.owner.run_id == "run"
    with pytest.raises(UsageError, match="lab:one is a drive of the lab, and this needs one that exists"):
        parse_target("lab:one")
    scheme = scheme_of("sim:mlc")
    assert scheme.what == "a simulated drive"
    assert scheme_of("file:/x") is None
    assert scheme_of("/dev/disk/by-path/lab:one") is None
    with pytest.raises(PluginError, match="scheme 'gone'"):
        scheme_of("gone:one")


COLUMN_MAP = """
columns = ["At", "What", "Place", "Bytes"]
time = { column = "At", unit = "us" }
operation = { column = "What", read = ["r"], write = ["w"] }
offset = { column = "Place", unit_bytes = 1 }
length = { column = "Bytes", unit_bytes = 1 }
"""


def test_a_trace_is_read_by_the_column_map_of_a_plug_in(place) -> None:
    entries = {"trace-format.acme": "acme_map:MAP", "command.trace": "openpts_traces.cli.trace:trace"}
    installed(place, "acme_map", f"MAP = {COLUMN_MAP!r}\n", entries)
    trace = place / "t.txt"
    trace.write_text("0,r,0,4096\n10,w,8192,4096\n")
    done = CliRunner().invoke(cli, ["trace", "check", "--columns", "acme", "--json", str(trace)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["ios"] == 2
