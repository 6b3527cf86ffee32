"""TCP ports for servers of tests."""

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

_FIRST = 10_000


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 which are free now, and which the kernel gives to no connection meanwhile."""
    ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found: list[int] = []
    with ExitStack() as stack:
        while len(found) < count:
            port = random.randrange(_FIRST, ephemeral)
            with suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
    return found
