"""What stands before the library: who may ask, by which name, how often, and what pages may do."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from socket import gethostname
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from openpts.errors import RefusedError
from openpts.vocabulary.document import Failure

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE: Final = "openpts_session"
LARGEST_BODY: Final = 64 * 1024
LONGEST_ADDRESS: Final = 8 * 1024
REQUESTS_AT_ONCE: Final = 200.0
_REQUESTS_PER_S: Final = 50.0
_MOST_CLIENTS: Final = 4096
MOST_STREAMS: Final = 100
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_OPEN_PATHS: Final = ("/login", "/static/")
REPORT_POLICY: Final = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline' "
    "'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of a report, which brings its own scripts: they run apart from this site, and reach nothing of it."""
_HEADERS: Final = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-cache",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Rules(Struct):
    """Who may ask: ``names`` are those by which browsers may call the server; without a ``token`` anyone.

    ``is_everywhere``: it listens on all addresses, by each of which it may be called. A site that has its own
    name lead here (DNS rebinding) calls it by that name, never by an address.
    """

    names: frozenset[str]
    token: str | None = None
    is_everywhere: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @classmethod
    def of(cls, host: str, names: Iterable[str], token: str | None) -> "Rules":
        """The rules of a server at an address, which has these names besides."""
        own = _LOCAL_NAMES if is_loopback(host) else (host, gethostname())
        is_everywhere = _is_address(host) and ip_address(host).is_unspecified
        return cls(frozenset(name.lower() for name in (*own, *names)), token, is_everywhere)

    def knows_name(self, name: str) -> bool:
        """Whether a browser may call the server so."""
        return name in self.names or (self.is_everywhere and _is_address(name))

    def admits_token(self, given: str) -> bool:
        """Whether a token is the right one."""
        return self.token is not None and _same(given, self.token)

    def new_session(self) -> str:
        """The session of one who had the token; it shows that by itself."""
        name = secrets.token_urlsafe(24)
        return f"{name}.{self._sealed(name)}"

    def admits_session(self, session: str) -> bool:
        """Whether the holder of a session had the token, or needs none."""
        name, _, seal = session.partition(".")
        return self.token is None or _same(seal, self._sealed(name))

    def _sealed(self, name: str) -> str:
        return hmac.new(self.secret, name.encode(), hashlib.sha256).hexdigest()


def is_own_form(origin: str | None, host: str) -> bool:
    """Whether a page of the server that a browser calls ``host`` sent a form: browsers name where it was."""
    return origin is not None and _host_of(origin) is not None and _host_of(origin) == _host_of(f"//{host}")


class Shield:
    """The outermost application: refuses before anything is looked for, has its headers on all answers."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = list((_HEADERS | dict(message["headers"])).items())
            await send(message)

        is_stream = scope["path"].endswith("/events")
        if refusal := self._refusal(scope, headers, is_stream=is_stream):
            await _refuse(with_headers, *refusal, wants_json=scope["path"].startswith("/api/"))
            return
        self._streams += is_stream
        try:
            await self._app(scope, _limited(receive), with_headers)
        finally:
            self._streams -= is_stream

    def _refusal(self, scope: Scope, headers: dict[str, str], *, is_stream: bool) -> tuple[int, str] | None:
        """Status and reason of what is not answered."""
        length = headers.get("content-length", "0")
        if not self._rules.knows_name((_host_of(f"//{headers.get('host', '')}") or ("",))[0]):
            return (
                421,
                "this server does not have that name: start it with --name NAME to let browsers use it",
            )
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return 414, f"an address has {LONGEST_ADDRESS} bytes at most"
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, f"a form has {LARGEST_BODY} bytes at most"
        if not self._has_left((scope.get("client") or ("",))[0]):
            return 429, "too many requests: wait some seconds"
        if is_stream and self._streams >= MOST_STREAMS:
            return 503, f"{MOST_STREAMS} viewers look on already: try again later"
        session = _session_of(headers.get("cookie", ""))
        is_open = scope["path"].startswith(_OPEN_PATHS) or self._rules.admits_session(session)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if is_open or self._rules.admits_token(bearer):
            return None
        return 401, "log in with the token of this server"

    def _has_left(self, client: str) -> bool:
        """Take one of a client's requests: so many at once, and so many a second."""
        now_s = time.monotonic()
        left, since_s = self._left.pop(client, (REQUESTS_AT_ONCE, now_s))
        left = min(REQUESTS_AT_ONCE, left + (now_s - since_s) * _REQUESTS_PER_S)
        self._left[client] = (max(0.0, left - 1), now_s)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return left >= 1


def cookie(session: str, *, is_secure: bool) -> str:
    """The header that gives a browser its session; scripts and other sites never get it."""
    return f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if is_secure else ''}"


def _same(given: str, wanted: str) -> bool:
    """Whether texts are equal, found in the same time for each that differs."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _session_of(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _host_of(address: str) -> tuple[str, int | None] | None:
    """Name and port of an address; None of what is none."""
    try:
        found = urlsplit(address)
        return None if found.username is not None else ((found.hostname or "").lower(), found.port)
    except ValueError:
        return None


def _limited(receive: Receive) -> Receive:
    """What a client sends, as far as a form may be long, whatever it said beforehand."""
    left = LARGEST_BODY

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return limited


async def _refuse(send: Send, status: int, reason: str, *, wants_json: bool) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    body = f"{reason}\n".encode()
    if wants_json:
        headers = [(b"content-type", b"application/json")]
        body = msgspec.json.encode(Failure(error=reason, exit_code=RefusedError.exit_code))
    elif status == 401:
        status, headers, body = 303, [(b"location", b"/login")], b""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
