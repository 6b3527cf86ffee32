"""Serves the application, with limits on what a client can hold."""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, cast

from openpts.errors import UsageError
from openpts_web.safety import Rules

_BACKLOG: Final = 64
"""As many are accepted at once, before any of them can be refused."""
_LONGEST_HEAD: Final = 32 * 1024
_TICK_S: Final = 0.5


def run_server(
    places: Sequence[str], host: str, port: int, *, rules: Rules, plans: Path | None, allow_control: bool,
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve until Ctrl-C; ``plans`` may be started with ``allow_control``.

    Raises UsageError without the packages, for a place without runs and for a port in use.
    """
    try:
        import starlette  # noqa: F401, PLC0415 only who serves installs them
        import uvicorn  # noqa: PLC0415 likewise
    except ImportError:
        raise UsageError("`openpts serve` needs Starlette and uvicorn: pip install 'openpts[web]'") from None
    from openpts_web.comparing import Runs  # noqa: PLC0415 likewise
    from openpts_web.connections import HEAD_S, Connection, Seldom, connections_by  # noqa: PLC0415 likewise
    from openpts_web.control import Plans  # noqa: PLC0415 likewise
    from openpts_web.index import Index  # noqa: PLC0415 likewise
    from openpts_web.site import Site  # noqa: PLC0415 likewise

    index = Index(places)
    library = Path(places[0]).resolve()
    control = Plans(plans or library, library) if allow_control else None
    site = Site(index, Runs(index), rules, control)
    listener = _listener(host, port)
    shown = f"[{host}]" if ":" in host else host
    tell(f"serving {', '.join(places)} on http://{shown}:{listener.getsockname()[1]}/")
    tell("Ctrl-C ends it.")
    config = uvicorn.Config(
        site.application(), log_level="warning", access_log=False, server_header=False, date_header=True,
        timeout_keep_alive=int(HEAD_S), proxy_headers=False, backlog=_BACKLOG,
        h11_max_incomplete_event_size=_LONGEST_HEAD, timeout_graceful_shutdown=2, lifespan="off",
        http=connections_by(rules), ws="none", loop="asyncio",
    )  # fmt: skip

    class Server(uvicorn.Server):
        """One that ends the streams of those who look on, and wakes as rarely as Ctrl-C may wait."""

        async def main_loop(self) -> None:
            """Wait for the end: uvicorn's own loop wakes ten times a second."""
            while not await self.on_tick(0):
                for one in cast("list[Connection]", [*self.server_state.connections]):
                    one.check()
                await asyncio.sleep(_TICK_S)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Let nothing continue."""
            site.viewers.is_ending = True
            await super().shutdown(sockets)

    seldom, logs = Seldom(), [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for log in logs:
        log.addFilter(seldom)
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        for log in logs:
            log.removeFilter(seldom)
        listener.close()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"can't listen on {host}, port {port}: {reason}; use another --port") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms for an ACK
    return listener
