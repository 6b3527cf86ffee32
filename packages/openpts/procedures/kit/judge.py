"""What finished runs are held against, beside the specification: openpts' own are limits in a file."""

from openpts.plugins import Kind, Parts, first


class Judge(Parts, frozen=True):
    """A judge's parts are ``module:object``, loaded on first use: help needs none that reads records.

    ``options`` are those of a run: called with the type of its conditions, or None for several tests.
    ``asked`` takes what was typed, removes its own, and gives an object whose ``ordered(order, test)`` is the
    order with it. ``stop`` makes a listener that ends a run early, where that was ordered. ``end`` says what
    became of a finished run (its folder, a stream or None), and raises where it failed. ``page`` (run,
    content) is one of the report, or None, ``figures`` (run, content) what ``--json`` has of it.
    """

    name: str
    options: str
    asked: str
    stop: str
    end: str
    page: str
    figures: str


def the_judge() -> Judge | None:
    """The first that there is, openpts' own before others. Raises PluginError."""
    judge: Judge | None = first(Kind.JUDGE)
    return judge
