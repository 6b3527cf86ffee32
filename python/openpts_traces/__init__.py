"""Traces of block I/O: captured, characterized, converted, replayed, and the tests that are made of them."""
