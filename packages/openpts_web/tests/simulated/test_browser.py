"""The pages in a real browser, as readers use them."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import CHROMIUM
from tests.support.library_runs import TLC
from tests.support.openpts_command import COMMAND
from tests.support.processes import until as wait_until

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
_LISTENS = """window.violations = [];
addEventListener("securitypolicyviolation", (it) => violations.push(it.violatedDirective));"""
PICTURES = os.environ.get("OPENPTS_PICTURES")
"""Where the pictures of the manual are written, if they are to be renewed."""


@contextmanager
def served(place: Path, *options: object) -> Iterator[str]:
    """The address of `openpts serve`."""
    words = [*COMMAND, "serve", str(place), "--port", "0", *map(str, options)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            found = re.search(r"http://\S+/", process.stdout.readline())
            assert found
            yield found[0].rstrip("/")
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


@pytest.fixture(scope="module")
def address(library: Path) -> Iterator[str]:
    with served(library) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that may reach nothing but the server, in which nothing may go wrong."""
    wanted = getattr(request, "param", {})
    context = chromium.new_context(
        **{"viewport": {"width": 1280, "height": 900}, "base_url": address} | wanted
    )
    context.add_init_script(_LISTENS)
    found = context.new_page()
    wrong: list[str] = []
    found.on(
        "console",
        lambda message: wrong.append(message.text) if message.type in {"error", "warning"} else None,
    )
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
    found.on("request", lambda asked: asked.url.startswith((address, "data:")) or wrong.append(asked.url))
    yield found
    assert found.evaluate("window.violations ?? []") == []
    assert wrong == []
    context.close()


def until(page: Any, expression: str, at_most_s: float = 60.0) -> None:
    """Wait for the page to make an expression true; its policy lets Playwright's own way not in."""
    end = time.monotonic() + at_most_s
    while not holds(page, expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


def holds(page: Any, expression: str) -> bool:
    """Whether an expression is true; between two pages there is no element yet that it could ask."""
    try:
        return bool(page.evaluate(expression))
    except sync_api.Error:
        return False


def all_read(page: Any) -> None:
    while page.request.get("/api/runs").json()["unread"]:
        time.sleep(0.1)


def ids(page: Any) -> dict[str, str]:
    all_read(page)
    return {Path(one["place"]).name: one["id"] for one in page.request.get("/api/runs").json()["runs"]}


def paths(page: Any) -> dict[str, str]:
    found = ids(page)
    compared = "&".join(f"run={found[name]}" for name in ("tlc-1", "tlc-2", "qlc-1", "qlc-2"))
    return {
        "library": "/",
        "run": f"/runs/{found['tlc-1']}",
        "hostile": f"/runs/{found['hostile']}",
        "unreadable": f"/runs/{found['unreadable']}",
        "compare": f"/compare?{compared}",
        "gate": f"/gate?run={found['tlc-1']}&limit=lat.rnd-4k-rw0.art%20%3C=%201&allow=deviations",
        "trends": "/trends?test=lat&key=rnd_4_kib_rw0.art&by=label.lot&model=X100",
        "login": "/login",
    }


def opened(page: Any, path: str) -> None:
    """The page with its plots drawn."""
    page.goto(path, wait_until="load")
    until(page, "[...document.querySelectorAll('[data-plot]')].every((one) => one.dataset.drawn)")


PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
LOOKS = {"light": {}, "dark phone": {"color_scheme": "dark", **PHONE}}


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("page", LOOKS.values(), ids=LOOKS, indirect=True)
@pytest.mark.parametrize(
    "name", ["library", "run", "hostile", "unreadable", "compare", "gate", "trends", "login"]
)
def test_every_page_is_accessible_and_fits(page: Any, name: str) -> None:
    opened(page, paths(page)[name])
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("violations") == []


@pytest.mark.slow
@pytest.mark.parametrize("page", [{"color_scheme": "dark"}], indirect=True)
def test_dark_is_dark(page: Any) -> None:
    opened(page, paths(page)["compare"])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    plot = "getComputedStyle(document.querySelector('[data-plot] svg')).backgroundColor"
    assert page.evaluate(plot) == "rgb(20, 24, 29)"
    page.emulate_media(color_scheme="light")
    until(page, f"{plot} == 'rgb(255, 255, 255)'")


@pytest.mark.slow
def test_runs_are_found_and_compared_by_keyboard_alone(page: Any) -> None:
    all_read(page)
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    _tab_to(page, "name == 'q'")
    page.keyboard.type("client")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=client")
    assert page.locator(".runs tbody tr").count() == 2
    for _ in range(2):
        _tab_to(page, "name == 'run' && !checked")
        page.keyboard.press("Space")
    assert page.get_by_role("button", name="Compare (2)").is_visible()
    _tab_to(page, "textContent == 'Compare (2)'", back=True)
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    assert "client-qlc" in page.inner_text("main")


def _tab_to(page: Any, what: str, *, back: bool = False) -> None:
    """Go on by the tabulator until the element in focus is this one."""
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(f"(({{name, checked, textContent}}) => {what})(document.activeElement)"):
            return
    pytest.fail(f"no way by keyboard to {what}")


@pytest.mark.slow
def test_a_comparison_shows_first_what_differs_in_conditions(page: Any) -> None:
    opened(page, paths(page)["compare"])
    text = page.inner_text("main")
    assert 0 < text.index("NOT MADE ALIKE") < text.index("Write cache") < text.index("Key values of all runs")
    assert page.locator("[data-plot] svg").count() >= 3
    page.get_by_text("Sets: runs of one name").click()
    for number, name in enumerate(("old", "old", "new", "new")):
        page.locator("input[name=name]").nth(number).fill(name)
    page.get_by_role("button", name="Compare").click()
    until(page, "document.querySelector('main').innerText.includes('new beside old')")


@pytest.mark.slow
def test_limits_are_judged_from_the_library(page: Any) -> None:
    all_read(page)
    page.goto("/?model=X100&sort=run&order=up")
    page.get_by_label("Choose lot-1").check()
    page.get_by_role("button", name="Judge").click()
    page.get_by_label("Limits, one on each line").fill("lat.rnd-4k-rw0.art <= 0.000001\nlat.nonsense >= 1")
    page.get_by_role("button", name="Judge").click()
    assert "lat.nonsense" in page.get_by_role("alert").inner_text()
    page.get_by_label("Limits, one on each line").fill("lat.rnd-4k-rw0.art <= 0.000001")
    page.get_by_label("deviations").check()
    page.get_by_role("button", name="Judge").click()
    assert page.locator("h1 .verdict").inner_text() == "fail"


@pytest.mark.slow
def test_texts_of_drives_are_texts(page: Any) -> None:
    for path in (
        "/",
        paths(page)["hostile"],
        f"/compare?run={ids(page)['hostile']}&run={ids(page)['tlc-2']}",
    ):
        opened(page, path)
        assert "<script>alert(1)</script>" in page.inner_text("main")
        assert page.locator("main script:not([type='application/json']), main img").count() == 0


@pytest.mark.slow
def test_a_report_opens_and_reaches_nothing_of_the_library(page: Any) -> None:
    page.goto(paths(page)["run"])
    page.get_by_role("link", name="Report", exact=True).click()
    page.wait_for_selector("h1")
    assert page.evaluate("origin") == "null"
    with pytest.raises(sync_api.Error):
        page.evaluate("document.cookie")
    until(page, "document.querySelector('[data-live=yes]')")  # its own scripts draw its plots


@pytest.mark.slow
def test_without_scripts_words_and_tables_are_there(chromium: Any, page: Any, address: str) -> None:
    context = chromium.new_context(java_script_enabled=False, base_url=address)
    plain = context.new_page()
    for name, path in paths(page).items():
        plain.goto(path)
        assert len(plain.inner_text("main")) > 100, name
    context.close()


def _told(page: Any) -> dict[str, Any]:
    """All that a live page says."""
    parts = ("state", "phase", "tile-steps", "tile-mean", "tile-p999", "tile-max", "tracked", "plan", "notes")
    return {part: page.text_content(f"#{part}") for part in parts} | page.evaluate(
        "({...document.getElementById('live').dataset})"
    )


@pytest.mark.slow
@pytest.mark.on_disk
def test_a_live_page_goes_on_through_a_kill_and_a_resumption(
    chromium: Any, tmp_path: Path, openpts_run: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """It ends with the same as a page that was opened afterwards, and as the file says."""
    place, events = tmp_path / "runs", tmp_path / "events.jsonl"
    place.mkdir()
    target = f"file:{tmp_path}/scratch?size=64MiB"
    scale = "1/50" if PICTURES else "1/600"
    run = openpts_run("run", "lat", target, "--time-scale", scale, "--out", place / "now", events=events)
    wait_until(
        lambda: (
            (place / "now" / "run.db").exists() and events.exists() and b"run_started" in events.read_bytes()
        )
    )
    with suppress(FileExistsError):
        os.link(events, place / "now" / "events.jsonl")
    with served(place) as address:
        context = chromium.new_context(base_url=address)
        context.add_init_script(_LISTENS)
        page = context.new_page()
        page.goto("/")
        page.locator(".now a").click()
        until(page, "Number(document.getElementById('live').dataset.steps) >= 3")
        assert page.text_content("#state") == "running"
        if PICTURES:
            until(page, "document.querySelectorAll('#tracked tr').length > 0", 300)
            _picture(page, "web-live")
        run.kill()
        run.wait()
        until(page, "document.getElementById('state').textContent == 'cut off'")
        context.set_offline(True)
        resumed = openpts_run("resume", place / "now", events=events)
        page.wait_for_timeout(500)
        context.set_offline(False)
        until(page, "document.getElementById('live').dataset.attempts == 2")
        assert resumed.wait(120) == 0
        until(page, "document.getElementById('state').textContent == 'complete'")
        size = str((place / "now" / "events.jsonl").stat().st_size)
        until(page, f"document.getElementById('live').dataset.last == {size}")
        page.wait_for_timeout(300)
        other = context.new_page()
        other.goto(page.url)
        until(other, f"document.getElementById('live').dataset.last == {size}")
        other.wait_for_timeout(300)
        assert _told(other) == _told(page)
        assert "resumed" in page.text_content("#notes")
        assert page.evaluate("violations") == []
        context.close()


@pytest.mark.slow
def test_a_plan_is_started_from_its_page_and_runs_to_its_end(chromium: Any, tmp_path: Path) -> None:
    """By openpts itself, away from the server. Of a simulated drive nothing is destroyed, or confirmed."""
    place, plans = tmp_path / "runs", tmp_path / "plans"
    place.mkdir()
    plans.mkdir()
    (plans / "lab.toml").write_text('tests = ["lat"]\nquick = true\nseed = 1\n')
    (plans / "wrong.toml").write_text('tests = ["nothing"]\n')
    with served(place, "--allow-control", "--plans", plans) as address:
        context = chromium.new_context(base_url=address)
        page = context.new_page()
        page.goto("/")
        page.get_by_role("link", name="Plans").click()
        for plan, role in (("wrong.toml", "alert"), ("lab.toml", "status")):
            page.locator("select[name=plan]").select_option(plan)
            page.locator("input[name=target]").fill(TLC)
            page.locator("input[name=serial]").fill("SIM0001")
            page.get_by_role("button", name="Start").click()
            said = page.get_by_role(role).inner_text(timeout=120_000)
            assert ("nothing" in said) == (plan == "wrong.toml"), said
        assert "openpts attach" in said
        wait_until(lambda: [one["state"] for one in _runs(page) if not one["in_progress"]] == ["complete"])
        [run] = _runs(page)
        assert Path(run["place"]).is_relative_to(place)
        assert (run["test"], run["model"]) == ("lat", "enterprise-tlc")
        page.goto(f"/runs/{run['id']}")
        assert page.locator(".state").inner_text() == "complete"
        assert page.locator("[aria-label='Key values'] tbody tr").count() > 3
        page.get_by_role("link", name="Progress").click()
        until(page, "document.getElementById('state').textContent == 'complete'")
        context.close()


def _runs(page: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.request.get("/api/runs").json()["runs"]
    return found


@pytest.fixture
def openpts_run(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    begun: list[subprocess.Popen[str]] = []

    def start(*words: object, events: Path) -> "subprocess.Popen[str]":
        more = ("--no-report", "--events", events)
        log = (tmp_path / "log").open("a")
        begun.append(
            subprocess.Popen([*COMMAND, *map(str, (*words, *more))], stdout=log, stderr=log, text=True)
        )
        log.close()
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_pictures_of_the_manual(chromium: Any, library: Path, tmp_path: Path) -> None:
    """Of honest runs alone."""
    place = tmp_path / "runs"
    shutil.copytree(library, place, ignore=shutil.ignore_patterns("hostile", "unreadable"))
    with served(place) as address:
        page = chromium.new_page(base_url=address, viewport={"width": 1180, "height": 760})
        trend = "/trends?test=lat&key=rnd_4_kib_rw65.art&by=label.lot&model=X100"
        found = ids(page)
        compared = "&".join(f"run={found[name]}" for name in ("tlc-1", "tlc-2", "tlc-3", "qlc-1", "qlc-2"))
        for name, path in (("library", "/"), ("compare", f"/compare?{compared}"), ("trends", trend)):
            opened(page, path)
            _picture(page, f"web-{name}", tmp_path)
            assert (Path(PICTURES or tmp_path) / f"web-{name}.png").stat().st_size > 10_000


def _picture(page: Any, name: str, folder: Path | None = None) -> None:
    if place := PICTURES or folder:
        page.screenshot(path=Path(place) / f"{name}.png")
