"""Traces of block I/O: captured, characterized, converted, replayed, and the tests that are made of them."""

from openpts import _native

if not hasattr(_native, "treat_traces"):
    raise ImportError("this build has no traces: build all of openpts with `make setup`")
