"""What the native module is, what was built into it, and what the kernel gives it."""

import os
from typing import Final

from openpts import _native

AVAILABLE: Final = "available"
FEATURES: Final = {"traces": hasattr(_native, "trace_formats")}
"""The optional crate that the native module has, or lacks."""


def build() -> str:
    """Version of the native module, how it was compiled, and for which processor."""
    info = _native.build_info()
    return f"{info['version']} {info['profile']} {info['architecture']}"


def io_uring() -> str:
    """The end of a set-up of io_uring: ``AVAILABLE``, or the kernel's answer."""
    descriptor = os.memfd_create("openpts")
    try:
        return dict(_native.probe(descriptor, sector_bytes=512)[1])["io_uring"]
    finally:
        os.close(descriptor)
