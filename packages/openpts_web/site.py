"""The server: each address has a page for people, and below /api the same for programs."""

import asyncio
import gzip
import mimetypes
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote

import jinja2
import msgspec
from markupsafe import Markup
from msgspec import Struct, field, structs
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from openpts.errors import OpenptsError, RecordError, RefusedError, UsageError
from openpts.run_folder_files import open_file
from openpts.schema_words import without_indentation
from openpts.system_files import SystemRoots
from openpts.units import format_capacity
from openpts.vocabulary.document import Failure
from openpts_compare.compare.figures import ComparisonDocument
from openpts_compare.gate.documents import GateDocument
from openpts_compare.limits.limits_file import Allowed
from openpts_pages.html import VEGA, rows_markup
from openpts_pages.model import Report, Table
from openpts_pages.plots.theme import DARK, LIGHT, WEB_FONTS, vega_config
from openpts_pages.plots.vega_lite import vega_lite_spec
from openpts_watch.stop_run import process_of
from openpts_web.comparing import Runs, ShownComparison, compared, gated
from openpts_web.control import Plans
from openpts_web.documents import RunFile, RunPage, RunSelection, RunSummary, is_in_progress
from openpts_web.index import Index
from openpts_web.live import Viewers, has_events
from openpts_web.queries import Filter, Trend, choices, grouped, measures, run_list, trend, trend_report
from openpts_web.safety import FORM_S, REPORT_POLICY, Rules, Shield, TooLargeError, cookie, is_own_form

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_FILTER: Final = msgspec.json.schema(Filter)["$defs"]["Filter"]["properties"]


class _Endpoint(NamedTuple):
    summary: str
    answer: Any
    query: Mapping[str, Any]


OPERATIONS: Final = {
    "/api/runs": _Endpoint("Runs, filtered and sorted.", RunSelection, _FILTER),
    "/api/runs/{id}": _Endpoint("A run with its figures and conditions.", RunPage, {}),
    "/api/runs/{id}/events": _Endpoint(
        "The events of a run as server-sent events; ids are offsets in bytes, for Last-Event-ID.",
        None,
        {"after": {"type": "integer", "minimum": 0}, "progress": {"type": "string", "enum": ["recent"]}},
    ),
    "/api/compare": _Endpoint(
        "Runs beside each other; those of one name form a set. By figures where a record is missing.",
        ComparisonDocument,
        {"run": _TEXTS, "name": _TEXTS, "base": _TEXT},
    ),
    "/api/gate": _Endpoint(
        "Verdicts on runs.",
        GateDocument,
        {"run": _TEXTS, "baseline": _TEXTS, "limit": _TEXTS, "allow": _TEXTS},
    ),
    "/api/trends": _Endpoint(
        "A measure over runs, with control limits.", Trend, {**_FILTER, "key": _TEXT, "by": _TEXT}
    ),
}
"""Each address below /api/ that answers with figures."""


@cache
def openapi() -> dict[str, Any]:
    """The whole document."""
    answers = [one.answer for one in OPERATIONS.values() if one.answer is not None]
    schemas, components = msgspec.json.schema_components(
        [*answers, Failure], ref_template="#/components/schemas/{name}"
    )
    by_type = dict(zip([*answers, Failure], schemas, strict=True))
    failure = _content(by_type[Failure])
    return {
        "openapi": "3.1.0",
        "info": {"title": "openpts: a library of runs", "version": version("openpts")},
        "paths": {
            path: {
                "get": {
                    "summary": one.summary,
                    "parameters": _parameters(path, one),
                    "responses": {
                        "200": {"description": "OK", "content": _content(by_type.get(one.answer))},
                        "default": {"description": "What is wrong", "content": failure},
                    },
                }
            }
            for path, one in OPERATIONS.items()
        },
        "components": {"schemas": without_indentation(components)},
    }


def _content(schema: dict[str, Any] | None) -> dict[str, Any]:
    return {"text/event-stream": {}} if schema is None else {"application/json": {"schema": schema}}


def _parameters(path: str, one: _Endpoint) -> list[dict[str, Any]]:
    in_path = [{"name": "id", "in": "path", "required": True, "schema": _TEXT}] if "{id}" in path else []
    in_query = [{"name": name, "in": "query", "schema": schema} for name, schema in one.query.items()]
    return [*in_path, *in_query]


_HERE: Final = Path(__file__).parent
_KINDS: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
STATIC: Final = frozenset({"style.css", "plots.js", "live.js", "library.js", "vega.js", "themes.json"})
"""The files below /static/."""
_LONGEST_TABLE: Final = 200


def templates(folder: Path) -> jinja2.Environment:
    """Templates of a folder, which escape all that they are given."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_text(name: str, **values: Any) -> str:
    """A page by the name of its template."""
    return _environment().get_template(f"{name}.html.j2").render(**values)


@cache
def _environment() -> jinja2.Environment:
    environment = templates(_HERE / "templates")
    environment.filters |= {
        "moment": lambda at: (at or "")[:16].replace("T", " "),
        "capacity": format_capacity,
        "base_name": os.path.basename,
    }
    environment.globals |= {"rows_of": lambda table: rows_markup(table, {}), "is_long": _is_long}
    environment.globals["specs_of"] = lambda report: as_json(specs_of(report))
    return environment


def specs_of(report: Report) -> dict[str, dict[str, Any]]:
    """The plots of a report in Vega-Lite with their values, by id."""
    tables = report.tables()
    drawn = (figure for figure in report.figures() if figure.kind != "columns3d")
    return {figure.id: vega_lite_spec(figure, tables) for figure in drawn}


def as_json(value: Any) -> Markup:
    """JSON for a block of data in a page: nothing in it ends the block, or begins a tag."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - what could be a tag is escaped above


def _is_long(table: Table) -> bool:
    return table.value_count > _LONGEST_TABLE or not table.printed


@cache
def static_file(name: str) -> tuple[bytes, str, str]:
    """Content, kind and encoding of a file of ``STATIC``."""
    if name == "vega.js":  # kept as browsers take it
        return VEGA.read_bytes(), _KINDS[".js"], "deflate"
    if name == "themes.json":
        return gzip.compress(msgspec.json.encode(themes()), mtime=0), "application/json", "gzip"
    content = style() if name == "style.css" else (_HERE / "static" / name).read_bytes()
    return gzip.compress(content, mtime=0), _KINDS[Path(name).suffix], "gzip"


def themes() -> dict[str, dict[str, Any]]:
    """How Vega draws, in both themes."""
    return {name: vega_config(one) | {"font": WEB_FONTS} for name, one in (("light", LIGHT), ("dark", DARK))}


def style() -> bytes:
    """The style sheet behind the colors of reports, in both themes."""
    light, dark = ("".join(f"--{n}:{color};" for n, color in one.tokens().items()) for one in (LIGHT, DARK))
    root = f":root{{color-scheme:light dark;--font:{WEB_FONTS};{light}}}\n"
    dark_rule = f"@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return f"{root}{dark_rule}".encode() + (_HERE / "static" / "style.css").read_bytes()


_STATUS: Final = {TooLargeError: 413, UsageError: 400, RefusedError: 403, RecordError: 422}
_PIECE_BYTES: Final = 256 * 1024
_DOWNLOADS: Final = (
    "report*", "run.db", "events.jsonl", "*SHA256SUMS", "data/*.csv", "report*/*.csv"
)  # fmt: skip
_SHOWN: Final = {".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8"}
_D = TypeVar("_D")


class Site(Struct):
    """What a server has; ``plans`` is None where nothing may be started or stopped."""

    index: Index
    runs: Runs
    rules: Rules
    plans: Plans | None = None
    viewers: Viewers = field(default_factory=Viewers)

    def application(self) -> Shield:
        """The application behind its shield."""
        routes = [
            Route("/", self._library),
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/runs/{id}", self._run),
            Route("/runs/{id}/live", self._live),
            Route("/runs/{id}/stop", self._stop, methods=["POST"]),
            Route("/runs/{id}/files/{name:path}", self._file),
            Route("/compare", self._compare),
            Route("/gate", self._gate),
            Route("/trends", self._trends),
            Route("/plans", self._start, methods=["GET", "POST"]),
            Route("/static/{name}", self._static),
            Route("/api/openapi.json", _answer(lambda _: openapi())),
            Route("/api/runs", _answer(self._run_list)),
            Route("/api/runs/{id}", _answer(self._run_page)),
            Route("/api/runs/{id}/events", self._events),
            Route("/api/compare", _answer(lambda request: self._comparison(request).document)),
            Route("/api/gate", _answer(lambda request: self._verdicts(request).document)),
            Route("/api/trends", _answer(self._trend)),
        ]
        handlers: Any = {OpenptsError: self._failed, HTTPException: self._failed}
        handlers[ClientDisconnect] = lambda *_: Response(status_code=400)  # which no client gets
        return Shield(Starlette(routes=routes, exception_handlers=handlers), self.rules)

    # ---- what is asked for

    def _run_list(self, request: Request) -> RunSelection:
        self.index.refresh()
        return run_list(self.index, Filter.of(request.query_params))

    def _run_page(self, request: Request) -> RunPage:
        """The run of the address, with its files of now."""
        self.index.refresh()
        page = self.index.page(request.path_params["id"])
        if page is None:
            raise HTTPException(404, "there is no such run here: it was moved or removed")
        folder = self.index.folder(page.summary.id)
        if folder is None:
            return page
        summary = structs.replace(page.summary, in_progress=is_in_progress(folder))
        return structs.replace(page, summary=summary, files=_files(folder))

    def _comparison(self, request: Request) -> ShownComparison:
        given = request.query_params
        return compared(self.runs, given.getlist("run"), given.getlist("name"), given.get("base", ""))

    def _verdicts(self, request: Request) -> ShownComparison:
        given = request.query_params
        limits = [
            line for text in given.getlist("limit") for line in map(str.strip, text.splitlines()) if line
        ]
        return gated(
            self.runs, given.getlist("run"), given.getlist("baseline"), limits, given.getlist("allow")
        )

    def _trend(self, request: Request) -> Trend:
        self.index.refresh()
        given = dict(request.query_params)
        key, by = given.pop("key", ""), given.pop("by", "")
        filtered = Filter.of(given)
        if not (filtered.test and key):
            raise UsageError("no trend: name a test, and the key of a measure of it")
        return trend(self.index, filtered, key, by)

    # ---- pages

    def _library(self, request: Request) -> Response:
        shown = self._run_list(request)
        now = [one for one in run_list(self.index, Filter(state="running")).runs if one.in_progress]
        given = Filter.of(request.query_params)
        asked: dict[str, Any] = {"list": shown, "rows": grouped(shown.runs), "filter": given, "now": now}
        return self._page(request, "library", choices=choices(self.index), **asked)

    def _run(self, request: Request) -> Response:
        return self._page(request, "run", page=self._run_page(request))

    def _live(self, request: Request) -> Response:
        page = self._run_page(request)
        self._events_folder(page.summary.id)
        return self._page(request, "live", page=page)

    def _compare(self, request: Request) -> Response:
        shown = self._comparison(request)
        given = request.query_params
        names = [*given.getlist("name"), *[""] * len(given.getlist("run"))]
        chosen = list(zip(self._summaries(given.getlist("run")), names, strict=False))
        return self._page(request, "compare", shown=shown, chosen=chosen, base=given.get("base", ""))

    def _gate(self, request: Request) -> Response:
        given = request.query_params
        ids, bases, limits = given.getlist("run"), given.getlist("baseline"), given.getlist("limit")
        shown, refusal = _unless_refused(self._verdicts, request) if any(limits) else (None, "")
        chosen = [
            (one, one.id in ids, one.id in bases) for one in self._summaries(dict.fromkeys([*ids, *bases]))
        ]
        return self._page(request, "gate", shown=shown, refusal=refusal, chosen=chosen, limits=limits,
                          allowed=list(Allowed), allow=given.getlist("allow"))  # fmt: skip

    def _trends(self, request: Request) -> Response:
        given = dict.fromkeys(("test", "key", "by", "model", "firmware"), "") | dict(request.query_params)
        shown, refusal = _unless_refused(self._trend, request) if given["key"] else (None, "")
        report = None if shown is None else trend_report(shown)
        self.index.refresh()
        return self._page(request, "trends", report=report, refusal=refusal, given=given,
                          measures=measures(self.index), choices=choices(self.index))  # fmt: skip

    async def _login(self, request: Request) -> Response:
        """The form for the token, and what it leads to."""
        refusal = ""
        if request.method == "POST":
            given = await self._own_form(request)
            if self.rules.admits_token(given.get("token", "")):
                is_secure = request.headers.get("x-forwarded-proto") == "https"
                header = cookie(self.rules.new_session(), is_secure=is_secure)
                return RedirectResponse("/", 303, headers={"set-cookie": header})
            refusal = "That is not the token."
        return self._page(request, "login", 403 if refusal else 200, refusal=refusal)

    async def _stop(self, request: Request) -> Response:
        await self._own_form(request)
        self._allowed_plans()
        with process_of(self._folder(request.path_params["id"]), SystemRoots()) as process:
            process.interrupt()
        return RedirectResponse(f"/runs/{request.path_params['id']}", 303)

    async def _start(self, request: Request) -> Response:
        """Plans that can be started, and what came of the last one."""
        plans, said, refusal = self._allowed_plans(), "", ""
        given = dict.fromkeys(("plan", "target", "serial"), "")
        if request.method == "POST":
            given |= await self._own_form(request)
            values = [given[name].strip() for name in ("plan", "target", "serial")]
            try:
                said = await run_in_threadpool(plans.start, *values)
            except OpenptsError as error:
                refusal = str(error)
        return self._page(request, "plans", 400 if refusal else 200, names=plans.names(), said=said,
                          refusal=refusal, given=given)  # fmt: skip

    # ---- files, streams

    def _file(self, request: Request) -> Response:
        """A file of a run folder: a report apart from this site, all else to download."""
        folder, name = self._folder(request.path_params["id"]), request.path_params["name"]
        found = next((one for one in _files(folder) if one.name == name), None)
        if found is None:
            raise HTTPException(404, "this run has no such file")
        kind = _SHOWN.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"content-security-policy": REPORT_POLICY, "content-length": str(found.size_bytes)}
        if not name.endswith(".html"):
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(Path(name).name)}"
        return StreamingResponse(_pieces(folder, found), media_type=kind, headers=headers)

    def _events(self, request: Request) -> Response:
        """The events of a run, from the beginning or behind the last that a reader has."""
        folder = self._events_folder(request.path_params["id"])
        last = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        if not last.isdecimal() or len(last) > 18:
            raise UsageError(f"can't continue behind event {last!r}: its id is a number of bytes")
        recent = request.query_params.get("progress") == "recent"
        stream = self.viewers.stream(folder, int(last), only_recent=recent)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    def _static(self, request: Request) -> Response:
        if request.path_params["name"] not in STATIC:
            raise HTTPException(404, "there is no such file")
        content, kind, encoding = static_file(request.path_params["name"])
        return Response(content, media_type=kind, headers={"content-encoding": encoding})

    def _failed(self, request: Request, error: Exception) -> Response:
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        reason, code = str(error), getattr(error, "exit_code", 2)
        if isinstance(error, HTTPException):
            status, reason = error.status_code, error.detail
        if request.url.path.startswith("/api/"):
            failure = msgspec.json.encode(Failure(error=reason, exit_code=code))
            return Response(failure, status, media_type="application/json")
        return self._page(request, "failed", status, reason=reason)

    # ---- helpers

    def _page(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        text = page_text(name, may_control=self.plans is not None, path=request.url.path, **values)
        return Response(text, status, media_type="text/html")

    async def _own_form(self, request: Request) -> dict[str, str]:
        """The fields of a form that a page of this server sent. Raises RefusedError for any other.

        HTTPException for one that does not come to its end.
        """
        if not is_own_form(request.headers.get("origin"), request.headers.get("host", "")):
            raise RefusedError("refused: the form was not sent from a page of this server")
        try:
            async with asyncio.timeout(FORM_S):
                given = parse_qs((await request.body()).decode("latin-1"))
        except TimeoutError:
            raise HTTPException(408, f"the form did not come within {FORM_S:g} s: send it again") from None
        return {name: values[-1] for name, values in given.items()}

    def _allowed_plans(self) -> Plans:
        if self.plans is None:
            raise RefusedError("this server only shows: start it with --allow-control to stop and start runs")
        return self.plans

    def _summaries(self, ids: Any) -> list[RunSummary]:
        return [page.summary for run_id in ids if (page := self.index.page(run_id)) is not None]

    def _folder(self, run_id: str) -> Path:
        folder = self.index.folder(run_id)
        if folder is None:
            raise HTTPException(404, "there is no folder of such a run here")
        return folder

    def _events_folder(self, run_id: str) -> Path:
        folder = self._folder(run_id)
        if not has_events(folder):
            raise HTTPException(404, "this run wrote no events")
        return folder


def _answer(document: Callable[[Request], Any]) -> Callable[[Request], Response]:
    """What answers with a document as JSON."""

    def answer(request: Request) -> Response:
        return Response(msgspec.json.encode(document(request)), media_type="application/json")

    return answer


def _unless_refused(make: Callable[[Request], _D], request: Request) -> tuple[_D | None, str]:
    """What a form asks for, or why there is none, to stand beside the form."""
    try:
        return make(request), ""
    except OpenptsError as error:
        return None, str(error)


def _files(folder: Path) -> tuple[RunFile, ...]:
    """What of a run folder can be downloaded: files, and no links."""
    found: dict[str, RunFile] = {}
    for path in (path for pattern in _DOWNLOADS for path in sorted(folder.glob(pattern))):
        name = str(path.relative_to(folder))
        with suppress(OSError), open_file(folder, name) as file:
            found.setdefault(name, RunFile(name, file.seek(0, 2)))
    return tuple(found.values())


async def _pieces(folder: Path, of: RunFile) -> AsyncIterator[bytes]:
    """The content of a file, no more of it than was announced."""
    with open_file(folder, of.name) as file:
        left = of.size_bytes
        while left and (piece := await run_in_threadpool(file.read, min(_PIECE_BYTES, left))):
            left -= len(piece)
            yield piece
