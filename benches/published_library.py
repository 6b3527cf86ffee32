"""What a published library of 10,000 runs takes in Chromium: first paint, list, DuckDB, and questions.

Two tests are run on simulated drives and added to an archive, whose entries are varied as in
`benches.archive_queries`, with checksums of their own; none has deviations. It is published and served by
Python's own server, uncompressed. Chromium loads it with nothing in its cache, at 10 Mbit/s and 40 ms
there and back (DevTools' Network.emulateNetworkConditions).

    .venv/bin/python -m benches.published_library [--runs 10000] [--keep FOLDER]

The first paint is that of the browser's own paint timing. The list is ready when its fields are there.
Questions are put 20 times each, through the worker to the rows in the page; the list is shown as often.
"""

import argparse
import functools
import hashlib
import http.server
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benches.archive_queries import fill
from playwright.sync_api import Browser, Page, sync_playwright
from pyarrow import parquet
from tests.support.openpts_command import COMMAND

from openpts.record.frames import arrow_table
from openpts_many.archive.catalogue import CATALOGUE
from openpts_many.archive.tables import CATALOGUE_COLUMNS, parquet_bytes

_CHROMIUM: Final = "/usr/bin/chromium"
_ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_BITS_PER_S: Final = 10_000_000
_ROUND_TRIP_MS: Final = 40
_LOADS: Final = 5
_REPEATS: Final = 20
_MEASURED: Final = "measures JOIN runs USING (run)"
_QUESTIONS: Final = {
    "runs by model and firmware": "SELECT model, firmware, count(*) FROM runs GROUP BY ALL ORDER BY ALL",
    "a measure by model and firmware": (
        f"SELECT model, firmware, avg(value), stddev_samp(value), median(value) FROM {_MEASURED} "
        "WHERE key = 'rnd_4_kib_rw0.iops' GROUP BY ALL ORDER BY ALL"
    ),
    "the ten lowest values": (
        "SELECT run, value FROM measures WHERE key = 'rnd_4_kib_rw0.iops' ORDER BY value LIMIT 10"
    ),
    "a measure of all runs, each": (
        f"SELECT run, started_at, model, value FROM {_MEASURED} WHERE key = 'rnd_4_kib_rw0.iops' ORDER BY ALL"
    ),
    "runs of a label": "SELECT run, model FROM runs WHERE labels['lot'] = '7' ORDER BY ALL",
    "each measure's least and most, by firmware": (
        f"SELECT firmware, key, min(value), max(value) FROM {_MEASURED} GROUP BY ALL ORDER BY ALL"
    ),
}
_LISTS: Final = {
    "list: words": "#/?words=model-42+fw1",
    "list: two fields": "#/?test=lat&firmware=FW2",
    "list: sorted by model": "#/?order=model",
    "list: sorted by a measure": "#/?measure=iops.rnd_4_kib_rw0.iops&order=-measure",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--runs", type=int, default=10_000)
    arguments.add_argument("--keep", type=Path, help="leave archive and library here, and use them if there")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = chosen.keep or Path(temporary)
        if not (place / "archive").exists():
            fill(place / "archive", Path(temporary), chosen.runs, 0)
            _identify(place / "archive")
        started = time.monotonic()
        words = [*COMMAND, "publish", str(place / "archive"), str(place / "library")]
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
        print(f"published in {time.monotonic() - started:.1f} s")
        for one in sorted((place / "library" / "data").glob("[rd]*.parquet")):
            print(f"{one.name}: {one.stat().st_size / 1e6:.2f} MB")
        blocks = [one.stat().st_size for one in (place / "library" / "data").glob("measures-*.parquet")]
        print(f"measures: {len(blocks)} files, {sum(blocks) / 1e6:.2f} MB")
        with _served(place / "library") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
            _measure(browser, address)
            browser.close()


def _identify(archive: Path) -> None:
    """Checksums and times of each entry's own, which real ones have, and which do not compress."""
    for one in (archive / CATALOGUE).iterdir():
        rows = parquet.read_table(one).to_pylist()
        for row in rows:
            digest = hashlib.sha256(row["run"].encode()).hexdigest()
            row |= {"content_sha256": digest, "origin": digest[:16], "seed": int(digest[:15], 16)}
            row["added_at"] = row["started_at"].replace(
                "00:00:00", f"12:{int(digest[:2], 16) % 60:02}:00.{digest[-6:]}"
            )
        one.write_bytes(parquet_bytes([arrow_table(CATALOGUE_COLUMNS, rows)]))


def _measure(browser: Browser, address: str) -> None:
    loads = [_loaded(browser, address) for _ in range(_LOADS)]
    for name, values in zip(("first paint", "list ready"), zip(*loads, strict=True), strict=True):
        print(
            f"{name:44} median {statistics.median(values):6.0f} ms, most {max(values):6.0f} ms, of {_LOADS}"
        )
    page = browser.new_page()
    _throttle(page)
    page.goto(address)
    page.wait_for_selector("#words")
    first = page.evaluate(_TIMED_QUERY, "SELECT 1")
    print(f"{'DuckDB and all tables loaded':44} {first / 1000:.1f} s")
    every = []
    for kind, asked in ((_TIMED_QUERY, _QUESTIONS), (_TIMED_LIST, _LISTS)):
        for name, what in asked.items():
            times = [page.evaluate(kind, what) for _ in range(_REPEATS)]
            every += times
            print(f"{name:44} median {statistics.median(times):6.0f} ms, p95 {_p95(times):6.0f} ms")
    print(f"{'all of these':44} p95 {_p95(every):.0f} ms, most {max(every):.0f} ms, of {len(every)}")


_TIMED_QUERY: Final = """async (sql) => {
    const begin = performance.now();
    const { columns, rows } = await database.query(sql);
    document.getElementById("main").replaceChildren(...resultTable(columns, rows).filter(Boolean));
    document.body.offsetHeight;
    return performance.now() - begin;
}"""
_TIMED_LIST: Final = """async (address) => {
    history.replaceState(null, "", address);
    const begin = performance.now();
    await show();
    document.body.offsetHeight;
    return performance.now() - begin;
}"""


def _loaded(browser: Browser, address: str) -> tuple[float, float]:
    """First paint and list, both in ms after the navigation began, with nothing in the cache."""
    context = browser.new_context()
    page = context.new_page()
    _throttle(page)
    page.goto(address)
    page.wait_for_selector("#words")
    ready = page.evaluate("performance.now()")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return painted, ready


def _throttle(page: Page) -> None:
    speed: dict[str, Any] = {
        "offline": False,
        "latency": _ROUND_TRIP_MS,
        "downloadThroughput": _BITS_PER_S / 8,
        "uploadThroughput": _BITS_PER_S / 8,
    }
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", speed)


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class's name
        """Nothing: the figures are the output."""


if __name__ == "__main__":
    main()
