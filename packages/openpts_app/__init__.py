"""Tests that do more than steps: programs of the operator, and power cuts."""
