"""Traces of block I/O: captured, checked, converted, replayed."""
