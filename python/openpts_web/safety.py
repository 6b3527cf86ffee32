"""What stands between a browser and the library: who may ask, from where, how often, and what pages may do."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE: Final = "openpts_session"
LARGEST_BODY: Final = 64 * 1024
LONGEST_ADDRESS: Final = 8 * 1024
_PER_S: Final = 50.0
_AT_ONCE: Final = 200.0
_MOST_CLIENTS: Final = 4096
_MOST_STREAMS: Final = 100
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_OPEN_PATHS: Final = ("/login", "/static/")
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY: Final = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline' "
    "'unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of a report, which brings its own scripts: they run apart from this site, and reach nothing of it."""
_HEADERS: Final = {
    "content-security-policy": _PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Rules(Struct):
    """Who may ask: ``names`` are those of this server that browsers may use, ``token`` is None without one."""

    names: frozenset[str]
    token: str | None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @classmethod
    def of(cls, host: str, names: Iterable[str], token: str | None) -> "Rules":
        """The rules of a server at an address, which has these names besides."""
        own = _LOCAL_NAMES if is_loopback(host) else (host,)
        return cls(frozenset(name.lower() for name in (*own, *names)), token)

    def admits_token(self, given: str) -> bool:
        """Whether a token is the right one, in the same time for each wrong one."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _sealed(self, what: str, session: str) -> str:
        return hmac.new(self.secret, f"{what} {session}".encode(), hashlib.sha256).hexdigest()

    def new_session(self, *, admitted: bool) -> str:
        """A session, which shows by itself whether its holder had the token."""
        name = secrets.token_urlsafe(24)
        return f"{name}.{self._sealed('admitted' if admitted else 'guest', name)}"

    def admits_session(self, session: str) -> bool:
        """Whether the holder of a session had the token; anyone is in where there is none."""
        name, _, seal = session.partition(".")
        return self.token is None or hmac.compare_digest(seal, self._sealed("admitted", name))

    def knows_session(self, session: str) -> bool:
        """Whether this server made a session."""
        name, _, seal = session.partition(".")
        return any(hmac.compare_digest(seal, self._sealed(what, name)) for what in ("admitted", "guest"))

    def form_token(self, session: str) -> str:
        """What forms of a session carry, and pages of others can't know."""
        return self._sealed("form", session)

    def is_own_form(self, session: str, given: str, origin: str | None, host: str) -> bool:
        """Whether a form was sent from a page of this server, in this session."""
        same = origin is not None and urlsplit(origin).netloc.lower() == host.lower()
        known = self.knows_session(session) and hmac.compare_digest(given, self.form_token(session))
        return same and known


class Shield:
    """The outermost application: refuses before anything is looked for, and puts its headers on all answers."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        session = session_of(headers.get("cookie", ""))
        is_new = not self._rules.knows_session(session)
        scope["session"] = session = self._rules.new_session(admitted=False) if is_new else session
        scope["form_token"] = self._rules.form_token(session)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in own]
                if is_new and b"set-cookie" not in own:
                    more.append((b"set-cookie", cookie(session).encode()))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        if refusal := self._refusal(scope, headers, session):
            await _refuse(with_headers, *refusal, wants_json=scope["path"].startswith("/api/"))
            return
        is_stream = scope["path"].endswith("/events")
        self._streams += is_stream
        try:
            await self._app(scope, _limited(receive), with_headers)
        finally:
            self._streams -= is_stream

    def _refusal(self, scope: Scope, headers: dict[str, str], session: str) -> tuple[int, str] | None:
        """Status and reason of what is not answered."""
        if _host_name(headers.get("host", "")) not in self._rules.names:
            return (
                421,
                "this server does not have that name: start it with --name NAME to let browsers use it",
            )
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return 414, f"an address has {LONGEST_ADDRESS} bytes at most"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, f"a form has {LARGEST_BODY} bytes at most"
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return 405, "this server answers GET, HEAD and POST"
        if not self._has_left((scope.get("client") or ("", 0))[0]):
            return 429, "too many requests: wait some seconds"
        if scope["path"].endswith("/events") and self._streams >= _MOST_STREAMS:
            return 503, f"{_MOST_STREAMS} viewers look on already: try again later"
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if scope["path"].startswith(_OPEN_PATHS) or self._rules.admits_token(bearer):
            return None
        return None if self._rules.admits_session(session) else (401, "log in with the token of this server")

    def _has_left(self, client: str) -> bool:
        """Take one of a client's requests: so many at once, and so many a second."""
        now_s = time.monotonic()
        left, since_s = self._left.pop(client, (_AT_ONCE, now_s))
        left = min(_AT_ONCE, left + (now_s - since_s) * _PER_S)
        self._left[client] = (max(0.0, left - 1), now_s)
        while len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return left >= 1


def cookie(session: str, *, is_secure: bool = False) -> str:
    """The header that gives a browser its session; scripts and other sites never get it."""
    return f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if is_secure else ''}"


def session_of(header: str) -> str:
    """The session that a browser sends; empty without one."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _host_name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "") if host.count("]") <= 1 and "@" not in host else ""


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
    import msgspec  # noqa: PLC0415

    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    body = f"{reason}\n".encode()
    if status == 401 and not wants_json:
        status, headers, body = 303, [(b"location", b"/login")], b""
    elif wants_json:
        headers = [(b"content-type", b"application/json")]
        body = msgspec.json.encode({"schema": "openpts.error/1", "error": reason, "exit_code": 4})
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
