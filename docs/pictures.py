"""Draws what README.md shows: `python -m docs.pictures`, with chromium for the report's first screen."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import vl_convert
from rich.console import Console
from rich.text import Text

from openpts import measures, read_run
from openpts_pages.plots.theme import FONT_DIRECTORY, LIGHT, vega_config

IMAGES: Final = Path(__file__).parent / "images"
_DRIVE: Final = "sim:enterprise-tlc"
_IDLE_MS: Final = {"openpts": 0.045, "fio, a process per step": 280.0, "fio, stonewall": 300.0}
"""Between two steps, by benches/step_gap.py on a quiet machine, as in docs/performance.md."""
_FROM_ELSEWHERE: Final = re.compile(r"@font-face {.*?}\s*", re.DOTALL)


def _run(folder: str, test: str) -> str:
    command = [sys.executable, "-m", "openpts", "run", test, _DRIVE, "--seed", "1", "--out", test]
    return subprocess.run(
        command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout


def _terminal(output: str) -> str:
    """The end of a run, from the round in which it was steady."""
    lines = output.splitlines()
    end = lines[next(n for n, line in enumerate(lines) if "steady state reached" in line) :]
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=100, file=nowhere)
        console.print(Text(f"$ openpts run iops {_DRIVE} --seed 1 --out iops", style="bold"))
        console.print(Text("\n".join(["...", *end])))
    return _FROM_ELSEWHERE.sub("", console.export_svg(title="openpts", unique_id="openpts"))


def _figure(run: Path, key: str) -> float:
    (value,) = (one.value for one in measures(read_run(run)) if one.key == key and one.value)
    return value


def _bars(title: str, figures: dict[str, float], unit: str) -> dict[str, Any]:
    rows = [
        {"what": what, "figure": figure, "text": f"{figure:,.6g} {unit}"} for what, figure in figures.items()
    ]
    x = {"field": "figure", "type": "quantitative", "axis": None}
    y = {"field": "what", "type": "nominal", "sort": None, "title": None, "axis": {"grid": False}}
    text = {"type": "text", "align": "left", "dx": 6, "fontSize": 12}
    return {
        "title": title,
        "width": 210,
        "height": {"step": 30},
        "data": {"values": rows},
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "bar", "height": 16}},
            {"mark": text, "encoding": {"text": {"field": "text"}}},
        ],
    }


def _why(fresh: float, settled: float) -> dict[str, Any]:
    """Why not a load generator and a minute: the drive idles between steps, and a fresh drive is fast."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "padding": 12,
        "spacing": 70,
        "hconcat": [
            _bars("The drive idles between two steps", _IDLE_MS, "ms"),
            _bars("4 KiB random writes, simulated drive", {"fresh": fresh, "settled": settled}, "IOPS"),
        ],
    }


def main() -> None:
    """Write terminal.svg, why.svg, report.png and report.pdf."""
    vl_convert.register_font_directory(str(FONT_DIRECTORY))
    chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    with TemporaryDirectory() as folder:
        (IMAGES / "terminal.svg").write_text(_terminal(_run(folder, "iops")), encoding="utf-8")
        _run(folder, "wsat")
        fresh = _figure(Path(folder, "wsat"), "rnd_4_kib_rw0.plateau_iops")
        why = _why(fresh, _figure(Path(folder, "iops"), "rnd_4_kib_rw0.iops"))
        svg = vl_convert.vegalite_to_svg(why, config=vega_config(LIGHT))
        (IMAGES / "why.svg").write_text(svg, encoding="utf-8")
        picture, page = IMAGES / "report.png", f"file://{folder}/iops/report.html"
        subprocess.run([*chromium, "--window-size=1180,860", f"--screenshot={picture}", page], check=True)
        shutil.copy(Path(folder, "iops", "report.pdf"), IMAGES)


if __name__ == "__main__":
    main()
