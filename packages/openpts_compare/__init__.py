"""Runs beside each other: rows, comparison, limits, the gate, `verify` and the self-test."""
