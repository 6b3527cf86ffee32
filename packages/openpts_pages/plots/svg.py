"""Draws figures as SVG: the plots through Vega in other processes, 3D columns by themselves.

Vega runs on one processor and holds the interpreter meanwhile. A drawing depends on its specification alone,
so it is the same whichever process makes it, however many there are, and whether it was kept. For a page
drawings are in the theme's colors, named, and without what has no effect there: Vega writes each default out,
and roles that the drawing's one name replaces, a third of the file.
"""

import hashlib
import re
import resource
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import msgspec
import vl_convert
from markupsafe import Markup

from openpts.errors import OpenptsError
from openpts.kept_files import KeptKind
from openpts_pages.model import Figure, Page, Report, Table
from openpts_pages.plots.columns3d import columns_svg
from openpts_pages.plots.theme import (
    FONT,
    LIGHT,
    MEASURED_FONT_DIRECTORY,
    PLOT_TEXT_PX,
    ColorScheme,
    vega_config,
)
from openpts_pages.plots.vega_lite import vega_lite_spec

_ANY_PLOT = '{"mark":"point","data":{"values":[]},"encoding":{"x":{"field":"x"}}}'
_COORDINATES = re.compile(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"')
_LONG_FRACTION = re.compile(r"(\.\d\d)\d+")
_DOT = re.compile(
    r'<path transform="translate\(([-\d.]+),([-\d.]+)\)" d="M([-\d.]+),([-\d.]+)(h[^"M]*Z)" '
    r'(fill="[^"]*" stroke="[^"]*" stroke-width="0"[^>/]*)/>'
)
_MANY_DOTS = re.compile(rf"(?:{_DOT.pattern}){{20,}}")
_WITHOUT_ROOM = {"text", "title"}
_FIRST_LETTER = 0x1E00  # Latin letters of few languages, which the font has
_BRIEF = re.compile("[\u1e00-\u1eff]")
_DEFINED = re.compile(r'<\w+ id="([^"]+)"')
_IDENTIFIED = re.compile(r'(<\w+ id="|="url\(#)([^")]+)')


def drawing(spec: str) -> str:
    """The SVG of a specification (JSON), in light colors; the same in every process, for any figure.

    Raises ValueError for a specification that Vega refuses.
    """
    brief, texts = _with_brief_texts(spec)
    svg: str = renderer().vegalite_to_svg(brief, config=vega_config(LIGHT))
    svg = _BRIEF.sub(lambda found: escape(texts.get(found[0], found[0]), quote=False), svg)
    return _with_counted_identifiers(_with_dots_in_one(_with_short_numbers(svg)))


def _with_brief_texts(spec: str) -> tuple[str, dict[str, str]]:
    """The specification with a letter for each text whose width decides nothing, and the texts of letters.

    Vega opens the font four times for each letter that it measures, a third of the time of a drawing. In a
    frame of its own size Vega measures all; in a fixed one only the labels of ticks make room for others.
    """
    content = msgspec.json.decode(spec)
    letters: dict[str, str] = {}
    if content.get("autosize", {}).get("type") == "none" and not _BRIEF.search(spec):
        _shorten(content, letters)
    return spec_json(content), {letter: text for text, letter in letters.items()}


def _shorten(part: Any, letters: dict[str, str]) -> None:
    if isinstance(part, list):
        for one in part:
            _shorten(one, letters)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name in _WITHOUT_ROOM and isinstance(value, str) and value.strip():
                letter = chr(_FIRST_LETTER + len(letters))
                part[name] = letters.setdefault(value.strip(), letter) if _BRIEF.match(letter) else value
            else:
                _shorten(value, letters)


def of_figure(drawing: str, figure_id: str) -> str:
    """The drawing with identifiers of one figure, so that a page can have several."""
    return _IDENTIFIED.sub(rf"\g<1>{figure_id}-\g<2>", drawing)


@cache
def renderer() -> Any:
    """The Vega module, knowing how wide texts are in our font."""
    vl_convert.register_font_directory(str(MEASURED_FONT_DIRECTORY))
    return vl_convert


def start_renderer() -> None:
    """Have Vega loaded before the first drawing is asked for."""
    drawing(_ANY_PLOT)


def spec_json(spec: dict[str, Any]) -> str:
    """A specification as it goes to Vega: one line."""
    return msgspec.json.encode(spec).decode()


def _with_short_numbers(svg: str) -> str:
    """Places to a hundredth of a pixel: a third of the size, and nothing that an eye or a printer sees."""
    return _COORDINATES.sub(lambda match: _LONG_FRACTION.sub(r"\1", match[0]), svg)


def _with_dots_in_one(svg: str) -> str:
    """Thousands of equal dots as one path: the same picture in a quarter of the size."""

    def joined(dots: re.Match[str]) -> str:
        found = _DOT.findall(dots[0])
        if len({(shape, style) for *_, shape, style in found}) > 1:
            return dots[0]
        *_, shape, style = found[0]
        places = (f"M{float(x) + float(left):.2f},{float(y) + float(up):.2f}" for x, y, left, up, *_ in found)
        return f'<path d="{"".join(place + shape for place in places)}" {style}/>'

    return _MANY_DOTS.sub(joined, svg)


def _with_counted_identifiers(svg: str) -> str:
    """Identifiers counted per drawing: Vega counts per process, which no two builds would share."""
    numbers = {identifier: n for n, identifier in enumerate(dict.fromkeys(_DEFINED.findall(svg)))}
    return _IDENTIFIED.sub(lambda found: f"{found[1]}{numbers[found[2]]}", svg)


DRAWINGS: Final = KeptKind("drawings", most_bytes=200_000_000)


def kept_drawing(spec: str) -> str:
    """The drawing of a specification (JSON), or nothing where none is kept or it is damaged."""
    try:
        return (DRAWINGS.read(_digest(spec)) or b"").decode()
    except UnicodeDecodeError:
        return ""


def made_drawing(spec: str) -> str:
    """A specification drawn now, and kept. Raises ValueError if Vega refuses it."""
    made = drawing(spec)
    DRAWINGS.keep(_digest(spec), made.encode())
    return made


def _digest(spec: str) -> str:
    digest = _all_else().copy()
    digest.update(spec.encode())
    return digest.hexdigest()


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of everything a drawing depends on besides its specification."""
    digest = hashlib.sha256(version("vl-convert-python").encode())
    digest.update(msgspec.json.encode(vega_config(LIGHT)))
    digest.update(files("openpts_pages.plots").joinpath("svg.py").read_bytes())
    for font in sorted(MEASURED_FONT_DIRECTORY.iterdir()):
        digest.update(font.read_bytes())
    return digest


_LEAST_FILES: Final = 64
_LEAST_ADDRESSES: Final = 72 << 30
"""Bytes of addresses, of which V8, which runs Vega, reserves 64 GiB; it takes little memory."""


class DrawingPool:
    """Drawings that ``workers`` make; if a worker ends early, plots are drawn in this process."""

    def __init__(self, workers: Executor) -> None:
        """Raises OpenptsError where limits of the process let no plot be drawn."""
        _check_limits()
        self._workers = workers
        self._begun: dict[tuple[int, ...], tuple[str, Future[str]]] = {}
        self._kept: list[object] = []  # the objects whose identities are the keys of _begun

    def prepare(self) -> None:
        """Have Vega started beside all else, where nothing is kept."""
        if not DRAWINGS.any():
            self._workers.submit(start_renderer)

    def begin(self, pages: Iterable[Page]) -> None:
        """Start to draw the plots of pages that are ready, before the rest of the report is."""
        blocks = [block for page in pages for block in page.blocks]
        tables = {block.id: block for block in blocks if isinstance(block, Table)}
        for figure in blocks:
            if isinstance(figure, Figure) and figure.kind != "columns3d":
                self._plot(figure, tables)

    def plot_svg(self, figure: Figure, tables: Mapping[str, Table]) -> str:
        """The SVG of a figure of any kind but columns3d. Raises ValueError if Vega refuses it."""
        spec, future = self._plot(figure, tables)
        try:
            drawn = future.result()
        except BrokenProcessPool:
            drawn = made_drawing(spec)
        return of_figure(drawn, figure.id)

    def _plot(self, figure: Figure, tables: Mapping[str, Table]) -> tuple[str, Future[str]]:
        drawn = (figure, tables[figure.table_id], tables.get(figure.detail_table_id))
        key = tuple(map(id, drawn))
        if key not in self._begun:
            self._kept.append(drawn)
            spec = spec_json(vega_lite_spec(figure, tables))
            self._begun[key] = spec, self._drawing(spec)
        return self._begun[key]

    def _drawing(self, spec: str) -> Future[str]:
        known: Future[str] = Future()
        if kept := kept_drawing(spec):
            known.set_result(kept)
            return known
        try:
            return self._workers.submit(made_drawing, spec)
        except BrokenProcessPool as error:
            known.set_exception(error)
            return known


def draw_figures(report: Report, pool: DrawingPool | None = None) -> dict[str, str]:
    """SVG of each figure by its id, in light colors.

    With a ``pool`` its processes draw, else this one.
    """
    tables = report.tables()
    if pool is not None:
        pool.begin(report.pages())
    drawn: dict[str, str] = {}
    for figure in report.figures():
        if figure.kind == "columns3d":
            drawn[figure.id] = columns_svg(figure, tables[figure.table_id], LIGHT)
        else:
            drawn[figure.id] = _plot_svg(figure, tables) if pool is None else pool.plot_svg(figure, tables)
    return drawn


def _plot_svg(figure: Figure, tables: Mapping[str, Table]) -> str:
    spec = spec_json(vega_lite_spec(figure, tables))
    return of_figure(kept_drawing(spec) or made_drawing(spec), figure.id)


def _themed(svg: str, scheme: ColorScheme) -> str:
    """The SVG with its colors replaced by the theme's CSS custom properties, for one file in both themes."""
    names, pattern = _colors(scheme)
    return pattern.sub(lambda match: f"var(--{names[match[0].lower()]})", svg)


@cache
def _colors(scheme: ColorScheme) -> tuple[dict[str, str], re.Pattern[str]]:
    names = {color: name for name, color in scheme.tokens().items()}
    return names, re.compile("|".join(re.escape(color) for color in names), re.IGNORECASE)


_NAMESPACES: Final = re.compile(r' xmlns(?::xlink)?="[^"]*"')
_INVISIBLE: Final = re.compile(
    r'<path class="(?:background|foreground)"(?=[^>]* (?:display="none"|d="M0,0h0v0h0Z"))[^>]*/>'
)
# The page's style sheet has the font, the size and the weight.
_SAYS_NOTHING: Final = re.compile(
    r' (?:opacity="1"|stroke-width="1"|transform="translate\(0,0\)"|[xy]2="0"|font-weight="normal"'
    rf'|font-family="{FONT}"|font-size="{PLOT_TEXT_PX}px"|pointer-events="none"|display="inherit"'
    r'|class="[^"]*"|role="[^"]*"|aria-[a-z]+="[^"]*")'
)
_LONG_PATH: Final = re.compile(r' d="[^"]{400,}"')
_BEYOND_A_TENTH: Final = re.compile(r"(?<=\.\d)\d+")
_DOTS: Final = re.compile(
    r'<path d="((?:M[-\d.]+,[-\d.]+h([\d.]+)v\2h-\2Z){20,})" fill="([^"]*)" stroke="[^"]*" stroke-width="0"/>'
)


def inline_svg(svg: str, figure: Figure) -> Markup:
    """The figure's drawing for the page."""
    plain = _SAYS_NOTHING.sub("", _INVISIBLE.sub("", _NAMESPACES.sub("", svg)))
    short = _LONG_PATH.sub(lambda path: _BEYOND_A_TENTH.sub("", path[0]), _DOTS.sub(_as_caps, plain))
    head, _, rest = short.replace("<svg", '<svg role="img"', 1).partition(">")
    title = Markup("<title>{}</title>").format(figure.alt)
    return Markup(f"{head}>{title}{_themed(rest, LIGHT)}")  # noqa: S704 - drawn by us, alt escaped


def _as_caps(dots: re.Match[str]) -> str:
    """Equal squares as the ends of lines without length: only their places matter."""
    places, side, color = dots.groups()
    middle = f"{float(side) / 2:.2f}"
    points = places.replace(f"h{side}v{side}h-{side}Z", "h0")
    return (
        f'<path d="{points}" transform="translate({middle},{middle})" stroke="{color}" stroke-width="{side}" '
        'stroke-linecap="square"/>'
    )


def _check_limits() -> None:
    """Libraries that draw end the process, or break, where they get too little. Raises OpenptsError."""
    found = (
        (resource.RLIMIT_AS, _LEAST_ADDRESSES, "ulimit -v", 1024),
        (resource.RLIMIT_NOFILE, _LEAST_FILES, "ulimit -n", 1),
    )
    for kind, least, option, unit in found:
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY and limit < least:
            raise OpenptsError(
                f"can't draw the plots of a report with {option} {limit // unit}: at least {least // unit} "
                "is needed; raise it, and make the report with `openpts report FOLDER`"
            )
