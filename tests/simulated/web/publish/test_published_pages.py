"""Published pages in Chromium: what they show is what the archive answers, from a host and from a file."""

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from openpts_many.archive.engine import Engine
from openpts_many.archive.store import Store
from openpts_web.publish.page import cell_text
from tests.simulated.web.publish.conftest import HOSTILE_RUN
from tests.simulated.web.publish.publishing import CHROMIUM, Tab, chromium, tab
from tests.support.synthetic_run import HOSTILE

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"), pytest.mark.slow]

MEASURED = "measures JOIN runs USING (run)"
QUESTIONS = (
    "SELECT * EXCLUDE (labels) FROM runs ORDER BY run",
    "SELECT run, labels['lot'] AS lot, labels['a ''b'' \"c\"'] AS odd FROM runs ORDER BY run",
    "SELECT * FROM measures ORDER BY run, key, label",
    "SELECT * FROM deviations ORDER BY ALL",
    f"SELECT model, firmware, key, count(*), max(value) FROM {MEASURED} GROUP BY ALL ORDER BY ALL",
    "SELECT count(*), sum(deviations), max(user_capacity_bytes), bool_or(redacted) FROM runs",
)


@pytest.fixture(scope="module")
def engine(archive: Path) -> Engine:
    return Engine(Store.of(str(archive)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module", params=["host", "file"])
def opened(request: pytest.FixtureRequest, browser: Browser, library: Path) -> Iterator[Tab]:
    """One page for several tests, as DuckDB takes seconds to load."""
    with tab(browser, library, as_file=request.param == "file") as one:
        one.show()
        yield one


def cells(page: Page, table: str = "main table") -> list[list[str]]:
    rows: list[list[str]] = page.evaluate(
        """(table) => [...document.querySelectorAll(`${table} tbody tr`)].map((row) =>
        [...row.children].map((cell) => cell.firstChild?.textContent ?? ""))""",
        table,
    )
    return rows


def runs_shown(page: Page) -> list[str]:
    while page.is_visible("text=/^Show 100 more$/"):
        page.click("text=/^Show 100 more$/")
    return [row[1] for row in cells(page)]


def answered(engine: Engine, sql: str) -> tuple[list[str], list[list[Any]]]:
    columns, rows = engine.answer(sql)
    return columns, [list(row) for row in rows]


def names(engine: Engine, sql: str) -> list[str]:
    return [row[0] for row in engine.answer(sql)[1]]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_has_the_answer_of_the_archive(sql: str, opened: Tab, engine: Engine) -> None:
    columns, rows = opened.query(sql)
    wanted_columns, wanted = answered(engine, sql)
    assert columns == wanted_columns
    # numbers beyond 2^53 are texts in the browser
    texts = [[str(v) if type(v) is int and abs(v) > 2**53 else v for v in row] for row in wanted]
    assert rows == texts
    assert len(rows) > 0


def test_a_question_is_typed_and_its_answer_saved(opened: Tab, engine: Engine) -> None:
    page = opened.show("#/sql", "#sql")
    sql = "SELECT run, model, '=1+1' AS formula FROM runs ORDER BY run"
    page.fill("#sql", sql)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".answer", timeout=120_000)
    wanted = answered(engine, sql)[1]
    assert cells(page, ".answer") == [list(row) for row in wanted]
    with page.expect_download() as download:
        page.click("text=CSV")
    [_, *saved] = csv.reader(io.StringIO(Path(download.value.path()).read_bytes().decode(), newline=""))
    assert saved == [[row[0], row[1], "'=1+1"] for row in wanted]
    page.fill("#sql", "SELECT nothing")
    page.click("text=Ask")
    page.wait_for_selector(".status:has-text('does not work')")
    assert not page.is_visible(".answer")


def test_files_of_others_are_out_of_reach(opened: Tab) -> None:
    page = opened.show("#/sql", "#sql")
    for source in (
        "read_csv('https://example.com/a.csv')",
        "'https://example.com/a.parquet'",
        "read_text('/etc/passwd')",
    ):
        page.fill("#sql", f"SELECT * FROM {source}")
        page.click("text=Ask")
        page.wait_for_selector(".status:has-text('does not work')", timeout=120_000)
    local = (
        *tuple(f"{kind}:" for kind in ("blob", "data", "file")),
        opened.address.removesuffix("index.html"),
    )
    assert [url for url in opened.requests if not url.startswith(local)] == []


def test_the_list_is_filtered_and_sorted_as_the_archive_would(opened: Tab, engine: Engine) -> None:
    page = opened.show()
    newest = "ORDER BY started_at DESC, run DESC"
    assert runs_shown(page) == names(engine, f"SELECT run FROM runs {newest}")
    page.select_option("#model", "model 3")
    page.select_option("#test", "lat")
    page.wait_for_selector("h1:has-text(' of ')")
    where = "WHERE model = 'model 3' AND test = 'lat'"
    assert runs_shown(page) == names(engine, f"SELECT run FROM runs {where} {newest}")
    page.fill("#words", "fw2 lot=1")
    page.wait_for_timeout(600)
    assert runs_shown(page) == names(
        engine, f"SELECT run FROM runs {where} AND firmware = 'FW2' AND labels['lot'] = '1' {newest}"
    )
    opened.show("#/?order=serial&model=model+1")
    assert runs_shown(page) == names(
        engine, "SELECT run FROM runs WHERE model = 'model 1' ORDER BY serial, started_at DESC, run DESC"
    )
    page.click("#sort-serial")
    page.wait_for_selector("th[aria-sort=descending] #sort-serial")
    assert runs_shown(page) == names(
        engine, "SELECT run FROM runs WHERE model = 'model 1' ORDER BY serial DESC, started_at DESC, run DESC"
    )


def test_a_measure_is_a_column_to_sort_by(opened: Tab, engine: Engine) -> None:
    [key] = names(
        engine, f"SELECT min(key) FROM {MEASURED} WHERE test = 'lat' AND value > 0 AND NOT stands_in"
    )
    page = opened.show(f"#/?test=lat&measure=lat.{key}&order=-measure", "th.right")
    found = engine.answer(
        f"SELECT run, value FROM {MEASURED} WHERE key = '{key}' AND test = 'lat' "
        "ORDER BY value DESC, started_at DESC, run DESC"
    )[1]
    assert [(row[1], row[-1]) for row in cells(page)][:50] == [
        (run, f"{float(f'{value:.6g}'):,.10g}") for run, value in found[:50]
    ]


def test_a_run_is_shown_with_its_measures_and_deviations(opened: Tab, engine: Engine) -> None:
    [run] = names(engine, "SELECT DISTINCT run FROM deviations")
    page = opened.show(f"#/run/{run}", "h2")
    measures = engine.answer(f"SELECT label, value FROM measures WHERE run = '{run}'")[1]
    shown = cells(page, "[aria-label=Measures]")
    assert [(row[0], float(row[1].replace(",", "")) if row[1] else None) for row in shown] == [
        (label, None if value is None else float(f"{value:.6g}")) for label, value in measures
    ]
    required = names(engine, f"SELECT required FROM deviations WHERE run = '{run}'")
    assert [row[1] for row in cells(page, "[aria-label=Deviations]")] == required


def test_what_differs_between_runs_comes_first(opened: Tab, engine: Engine) -> None:
    runs = ["0002-made-up", "0004-made-up", "0009-made-up"]
    page = opened.show(f"#/compare/{'/'.join(runs)}", "h1:has-text('beside')")
    fields = list(engine.answer("SELECT * EXCLUDE (run, labels) FROM runs LIMIT 0")[0])
    rows = [
        engine.answer(f"SELECT * EXCLUDE (run, labels) FROM runs WHERE run = '{run}'")[1][0] for run in runs
    ]
    differing = [
        name.replace("_", " ")
        for place, name in enumerate(fields)
        if len({str(row[place]) for row in rows}) > 1
    ]
    shown = [row[0] for row in cells(page, "h2 + [aria-label=Conditions]")]
    assert [name for name in shown if not name.startswith("label ")] == differing
    first, second = (
        dict(engine.answer(f"SELECT label, value FROM measures WHERE run = '{run}' AND NOT stands_in")[1])
        for run in runs[:2]
    )
    notes = page.evaluate(
        """[...document.querySelectorAll("[aria-label=Measures] tbody tr")].map((row) =>
        [row.children[0].firstChild.textContent, row.children[4].querySelector("small")?.textContent])"""
    )
    for label, note in notes:
        bare = label.removeprefix("lat: ")
        if bare in first and first[bare] and second.get(bare) is not None:
            assert float(note.removesuffix(" %")) == pytest.approx(
                100 * (second[bare] / first[bare] - 1), abs=0.0051
            )
    assert any(note and note.startswith("+") for _, note in notes)


def test_texts_of_others_are_texts(opened: Tab, engine: Engine) -> None:
    page = opened.show()
    page.fill("#words", "<script>alert(1)</script>")
    page.wait_for_selector("h1:has-text('1 of ')")
    page.click("tbody th a")
    page.wait_for_selector("h2")
    shown = page.evaluate("document.querySelector('h1').textContent")
    assert shown == HOSTILE_RUN
    assert page.evaluate("document.querySelectorAll('main script, main svg, main img').length") == 0
    text = page.evaluate("[...document.querySelectorAll('dd')].map((one) => one.textContent)")
    assert text.count(HOSTILE) >= 10
    opened.show("#/sql", "#sql")
    assert [one for one in opened.complaints if "Content Security Policy" in one or "dialog" in one] == []


def test_a_measure_is_plotted(opened: Tab, engine: Engine) -> None:
    [key] = names(
        engine, f"SELECT min(key) FROM {MEASURED} WHERE test = 'lat' AND value > 0 AND NOT stands_in"
    )
    page = opened.show(f"#/plot?measure=lat.{key}", ".plot canvas")
    for name, choice in (("over", "firmware"), ("by", "model"), ("over", "started_at")):
        page.select_option(f"#{name}", choice)
        words = {"started_at": "date"}.get(choice, choice)
        page.wait_for_selector(
            f".plot[aria-label*='over {words};'] canvas" if name == "over" else ".plot canvas"
        )
    colors = """() => { const canvas = document.querySelector(".plot canvas");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(data.buffer)).size; }"""
    end = time.monotonic() + 20
    while page.evaluate(colors) <= 20:  # blank until Vega has drawn
        assert time.monotonic() < end
        page.wait_for_timeout(100)
    assert opened.complaints == []


@pytest.mark.parametrize("dark", [False, True])
def test_pages_are_for_everyone(browser: Browser, library: Path, dark: bool) -> None:
    """No fault that axe finds, nothing wider than a phone, all of it by keys."""
    settings: dict[str, Any] = {
        "color_scheme": "dark" if dark else "light",
        "viewport": {"width": 360, "height": 740},
    }
    with tab(browser, library, **settings) as one:
        for hash_, until in (
            ("#/", "#words"), ("#/run/0002-made-up", "h2"),
            ("#/compare/0002-made-up/0003-made-up", "h1:has-text('beside')"),
            ("#/sql", "#sql"), ("#/plot", ".plot canvas"),
        ):  # fmt: skip
            page = one.show(hash_, until)
            found = Axe().run(page).response["violations"]
            assert [(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in found] == [], (
                hash_
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, hash_
        page = one.show()
        page.reload()  # a page that was gone to has the focus already
        page.wait_for_selector("#words")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.type") == "checkbox":
                break
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2")
        assert page.inner_text("#chosen") == "(1)"


def test_without_scripts_the_newest_runs_are_there(browser: Browser, library: Path, engine: Engine) -> None:
    with tab(browser, library, java_script_enabled=False) as one:
        one.page.goto(one.address)
        columns = (
            "run",
            "test",
            "model",
            "firmware",
            "serial",
            "started_at",
            "state",
            "steady",
            "conformant",
        )
        wanted = engine.answer(
            f"SELECT {', '.join(columns)} FROM runs ORDER BY started_at DESC, run DESC LIMIT 100"
        )[1]
        shown = [text.split("\n")[0] for text in one.page.locator("tbody th").all_inner_texts()]
        assert shown[1:] == [cell_text("run", row[0]) for row in wanted][1:]  # the first is hostile, of lines
        assert len(shown) == 100


def test_a_folder_that_is_not_whole_says_so(browser: Browser, library: Path, tmp_path: Path) -> None:
    for name in ("index.html", "pages/page.js", "pages/style.css"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((library / name).read_bytes())
    for as_file in (False, True):
        with tab(browser, tmp_path, as_file=as_file) as one:
            page = one.show(until="[role=alert]")
            assert "data/runs.parquet" in page.inner_text("[role=alert]")
            assert len(page.query_selector_all("tbody tr")) == 100


def test_the_page_tells_its_scripts_all_files(library: Path) -> None:
    text = (library / "index.html").read_text().partition('id="index">')[2].partition("</script>")[0]
    told = json.loads(text)
    assert HOSTILE not in text
    assert {name for name in told["files"] if not (library / name).is_file()} == set()
