"""The HTML in a real browser: no console message, no request, controls that work."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from openpts.report.html import render_html
from openpts.report.svg import draw_figures
from openpts.report.write import HTML_NAME, write_report
from tests.support.report_cases import Reports
from tests.support.sample_figures import gallery

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

# Works the controls as a reader would, then says on the console what it saw.
PROBE = """
<script>addEventListener("load", () => setTimeout(async () => {
  const seen = {}, pause = () => new Promise((done) => setTimeout(done, 400));
  const until = async (holds) => { for (let n = 0; n < 40 && !holds(); n++) await pause(); };
  const figure = document.getElementById("iops-a1-rw0-plot");
  figure.scrollIntoView({ behavior: "instant" });
  await until(() => figure.querySelector(".static").hidden);
  const lines = () => figure.querySelectorAll(".live .mark-line path").length;
  seen.live = !figure.querySelector(".live").hidden && figure.querySelector(".static").hidden;
  seen.lines = lines();
  figure.querySelector(".series").click(); await until(() => lines() < 8);
  seen.fewer = lines();
  seen.pressed = figure.querySelector(".series").getAttribute("aria-pressed");
  figure.querySelector("[data-do=reset]").click(); await until(() => lines() === 8);
  seen.again = lines();
  const linear = () => figure.querySelector(".live svg").textContent.includes("500,000");
  figure.querySelector("[data-do=scale]").click(); await until(linear);
  seen.linear = linear();
  const drawing = figure.querySelector(".drawing");
  drawing.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); await pause();
  seen.readout = figure.querySelector(".readout").textContent;
  const table = document.getElementById("iops-iops-table");
  const first = () => table.tBodies[0].rows[0].cells[0].textContent;
  const sort = table.querySelectorAll(".sort")[1];
  sort.click(); seen.ascending = [first(), sort.closest("th").getAttribute("aria-sort")];
  sort.click(); seen.descending = first();
  sort.click(); seen.original = first();
  document.getElementById("theme").click(); await pause();
  seen.theme = document.documentElement.dataset.theme;
  seen.dark = getComputedStyle(document.body).backgroundColor;
  const blobs = []; URL.createObjectURL = (blob) => { blobs.push(blob); return "#"; };
  table.querySelector("caption > button").click();
  seen.csv = await blobs[0].text();
  const controls = [...document.querySelectorAll("button, a[href]")];
  seen.unnamed = controls.filter((control) => !control.textContent.trim()).length;
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  console.log("SEEN " + JSON.stringify(seen));
}, 300));</script>
"""


# Steps along plots of other axes than most have, and saves a table that stands as text.
GALLERY_PROBE = """
<script>addEventListener("load", () => setTimeout(async () => {
  const seen = {}, pause = () => new Promise((done) => setTimeout(done, 400));
  const until = async (holds) => { for (let n = 0; n < 40 && !holds(); n++) await pause(); };
  const all = [...document.querySelectorAll("figure:not([data-kind=columns3d])")];
  for (const figure of all) {
    figure.scrollIntoView({ behavior: "instant" });
    await until(() => figure.querySelector(".static").hidden);
  }
  seen.still = all.filter((figure) => !figure.querySelector(".static").hidden).map((figure) => figure.id);
  const step = async (id, times) => {
    const figure = document.getElementById(id);
    for (let n = 0; n < times; n++)
      figure.querySelector(".drawing").dispatchEvent(
        new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await pause();
    return figure.querySelector(".readout").textContent;
  };
  seen.nines = await step("nines", 5);
  seen.histogram = await step("clp", 1);
  seen.long = await step("wsat", 2);
  const scatter = document.getElementById("hir");
  const dots = () => scatter.querySelectorAll(".live .mark-symbol path").length;
  const before = dots();
  scatter.querySelector(".series").click(); await until(() => dots() < before - 1000);
  seen.hidden = before - dots();
  const blobs = []; URL.createObjectURL = (blob) => { blobs.push(blob); return "#"; };
  document.querySelector("#wsat-values").previousElementSibling.click();
  seen.csv = (await blobs[0].text()).split("\\r\\n").slice(0, 3);
  seen.dark = getComputedStyle(document.body).backgroundColor;
  console.log("SEEN " + JSON.stringify(seen));
}, 300));</script>
"""


CSV_PROBE = """
<script>addEventListener("load", () => setTimeout(async () => {
  const blobs = []; URL.createObjectURL = (blob) => { blobs.push(blob); return "#"; };
  const savers = [...document.querySelectorAll("caption > button")];
  savers.forEach((saver) => saver.click());
  const firsts = await Promise.all(blobs.map(async (blob) => (await blob.text()).split("\\r\\n")[0]));
  console.log("SEEN " + JSON.stringify({ title: document.title, tables: savers.length, firsts }));
}, 300));</script>
"""


def browse(page: Path, scratch: Path, *, dark: bool = False) -> list[str]:
    """What the page wrote to the console.

    The photograph of all of it makes frames, and only in a frame does a plot come alive.
    """
    scratch.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={scratch / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--window-size=1400,16000", "--virtual-time-budget=60000", "--enable-logging=stderr",
            f"--screenshot={scratch / 'page.png'}", page.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert (scratch / "page.png").is_file()
    return re.findall(r'CONSOLE:\d+\] "(.*)", source:', done.stderr)


def probed(html: Path, probe: str, scratch: Path) -> Path:
    """The page with a script of ours at its end."""
    page = scratch / "probed.html"
    before, _, after = html.read_text().rpartition("</body>")  # Vega's own code holds the tag as well
    page.write_text(f"{before}{probe}</body>{after}")
    return page


def test_controls_work_and_the_console_stays_silent(reports: Reports, tmp_path: Path) -> None:
    (_, html) = write_report(reports.folder("steady"), out=tmp_path, pdf=False)
    page = probed(html, PROBE, tmp_path)
    for attempt in range(6):  # without a screen, whether a frame is made in time is up to the browser
        (line,) = browse(page, tmp_path / str(attempt))  # the page remembers its theme in the profile
        seen = json.loads(line.removeprefix("SEEN "))
        if seen["live"]:
            break
    assert seen["live"] is True
    assert (seen["lines"], seen["fewer"], seen["again"]) == (8, 7, 8)
    assert seen["pressed"] == "false"
    assert seen["linear"] is True
    assert seen["readout"].startswith("Round 1: RND 0.5 KiB ")
    assert seen["ascending"] == ["1024", "ascending"]
    assert (seen["descending"], seen["original"]) == ("4", "0.5")
    assert seen["theme"] == "dark"
    assert seen["dark"] == "rgb(20, 24, 29)"
    assert seen["csv"].splitlines()[1] == "Block size (KiB),0/100,5/95,35/65,50/50,65/35,95/5,100/0"
    assert float(seen["csv"].splitlines()[2].split(",")[1]) == pytest.approx(152934, abs=5)
    assert seen["unnamed"] == 0
    assert seen["requests"] == []


def test_a_simulated_drive_is_named_in_the_title_and_in_each_exported_table(
    reports: Reports, tmp_path: Path
) -> None:
    (_, html) = write_report(reports.folder("simulated"), out=tmp_path, pdf=False)
    (line,) = browse(probed(html, CSV_PROBE, tmp_path), tmp_path)
    seen = json.loads(line.removeprefix("SEEN "))
    mark = "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"
    assert seen["title"].startswith(mark)
    assert seen["tables"] > 20
    assert seen["firsts"] == [f'"{mark}"'] * seen["tables"]


@pytest.mark.parametrize("case", ["hostile", "nothing", "two rounds", "fast"])
def test_the_console_stays_silent(reports: Reports, tmp_path: Path, case: str) -> None:
    paths = write_report(reports.folder(case), out=tmp_path, pdf=False)
    html = next(path for path in paths if path.name == HTML_NAME)
    assert browse(html, tmp_path) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_figures_of_all_kinds_come_alive(tmp_path: Path, dark: bool) -> None:
    html = tmp_path / "gallery.html"
    html.write_text(render_html(gallery(), draw_figures(gallery())))
    page = probed(html, GALLERY_PROBE, tmp_path)
    for attempt in range(6):  # without a screen, whether a frame is made in time is up to the browser
        lines = browse(page, tmp_path / str(attempt), dark=dark)
        assert [line[:5] for line in lines] in ([], ["SEEN "])  # nothing, if its time was over first
        seen = json.loads(lines[0].removeprefix("SEEN ")) if lines else {"still": "all"}
        if not seen["still"]:
            break
    assert seen["still"] == []
    assert seen["nines"] == "Confidence level 99.9: RW 0 0.2; RW 65 0.486"
    assert seen["histogram"].startswith("Response time (ms) 0.01: I/Os, N = 8,862,500 3,181")
    assert seen["long"].startswith("Time (h) 0.0075: 1 s 183,776.9")
    assert seen["hidden"] > 1000
    assert seen["csv"][:2] == ["Values of wsat-values", "x,1 s,1 min"]
    assert seen["csv"][2].startswith("0,1")
    assert seen["dark"] == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
