"""Packages that a report can do without."""

from importlib import import_module
from typing import Any


def optional_module(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None
