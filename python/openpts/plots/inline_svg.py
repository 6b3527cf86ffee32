"""Drawings for the page: in the theme's colors, named, and without elements that are of no use there.

Vega writes each default out, and roles that the drawing's one name replaces: a third of the file.
"""

import re
from typing import Final

from markupsafe import Markup

from openpts.pages.model import Figure
from openpts.plots.svg import themed
from openpts.plots.theme import FONT, LIGHT, PLOT_TEXT_PX

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
    return Markup(f"{head}>{title}{themed(rest, LIGHT)}")  # noqa: S704 - drawn by us, alt escaped


def _as_caps(dots: re.Match[str]) -> str:
    """Equal squares as the ends of lines without length: only their places matter."""
    places, side, color = dots.groups()
    middle = f"{float(side) / 2:.2f}"
    points = places.replace(f"h{side}v{side}h-{side}Z", "h0")
    return (
        f'<path d="{points}" transform="translate({middle},{middle})" stroke="{color}" stroke-width="{side}" '
        'stroke-linecap="square"/>'
    )
