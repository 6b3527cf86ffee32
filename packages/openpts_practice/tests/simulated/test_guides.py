"""The manual's pages on four papers, followed to the letter: their commands run, their tables are true."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests import ROOT
from tests.support.manual import section
from tests.support.openpts_process import openpts

GUIDES: Final = ROOT / "docs/guides.md"
_FILE: Final = re.compile(r"`([\w-]+\.toml)`[^\n]*:\n\n```toml\n(.*?)```", re.DOTALL)
_COMMAND: Final = re.compile(r"^    openpts ((?:.*\\\n)*.*)$", re.MULTILINE)


class Followed:
    """A section whose files were written and whose commands were run, in their order, in a folder."""

    def __init__(self, heading: str, folder: Path) -> None:
        self.text = section(GUIDES, heading)
        self.folder = folder
        self.printed: dict[str, str] = {}
        for name, content in _FILE.findall(self.text):
            (folder / name).write_text(content, encoding="utf-8")
        for words in _COMMAND.findall(self.text):
            ended = openpts(*shlex.split(words.replace("\\\n", " ")), cwd=folder, COLUMNS="200")
            assert ended.exit_code == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
            self.printed[words] = ended.stdout

    def tables(self, run: str) -> dict[str, dict[str, Any]]:
        """The tables of a run's report by their ids."""
        report = json.loads((self.folder / run / "report.json").read_text(encoding="utf-8"))
        return {table["id"]: table for table in _tables(report)}

    def rows(self, run: str, *ids: str) -> dict[str, dict[str, dict[str, Any]]]:
        """Cells of tables of a run's report, by row and column."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        tables = self.tables(run)
        for table in (tables[id_] for id_ in ids):
            labels = [column["label"] for column in table["columns"]]
            for row in table["rows"]:
                name = row["head"]["text"]
                found.setdefault(name, {}).update(zip(labels, row["cells"], strict=True))
        return found

    def page_table(self, head: str) -> dict[str, list[str]]:
        """A table of the page by the label of its first column: cells by row."""
        lines = self.text[self.text.index(f"| {head} |") :].split("\n\n")[0].splitlines()
        cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
        return {row[0]: row[1:] for row in cells[2:]}


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"id", "rows", "columns"} <= set(value):
            yield value
        for one in value.values():
            yield from _tables(one)
    elif isinstance(value, list):
        for one in value:
            yield from _tables(one)


def number(text: str) -> float:
    return float(text.replace(",", ""))


SOLIDIGM: Final = {"benchmarks-1": "peak", "benchmarks-2": "low", "benchmarks-3": "mixed"}


@pytest.mark.slow
def test_the_solidigm_guide(tmp_path: Path) -> None:
    page = Followed("Solidigm's guide", tmp_path)
    paper = page.page_table("Section 5.2")
    for at, run in ((0, "p41-512gb"), (2, "p41-1tb"), (4, "p41-2tb")):
        passes = page.rows(run, *(f"{id_}-definition-passes" for id_ in SOLIDIGM))
        assert set(passes) == {name.rsplit(" (", 1)[0] for name in paper}
        for name, cells in paper.items():
            row, unit = name.rsplit(" (", 1)
            per, column = (1, "Median (MB/s)") if unit == "MB/s)" else (1000, "Median (IOPS)")
            published, written = number(cells[at]), cells[at + 1]
            measured = passes[row][column]["value"] / per
            decimals = len(written.partition(".")[2])
            assert f"{measured:,.{decimals}f}" == written, f"{run} {name}"
            assert measured == pytest.approx(published, rel=0.1), f"{run} {name}"
            assert passes[row]["Passes"]["text"] == "3"
    office = page.rows("p41-score", "score-spread")["like:office, alone, full"]["Median score"]["text"]
    assert f"`like:office` scores {office} " in page.text
    box = page.rows("p41-512gb", "cover-purpose")
    assert box["BIOS setting"]["Declared"]["text"].startswith("C-states disabled (default: enabled)")
    *_, compared, conformance = page.printed.values()
    assert "medians, in brackets x of client-qlc 512 GB" in compared
    assert "SOL-STAT-04" in conformance


def columns(page: Followed, head: str) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Rows of a table of the page whose cells come in pairs: the paper's and openpts'."""
    for name, cells in page.page_table(head).items():
        yield name, tuple(zip(cells[::2], cells[1::2], strict=True))


TKPERF: Final = yaml.safe_load((ROOT / "tests/data/published/tkperf.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.proves("TKP-SET-02", "TKP-SS-04", "TKP-IOPS-02..08", "TKP-TP-01..04", "TKP-LAT-01..04")
@pytest.mark.proves("TKP-WSAT-01..03")
def test_the_report_of_tkperf(tmp_path: Path) -> None:
    page = Followed("A report of TKperf", tmp_path)
    report = json.loads((tmp_path / "p4610/report-short.json").read_text(encoding="utf-8"))
    tables = {table["id"]: table for table in _tables(report)}

    def cells(table: str) -> dict[str, dict[str, str]]:
        labels = [column["label"] for column in tables[table]["columns"]]
        return {
            row["head"]["text"]: dict(zip(labels, [cell["text"] for cell in row["cells"]], strict=True))
            for row in tables[table]["rows"]
        }

    iops = cells("short-iops-summary")
    paper = TKPERF["iops"]["iops_by_kib"]
    assert list(iops) == [f"{size:g}" for size in paper]
    for size, row in iops.items():
        assert list(row) == TKPERF["iops"]["columns_rw"], size
    for size, pairs in columns(page, "Average IOPS"):
        for (published, ours), mix in zip(pairs, ("100/0", "65/35", "0/100"), strict=True):
            place = TKPERF["iops"]["columns_rw"].index(mix)
            assert number(published) == paper[float(size)][place]
            assert ours == iops[size][mix]
    rates = cells("short-tp-summary")
    assert list(rates) == ["1024", "64", "8", "4", "0.5"]
    for size, pairs in columns(page, "Average rate"):
        assert [ours for _, ours in pairs] == [rates[size]["Read"], rates[size]["Write"]]
    latency = cells("short-lat-average")
    assert list(latency) == list(cells("short-lat-max")) == ["8", "4", "0.5"]
    for size, pairs in columns(page, "Average latency (ms)"):
        assert [ours for _, ours in pairs] == [latency[size][mix] for mix in ("0/100", "65/35", "100/0")]
        for published, ours in pairs:
            assert number(ours) == pytest.approx(number(published), rel=0.17)
    rounds = cells("short-wsat-rounds")
    capacity_gb = TKPERF["user_capacity_bytes"] / 1e9
    written = [number(row["Written so far (GB)"]) for row in rounds.values()]
    assert written == sorted(written)
    assert written[-1] == pytest.approx(4 * capacity_gb, rel=0.01)
    assert "--plan tkperf --step-seconds 30" in str(tables["short-iops-run"])


@pytest.mark.slow
@pytest.mark.proves("HYP-SUS-01..05", "HYP-FILL-01..02", "HYP-LIFE-01", "HYP-LIFE-04", "HYP-TMP-01")
def test_the_talk_of_hyperstone(tmp_path: Path) -> None:
    page = Followed("Hyperstone's talk", tmp_path)
    names = ("hy1", "hy2", "device4")
    key_values = [
        {row["cells"][0]["text"]: row["cells"][1]["text"] for row in page.tables(name)["summary"]["rows"]}
        for name in names
    ]
    wanted = {
        "Sustained sequential write (%)": "SEQ1M Q8T1 Write, run #2 / run #1",
        "Sustained random write (%)": "RND4K Q1T1 Write, run #2 / run #1",
        "Sustained write IOPS (%)": "RND4K Q32T1 Write, run #2 / run #1",
        "Longest response time (ms)": "Load, maximum response time",
    }
    rows = dict(columns(page, "Further test results"))
    assert list(rows) == list(wanted)
    for name, pairs in rows.items():
        assert [ours for _, ours in pairs] == [values[wanted[name]] for values in key_values], name
    # as in the talk: by what is kept of the IOPS Hy. 1, Device 4, Hy. 2; by the longest response time 1, 2, 4
    talk, ours = zip(*((number(a), number(b)) for a, b in rows["Sustained write IOPS (%)"]), strict=True)
    assert sorted(range(3), key=talk.__getitem__) == sorted(range(3), key=ours.__getitem__)
    slowest = [number(ours) for _, ours in rows["Longest response time (ms)"]]
    assert slowest == sorted(slowest)
    fill = page.tables("device4-fill")
    assert [c["label"] for c in fill["fill-curve-segments"]["columns"]][:5] == [
        "From (GB)",
        "To (GB)",
        "From (% of capacity)",
        "To (% of capacity)",
        "Mean (MB/s)",
    ]
    assert len(fill["fill-curve-segments"]["rows"]) > 1
    cycles = page.rows("device4-life", "lifetime-course-values")
    assert list(cycles) == ["1", "2", "3", "4", "5"]
    assert {"Write (MB/s)", "Read (MB/s)", "Write (s)", "Read (s)"} <= set(cycles["1"])
    # a month later the sixth cycle follows, after all that the fifth wrote was read again
    assert list(page.rows("device4-later", "lifetime-course-values")) == ["6"]
    ages = [row["head"]["value"] for row in page.tables("device4-later")["lifetime-age-values"]["rows"]]
    assert ages == pytest.approx([0, 30], abs=0.1)


@pytest.mark.slow
@pytest.mark.proves("LSI-ENT-01", "LSI-PRE-01..05", "LSI-PROC-02..06")
def test_the_deck_of_lsi(tmp_path: Path) -> None:
    page = Followed("LSI's deck", tmp_path)
    tables = page.tables("lsi-states")
    elapsed = [row["head"]["value"] for row in tables["precon-time-values"]["rows"] if _is_fresh(row)]
    fills = [row["head"]["value"] for row in tables["precon-fills-values"]["rows"] if _is_fresh(row)]
    for name, ((_, ours),) in columns(page, "Fresh drive, 4K random writes"):
        at = next(hours for hours, done in zip(elapsed, fills, strict=True) if done >= number(name[0]))
        assert f"{60 * at:.0f}" == ours, name
    lost = page.rows("lsi-states", "precon-loss-table")
    rows = {"Random writes": "RND 4 KiB QD32 Write", "Sequential writes": "SEQ 128 KiB QD32 Write"}
    for name, pairs in columns(page, "Loss against the fresh drive"):
        cells = lost[f"Short profile: {rows[name]}"]
        assert [ours for _, ours in pairs] == [
            cells[f"Loss after {state} (%)"]["text"] for state in ("SEQ", "RND")
        ]
    # as in the deck: random writes lose most after random writes, and so do sequential ones
    after = {
        name: [number(ours) for _, ours in pairs]
        for name, pairs in columns(page, "Loss against the fresh drive")
    }
    assert all(seq < 20 < 70 < rnd for seq, rnd in after.values())
    crystal = page.rows(
        "lsi-states", "precon-rows-2-mb-per-s-read-values", "precon-rows-2-mb-per-s-write-values"
    )
    for name, ((_, ours),) in columns(page, "CrystalDiskMark, fresh"):
        assert crystal[name]["FOB (MB/s)"]["text"] == ours, name
        assert {"after SEQ (MB/s)", "after RND (MB/s)", "True range (MB/s)"} <= set(crystal[name])
    written = page.page_table("Entropy (%)")
    for place, id_ in enumerate(("entropy-values-1", "entropy-values-2")):
        swept = page.rows("lsi-entropy", id_)
        assert {level: row["Mean"]["text"] for level, row in swept.items()} == {
            level: cells[place] for level, cells in written.items()
        }
    assert list(written) == ["0", "46", "100"]
    energy = page.rows("lsi-entropy", "entropy-energy")
    for level, cells in written.items():
        sequential, random = (
            energy[f"Sweep {number}: {order} 0/100, entropy:{level},dup:0,granule:4KiB"]
            for number, order in ((1, "SEQ 128 KiB"), (2, "RND 4 KiB"))
        )
        per_gb = [one["J/GB written"]["text"] for one in (sequential, random)]
        assert cells[2:] == [*per_gb, sequential["Battery 50 Wh (h)"]["text"]]


def _is_fresh(row: dict[str, Any]) -> bool:
    """Whether a row of a course over all states is of the fresh drive."""
    return "value" in row["cells"][0]
