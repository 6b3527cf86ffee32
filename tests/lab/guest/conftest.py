"""Fixtures of tests that run inside the lab's machine."""

from tests.device.conftest import attach, cleanup, mount, roots, run

__all__ = ["attach", "cleanup", "mount", "roots", "run"]
