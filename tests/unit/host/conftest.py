"""Made-up machines as fixtures."""

from tests.data.system_trees import container, laptop, malformed, server, virtual_machine

__all__ = ["container", "laptop", "malformed", "server", "virtual_machine"]
