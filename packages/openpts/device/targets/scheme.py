"""Targets that are named by a word and a colon, such as ``sim:enterprise-tlc``."""

from typing import Any, Final

from msgspec import Struct

from openpts.plugins import Kind, imported, load, offers

_OWN: Final = ("file",)
"""Words of the core's own."""


class Scheme(Struct, frozen=True):
    """What a word stands for. Its parts are functions, as ``module:function``, loaded on first use.

    ``what`` is such a target in words. ``device`` takes the operator's text and the id of the run, which may
    be None, and gives a context manager of a DeviceUnderTest. ``unopened`` takes the text and gives an
    UnopenedTarget. Of such targets nothing is claimed and nothing is watched over: a drive or a file that
    exists is opened by the guard alone, under its own name.

    ``quick``, ``fitting`` and ``at_scale`` may be left out: what ``--quick`` makes of a test there (choices,
    text), the same target in a size at which tests run (text, all choices, a stream for a line that says so),
    and at another scale (text, scale).
    """

    name: str
    what: str
    device: str
    unopened: str
    quick: str = ""
    fitting: str = ""
    at_scale: str = ""

    def part(self, name: str) -> Any:
        """The function of that part; None where there is none."""
        where = getattr(self, name)
        return imported(where) if where else None


def has_scheme(text: str) -> bool:
    """Whether the operator's text names a target of a scheme; known from metadata alone."""
    word, colon, _ = text.partition(":")
    return bool(colon) and word in offers(Kind.SCHEME, _OWN)


def scheme_of(text: str) -> Scheme | None:
    """The scheme of the operator's text; None: it names a drive or a file. Raises PluginError."""
    if not has_scheme(text):
        return None
    scheme: Scheme = load(offers(Kind.SCHEME, _OWN)[text.partition(":")[0]])
    return scheme
