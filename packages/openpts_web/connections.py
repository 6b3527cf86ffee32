"""What a client can hold of the server: its connections, the time that they take, and lines of the log."""

import asyncio
import logging
import resource
import time
from typing import ClassVar, Final, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from openpts_web.safety import Rules

HEAD_S: Final = 10.0
"""Time for the head of a request, from the connection or from the last answer on."""
STUCK_S: Final = 60.0
"""Time in which a client takes nothing of what it has asked for."""
SHARE: Final = 64
MOST_CONNECTIONS: Final = min(256, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
_LINES_A_MINUTE: Final = 5
_MOST_MESSAGES: Final = 100
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"too many connections: close some, or try again later\n"
)


class Connection(H11Protocol):
    """A connection that ends where its client keeps it without need.

    Of a client with too many the one ends that has waited longest for a request: who asks at once gets an
    answer, also beside a flood from the same address. Proxies have no share, as many stand behind them.
    """

    rules: ClassVar[Rules]
    since_s: float = 0.0
    holder: str = ""
    _left_bytes: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the place of another one where there is none left."""
        super().connection_made(transport)
        self.since_s, address = self.loop.time(), (self.client or ("",))[0]
        self.holder = self.rules.client_of(address)
        others = [one for one in cast("set[Connection]", self.connections) if not one.transport.is_closing()]
        own = [one for one in others if one.holder == self.holder]
        if len(own) > SHARE and not self.rules.is_proxy(address):
            others = own
        elif len(others) <= MOST_CONNECTIONS:
            return
        waiting = (one for one in others if one is not self and one.is_waiting)
        if (oldest := min(waiting, key=lambda one: one.since_s, default=None)) is not None:
            oldest.transport.abort()
            return
        transport.write(_FULL)
        transport.close()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.since_s = self.loop.time()
        super().on_response_complete()

    def check(self) -> None:
        """End it where the client keeps us waiting."""
        now_s, left_bytes = self.loop.time(), self.transport.get_write_buffer_size()
        if not self.is_waiting and (not left_bytes or left_bytes != self._left_bytes):
            self._left_bytes, self.since_s = left_bytes, now_s
        elif now_s - self.since_s > (HEAD_S if self.is_waiting else STUCK_S):
            self.transport.abort()


def connections_by(rules: Rules) -> type[Connection]:
    """The connections of a server with these rules."""
    return type("Connection", (Connection,), {"rules": rules})


class Seldom(logging.Filter):
    """Lets each message of a log through some times a minute; the next one says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a message."""
        first_line, now_s = str(record.msg).partition("\n")[0], time.monotonic()
        since_s, count = self._seen.get(first_line, (now_s, 0))
        if now_s - since_s >= 60:
            if count > _LINES_A_MINUTE:
                record.msg = f"{record.msg} ({count - _LINES_A_MINUTE:,} more of these were left out)"
            since_s, count = now_s, 0
        if len(self._seen) > _MOST_MESSAGES:
            self._seen.clear()
        self._seen[first_line] = (since_s, count + 1)
        return count < _LINES_A_MINUTE
