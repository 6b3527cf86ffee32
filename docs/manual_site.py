"""Puts the pages of all packages into one folder, for zensical: `python -m docs.manual_site`."""

import re
import shutil
from os.path import relpath
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MANUAL: Final = ROOT / "build" / "manual"
_LINK: Final = re.compile(r"(?<=\]\()(?!\w+:|#)[^)#\s]+")


def assemble(manual: Path) -> None:
    """Copy docs/ and packages/*/docs/ there, flat; links between pages are rewritten."""
    shutil.rmtree(manual, ignore_errors=True)
    for source in (ROOT / "docs", *sorted(ROOT.glob("packages/*/docs"))):
        for path in sorted(source.rglob("*")):
            page = manual / path.relative_to(source)
            if path.is_dir() or path.suffix in {".py", ".pyc"}:
                continue
            if page.exists():
                raise ValueError(f"{path} has the name of another page of the manual: rename it")
            page.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".md":
                page.write_text(_flat(path, page, manual), encoding="utf-8")
            else:
                shutil.copy(path, page)


def _flat(path: Path, page: Path, manual: Path) -> str:
    def link(found: re.Match[str]) -> str:
        target = (path.parent / found[0]).resolve().relative_to(ROOT)
        in_manual = manual.joinpath(*target.parts[target.parts.index("docs") + 1 :])
        return relpath(in_manual, page.parent)

    return _LINK.sub(link, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    assemble(MANUAL)
