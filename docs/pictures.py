"""Draws the pictures of the README: `python -m docs.pictures`, with chromium for the report."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.text import Text

IMAGES: Final = Path(__file__).parent / "images"
_QUESTION: Final = ("check", "sim:client-qlc", "--for", "commit")
_RUN: Final = (
    "run",
    "wsat",
    "sim:client-qlc?capacity=64GB",
    "--class",
    "client",
    "--seed",
    "1",
    "--out",
    "run",
)
_WINDOW: Final = "1180,860"


def _openpts(folder: str, *words: str) -> str:
    command = [sys.executable, "-m", "openpts", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write terminal.svg and report.png."""
    with TemporaryDirectory() as folder:
        answer = _openpts(folder, *_QUESTION).partition("\nReport ")[0]
        with Path("/dev/null").open("w") as nowhere:
            console = Console(record=True, width=112, file=nowhere)
            console.print(Text(f"$ openpts {' '.join(_QUESTION)}", style="bold"))
            console.print(Text(answer))
        (IMAGES / "terminal.svg").write_text(console.export_svg(title="openpts", unique_id="openpts"))
        _openpts(folder, *_RUN)
        picture = IMAGES / "report.png"
        chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        page = f"file://{folder}/run/report.html"
        subprocess.run([*chromium, f"--window-size={_WINDOW}", f"--screenshot={picture}", page], check=True)


if __name__ == "__main__":
    main()
