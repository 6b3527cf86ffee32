"""Metrics of a run, scraped and in a file: held against the record, and read by Prometheus' own parsers."""

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as read_textfile

from openpts.errors import UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run
from openpts.runner.event_lines import RunEnded
from openpts.runner.events import Event
from openpts.runner.run import run_test
from openpts_export.metrics import RunMetrics, TextfileMetrics
from openpts_export.metrics_server import served_metrics
from tests import ROOT
from tests.support.free_ports import free_ports
from tests.support.killed_run import ordered

_DASHBOARD = ROOT / "packages/openpts_export/docs/grafana-dashboard.json"
[_PORT] = free_ports(1)


def scraped() -> str:
    request = urllib.request.Request(
        f"http://127.0.0.1:{_PORT}/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}
    )
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def run_and_scrapes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[str], str]:
    """A run, what was scraped after each 20 events and at its end; its file."""
    folder = tmp_path_factory.mktemp("metrics")
    metrics = RunMetrics()
    textfile = TextfileMetrics(folder / "openpts.prom", metrics)
    scrapes = []
    events = 0
    with served_metrics("127.0.0.1", _PORT, metrics):

        def listen(event: Event) -> None:
            nonlocal events
            metrics.on_event(event)
            textfile.renew()
            events += 1
            if events % 20 == 0 or isinstance(event, RunEnded):
                scrapes.append(scraped())

        assert "openpts" not in scraped()
        finished = run_test(PROCEDURES["lat"], ordered("lat", folder / "run"), [listen])
    textfile.write()
    return read_run(finished.folder), scrapes, (folder / "openpts.prom").read_text()


def values(text: str, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


@pytest.mark.slow
def test_counters_at_the_end_are_those_of_the_record(run_and_scrapes: tuple[Run, list[str], str]) -> None:
    run, scrapes, _ = run_and_scrapes
    last = scrapes[-1]
    (steps,) = values(last, "openpts_steps_total").values()
    assert steps == len(run.steps)
    (ios,) = values(last, "openpts_ios_total").values()
    measured = [step.sample for step in run.steps]
    assert ios == sum(sample.ios for sample in measured)
    (deviations,) = values(last, "openpts_deviations_total").values()
    assert deviations == len(run.ledger)
    most = {
        dict(key)["operation"]: value
        for key, value in values(last, "openpts_step_response_time_max_seconds").items()
    }
    for name, operation in measured[-1].operations.items():
        if operation.ios:
            assert operation.latency_max_ns == pytest.approx(most[name] * 1e9)
    states = {
        dict(key)["openpts_run_state"]: value for key, value in values(last, "openpts_run_state").items()
    }
    assert states == {"running": 0, "complete": 1, "interrupted": 0, "failed": 0}


def test_counters_never_fall(run_and_scrapes: tuple[Run, list[str], str]) -> None:
    _, scrapes, _ = run_and_scrapes
    assert len(scrapes) > 2
    for name in ("openpts_ios_total", "openpts_bytes_total", "openpts_steps_total"):
        counts = [sum(values(text, name).values()) for text in scrapes]
        assert counts == sorted(counts)


def test_the_dashboard_shows_metrics_that_there_are(run_and_scrapes: tuple[Run, list[str], str]) -> None:
    _, scrapes, _ = run_and_scrapes
    names = {
        sample.name
        for text in scrapes
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    shown = set(re.findall(r"openpts_[a-z_]+(?=\{)", _DASHBOARD.read_text()))
    assert len(shown) > 10
    assert shown <= names
    assert json.loads(_DASHBOARD.read_text())["uid"] == "openpts"


def test_the_file_is_what_node_exporter_reads(run_and_scrapes: tuple[Run, list[str], str]) -> None:
    _, scrapes, text = run_and_scrapes
    read = {sample.name for family in read_textfile(text) for sample in family.samples}
    assert {"openpts_steps_total", "openpts_run_info", "openpts_step_response_time_seconds"} <= read
    assert not [line for line in text.splitlines() if " NaN" in line]
    assert scrapes


def test_promtool_finds_nothing_to_complain_of(run_and_scrapes: tuple[Run, list[str], str]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    _, _, text = run_and_scrapes
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        TextfileMetrics(tmp_path / "missing" / "openpts.prom", RunMetrics())
    assert (
        str(refused.value)
        == f"can't write --metrics {tmp_path}/missing/openpts.prom: No such file or directory"
    )
