"""What stands before the library: who may ask, by which name, how often, and what pages may do."""

import hashlib
import hmac
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from socket import gethostname
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from openpts.errors import RefusedError, UsageError
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
STREAMS_OF_A_CLIENT: Final = 50
FORM_S: Final = 10.0
SESSION_S: Final = 12 * 3600
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_OPEN_PATHS: Final = ("/login", "/static/")
_TOO_LARGE: Final = f"a form has {LARGEST_BODY} bytes at most"
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


class TooLargeError(UsageError):
    """A form is longer than any of ours."""


class Rules(Struct):
    """Who may ask: ``names`` are those by which browsers may call the server; without a ``token`` anyone.

    ``is_everywhere``: it listens on all addresses, by each of which it may be called. A site that has its own
    name lead here (DNS rebinding) calls it by that name, never by an address. ``proxies`` are those that are
    believed whom they ask for.
    """

    names: frozenset[str]
    token: str | None = None
    is_everywhere: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @classmethod
    def of(cls, host: str, names: Iterable[str], token: str | None, proxies: Iterable[str] = ()) -> "Rules":
        """The rules of a server at an address, which has these names besides.

        Raises UsageError for a proxy that is no address.
        """
        try:
            networks = tuple(ip_network(one) for one in proxies)
        except ValueError as error:
            raise UsageError(f"can't trust --proxy: {error}; give an address, such as 127.0.0.1") from error
        own = _LOCAL_NAMES if is_loopback(host) else (host, gethostname())
        is_everywhere = _is_address(host) and ip_address(host).is_unspecified
        return cls(frozenset(name.lower() for name in (*own, *names)), token, is_everywhere, networks)

    def knows_name(self, name: str) -> bool:
        """Whether a browser may call the server so."""
        return name in self.names or (self.is_everywhere and _is_address(name))

    def is_proxy(self, address: str) -> bool:
        """Whether it speaks for others."""
        return _is_address(address) and any(ip_address(address) in network for network in self.proxies)

    def client_of(self, peer: str, forwarded: str = "") -> str:
        """Whom a request counts for: the peer, or the last in ``forwarded`` that no proxy of ours has.

        A client of IPv6 has a network of 64 bits, all of whose addresses are its own.
        """
        client = peer
        for given in reversed(list(map(str.strip, forwarded.split(",")))):
            if not (self.is_proxy(client) and _is_address(given)):
                break
            client = given
        if not _is_address(client) or ip_address(client).version == 4:
            return client
        return str(ip_network((ip_address(client).packed, 64), strict=False))

    def admits_token(self, given: str) -> bool:
        """Whether a token is the right one."""
        return self.token is not None and _same(given, self.token)

    def new_session(self) -> str:
        """The session of one who had the token; it shows by itself that it had, and until when it holds."""
        name = f"{time.monotonic() + SESSION_S:.0f}-{secrets.token_urlsafe(24)}"
        return f"{name}.{self._sealed(name)}"

    def admits_session(self, session: str) -> bool:
        """Whether the holder of a session had the token a while ago, or needs none."""
        name, _, seal = session.partition(".")
        if self.token is None:
            return True
        return _same(seal, self._sealed(name)) and time.monotonic() < int(name.partition("-")[0])

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
        self._streams: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = list((_HEADERS | dict(message["headers"])).items())
            await send(message)

        peer = (scope.get("client") or ("",))[0]
        client = self._rules.client_of(peer, headers.get("x-forwarded-for", ""))
        is_stream = scope["path"].endswith("/events")
        if refusal := self._refusal(scope, headers, client, is_stream=is_stream):
            await _refuse(with_headers, *refusal, wants_json=scope["path"].startswith("/api/"))
            return
        self._streams[client] += is_stream
        try:
            await self._app(scope, _limited(receive, raises=scope["method"] == "POST"), with_headers)
        finally:
            self._streams[client] -= is_stream
            self._streams += Counter()  # leaves out those with none

    def _refusal(
        self, scope: Scope, headers: dict[str, str], client: str, *, is_stream: bool
    ) -> tuple[int, str] | None:
        """Status and reason of what is not answered."""
        length = headers.get("content-length", "0")
        if not self._rules.knows_name((_host_of(f"//{headers.get('host', '')}") or ("",))[0]):
            return (
                421,
                "this server does not have that name: start it with --name NAME to let browsers use it",
            )
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return 414, f"an address has {LONGEST_ADDRESS} bytes at most"
        if b"%00" in scope["query_string"]:
            return 400, "no text in an address has a NUL: leave %00 out"
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, _TOO_LARGE
        if many := self._too_many(client, is_stream=is_stream):
            return many
        session = _session_of(headers.get("cookie", ""))
        is_open = scope["path"].startswith(_OPEN_PATHS) or self._rules.admits_session(session)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if is_open or (scheme.lower() == "bearer" and self._rules.admits_token(bearer.strip())):
            return None
        return 401, "log in with the token of this server"

    def _too_many(self, client: str, *, is_stream: bool) -> tuple[int, str] | None:
        """The same of a client that asks too often, or for too much."""
        if not self._has_left(client):
            return 429, "too many requests: wait some seconds"
        if is_stream and self._streams[client] >= STREAMS_OF_A_CLIENT:
            return 429, f"you look on {STREAMS_OF_A_CLIENT} times already: close a page"
        if is_stream and self._streams.total() >= MOST_STREAMS:
            return 503, f"{MOST_STREAMS} viewers look on already: try again later"
        return None

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
    kept = f"Path=/; Max-Age={SESSION_S}; HttpOnly; SameSite=Strict"
    return f"{COOKIE}={session}; {kept}{'; Secure' if is_secure else ''}"


def _same(given: str, expected: str) -> bool:
    """Whether texts are equal, found in the same time for each that differs."""
    return hmac.compare_digest(given.encode(), expected.encode())


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


def _limited(receive: Receive, *, raises: bool) -> Receive:
    """What a client sends, as far as a form may be long, whatever it said beforehand.

    Behind that TooLargeError, where a form is read, or the client is no longer there.
    """
    left = LARGEST_BODY

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0 and raises:
            raise TooLargeError(_TOO_LARGE)
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
