"""Writes the report as one self-contained HTML file: tables and drawings first, interaction on top."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup

from openpts.report.model import Cell, Figure, Report, Table
from openpts.report.plot_series import slot_of
from openpts.report.svg import javascript_bundle, themed
from openpts.report.theme import DARK, LIGHT, WEB_FONTS, Scheme, vega_config
from openpts.report.vega_lite import vega_lite_spec

_TEMPLATES: Final = Path(__file__).parent / "templates"
_SVG_HEAD: Final = ' xmlns="http://www.w3.org/2000/svg"'
_LONGEST_TABLE: Final = 2_000
_XLINK_HEAD: Final = ' xmlns:xlink="http://www.w3.org/1999/xlink"'


def render_html(report: Report, drawings: Mapping[str, str]) -> str:
    """The whole report; ``drawings`` are the figures' SVGs by id, in light colours.

    Nothing in it asks for anything outside the file. Without scripts it shows drawings and tables.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        report=report,
        tables=report.tables(),
        lists={table.id: _as_list(table) for table in report.tables().values() if _is_long(table)},
        slot_of=slot_of,
        drawings={figure.id: _inline(drawings[figure.id], figure) for figure in _drawn(report, drawings)},
        style=Markup(_style()),  # noqa: S704 - our own file
        script=Markup((_TEMPLATES / "report.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        bundle=Markup(_script_text(javascript_bundle())),  # noqa: S704 - the Vega libraries
        data=Markup(_script_json(_plot_data(report))),  # noqa: S704 - escaped for a script element
    )


def _drawn(report: Report, drawings: Mapping[str, str]) -> list[Figure]:
    return [figure for figure in report.figures() if figure.id in drawings]


def _inline(svg: str, figure: Figure) -> Markup:
    """A drawing for the page: in the theme's colours, named for those who can't see it."""
    named = svg.replace(_SVG_HEAD, "", 1).replace(_XLINK_HEAD, "", 1)
    title = Markup('<svg role="img" aria-label="{}"').format(figure.alt)
    return Markup(themed(named.replace("<svg", title, 1), LIGHT))  # noqa: S704 - drawn by us, alt escaped


def _is_long(table: Table) -> bool:
    return not table.printed and table.value_count > _LONGEST_TABLE


def _as_list(table: Table) -> str:
    """A table as comma-separated text: the thousands of values of a long run in a tenth of the markup."""
    heads = ",".join(_quoted(column.label) for column in (table.head, *table.columns))
    rows = (",".join(_plain(cell) for cell in (row.head, *row.cells)) for row in table.rows)
    return "\n".join((heads, *rows))


def _plain(cell: Cell) -> str:
    """Numbers to nine significant digits, which no measurement exceeds; report.json has them whole."""
    return _quoted(cell.text) if cell.value is None else f"{cell.value:.9g}"


def _quoted(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\n') else text


def _style() -> str:
    """The style sheet behind the colours of both themes."""
    light, dark = _properties(LIGHT), _properties(DARK)
    return (
        f":root{{color-scheme:light;--font:{WEB_FONTS};{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root,:root:not(#never),:root[data-theme]{{color-scheme:light;{light}}}}}\n"
        + (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    )


def _properties(scheme: Scheme) -> str:
    return "".join(f"--{name}:{color};" for name, color in scheme.tokens().items())


def _plot_data(report: Report) -> dict[str, Any]:
    """What the script needs: the interactive specifications and the configuration of each theme."""
    tables = report.tables()
    return {
        "config": {
            name: {**vega_config(scheme), "font": WEB_FONTS}
            for name, scheme in (("light", LIGHT), ("dark", DARK))
        },
        "specs": {
            figure.id: vega_lite_spec(figure, tables, interactive=True)
            for figure in report.figures()
            if figure.kind != "columns3d"
        },
    }


def _script_json(value: object) -> str:
    """JSON that can't end the script element it stands in."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _script_text(script: str) -> str:
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
