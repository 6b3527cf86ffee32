"""The description of the interface in OpenAPI 3.1, from the types that it answers with."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import msgspec

from openpts.schema_words import without_indentation
from openpts.vocabulary.document import Failure
from openpts_compare.compare.figures import ComparisonDocument
from openpts_compare.gate.documents import GateDocument
from openpts_web.documents import RunPage, RunSelection
from openpts_web.queries import Filter
from openpts_web.trends import Trend

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
