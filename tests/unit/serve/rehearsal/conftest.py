"""Made-up machines as fixtures."""

from tests.data.system_trees import malformed, server, virtual_machine

__all__ = ["malformed", "server", "virtual_machine"]
