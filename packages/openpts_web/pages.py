"""What all pages are made with: templates that escape what they show, one style, small scripts of our own."""

import gzip
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup

from openpts.units import format_capacity
from openpts_pages.html import VEGA, rows_markup
from openpts_pages.model import Report, Table
from openpts_pages.plots.theme import DARK, LIGHT, WEB_FONTS, vega_config
from openpts_pages.plots.vega_lite import vega_lite_spec

_HERE: Final = Path(__file__).parent
_KINDS: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
STATIC: Final = frozenset({"style.css", "plots.js", "live.js", "library.js", "vega.js", "themes.json"})
"""The files below /static/."""
_LONGEST_TABLE: Final = 200


def templates(folder: Path) -> jinja2.Environment:
    """Templates of a folder, which escape all that they are given."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_text(name: str, **values: Any) -> str:
    """A page by the name of its template."""
    return _environment().get_template(f"{name}.html.j2").render(**values)


@cache
def _environment() -> jinja2.Environment:
    environment = templates(_HERE / "templates")
    environment.filters |= {
        "moment": lambda at: (at or "")[:16].replace("T", " "),
        "capacity": format_capacity,
    }
    environment.globals |= {"rows_of": lambda table: rows_markup(table, {}), "is_long": _is_long}
    environment.globals["specs_of"] = lambda report: as_json(specs_of(report))
    return environment


def specs_of(report: Report) -> dict[str, dict[str, Any]]:
    """The plots of a report in Vega-Lite with their values, by id."""
    tables = report.tables()
    drawn = (figure for figure in report.figures() if figure.kind != "columns3d")
    return {figure.id: vega_lite_spec(figure, tables) for figure in drawn}


def as_json(value: Any) -> Markup:
    """JSON for a block of data in a page: nothing in it ends the block, or begins a tag."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - what could be a tag is escaped above


def _is_long(table: Table) -> bool:
    return table.value_count > _LONGEST_TABLE or not table.printed


@cache
def static_file(name: str) -> tuple[bytes, str, str]:
    """Content, kind and encoding of a file of ``STATIC``."""
    if name == "vega.js":  # kept as browsers take it
        return VEGA.read_bytes(), _KINDS[".js"], "deflate"
    if name == "themes.json":
        return gzip.compress(msgspec.json.encode(themes()), mtime=0), "application/json", "gzip"
    content = style() if name == "style.css" else (_HERE / "static" / name).read_bytes()
    return gzip.compress(content, mtime=0), _KINDS[Path(name).suffix], "gzip"


def themes() -> dict[str, dict[str, Any]]:
    """How Vega draws, in both themes."""
    return {name: vega_config(one) | {"font": WEB_FONTS} for name, one in (("light", LIGHT), ("dark", DARK))}


def style() -> bytes:
    """The style sheet behind the colors of reports, in both themes."""
    light, dark = ("".join(f"--{n}:{color};" for n, color in one.tokens().items()) for one in (LIGHT, DARK))
    root = f":root{{color-scheme:light dark;--font:{WEB_FONTS};{light}}}\n"
    dark_rule = f"@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return f"{root}{dark_rule}".encode() + (_HERE / "static" / "style.css").read_bytes()
