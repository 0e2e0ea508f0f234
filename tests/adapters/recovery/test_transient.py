"""Failures that are retried: errors of client libraries, their causes, and the time to wait."""

import asyncio
import http.client
import json
import urllib.error
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from enum import Enum
from typing import Any, cast

import pytest
from mcp import McpError
from mcp.types import ErrorData

from asyncguard import Fallback, GuardConfig, Timing, ToolFault
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure

EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0))


def asked(agent_of: AgentOf, *outcomes: Any, **declared: Any) -> tuple[Outcome, list[float]]:
    """One call of a pure tool with scripted outcomes, and when each attempt began."""
    look = scripted_tool("look", list(outcomes), args={"q": str})
    other = scripted_tool("other", ["from other"], args={"q": str})
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    specs = [pure("look", **declared), pure("other")]
    outcome = agent_of(model, [look, other], specs=specs, config=EXACT).run("Go.")
    return outcome, [call.started for call in look.calls]


def urllib_error(status: int, **headers: str) -> urllib.error.HTTPError:
    """An HTTP error of the standard library."""
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://shop", status, "no", message, None)


class AiohttpError(Exception):
    """An error with ``status`` and ``headers`` of its own, as aiohttp raises it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers = status, headers


class BotoError(Exception):
    """An error whose response is a dictionary."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.response: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": status}}


class ChunkedEncodingError(OSError):
    """Stands for requests' class of this name."""

    __module__ = "requests.exceptions"


def _throttled(code: str, **headers: str) -> BotoError:
    """Return botocore's error for throttling: its code tells it, the status is often 400."""
    error = BotoError(400)
    error.response["Error"] = {"Code": code}
    error.response["ResponseMetadata"]["HTTPHeaders"] = headers
    return error


def _like(module: str, name: str, *bases: type[Exception]) -> Exception:
    """An error of a library's class."""
    return cast("Exception", type(name, bases or (Exception,), {"__module__": module})("gone"))


class RpcError(Exception):
    """Stands for gRPC's class of this name, whose status is an enum that a method returns."""

    __module__ = "grpc"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._name = name

    def code(self) -> Any:
        """The status."""
        return cast("type[Enum]", Enum("StatusCode", {self._name: 1}))[self._name]


def _with_status(error: Exception, status: int) -> Exception:
    error.status = status  # type: ignore[attr-defined]
    return error


def _from(cause: Exception) -> Exception:
    """Return an error as ``raise ... from`` makes it."""
    error = RuntimeError("quote failed")
    error.__cause__ = cause
    return error


def _while_handling(first: Exception) -> Exception:
    """Return an error as a ``raise`` inside of ``except`` makes it."""
    error = RuntimeError("quote failed")
    error.__context__ = first
    return error


def _hiding(first: Exception) -> Exception:
    """Return an error as ``raise ... from None`` makes it."""
    error = _while_handling(first)
    error.__suppress_context__ = True
    return error


PASSING = {
    "urllib 503": urllib_error(503),
    "aiohttp 503": AiohttpError(503),
    "boto 503": BotoError(503),
    "chunked encoding": ChunkedEncodingError("broken"),
    "incomplete read": http.client.IncompleteRead(b"x"),
    "bad status line": http.client.BadStatusLine("x"),
    "asyncio incomplete read": asyncio.IncompleteReadError(b"x", 2),
    "url error of a refused connection": _while_handling(ConnectionRefusedError("down")),
    "from 503": _from(urllib_error(503)),
    "from a reset": _from(ConnectionResetError("reset")),
    "from a bare OSError": _from(OSError("io")),
    "from from 503": _from(_from(AiohttpError(503))),
    "while handling 503": _while_handling(AiohttpError(503)),
    "a group of one": ExceptionGroup("tasks", [AiohttpError(503)]),
    "boto throttling": _throttled("ThrottlingException"),
    "boto equal request under way": _throttled("TransactionInProgressException"),
    "boto endpoint": _like("botocore.exceptions", "ConnectionError"),
    "boto read timeout": _like("botocore.exceptions", "HTTPClientError"),
    "url error that holds a timeout": urllib.error.URLError(TimeoutError("slow")),
    "grpc unavailable": RpcError("UNAVAILABLE"),
    "grpc deadline": RpcError("DEADLINE_EXCEEDED"),
    "grpc exhausted": _from(RpcError("RESOURCE_EXHAUSTED")),
    "httpx broken encoding": _like("httpx", "DecodingError"),
    "MCP connection lost": McpError(ErrorData(code=-32000, message="Connection closed")),
    "MCP client's own limit of time": McpError(ErrorData(code=408, message="Timed out")),
    "requests no JSON": _like("requests.exceptions", "JSONDecodeError", ValueError),
    "aiohttp a page with status 200": _with_status(
        _like("aiohttp.client_exceptions", "ContentTypeError"), 200
    ),
}
LASTING = {
    "urllib 404": urllib_error(404),
    "aiohttp 422": AiohttpError(422),
    "from 404": _from(urllib_error(404)),
    "hiding 503": _hiding(AiohttpError(503)),
    "while handling 404": _while_handling(AiohttpError(404)),
    "status of something else": AiohttpError(3),
    "missing file": FileNotFoundError("x"),
    "boto validation": _throttled("ValidationException"),
    "url error of an unknown scheme": urllib.error.URLError("unknown url type: x"),
    "grpc invalid argument": RpcError("INVALID_ARGUMENT"),
    "a code that is no status": _with_status(RpcError("UNKNOWN"), 200),
    "MCP server's own error": McpError(ErrorData(code=-32000, message="Sold out")),
    "MCP invalid params": McpError(ErrorData(code=-32602, message="nights: required")),
    "JSON of whatever": json.JSONDecodeError("x", "x", 0),
    "group of two": ExceptionGroup("tasks", [AiohttpError(503), ValueError("x")]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_tried_again(name: str, agent_of: AgentOf) -> None:
    """A transient failure is retried, also where a tool has wrapped it in its own error."""
    outcome, started = asked(agent_of, PASSING[name], "found")
    assert started == pytest.approx([0.0, 1.0])
    assert outcome.answer("call_1_1") == "found"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_is_not(name: str, agent_of: AgentOf) -> None:
    """A lasting failure is not retried."""
    _, started = asked(agent_of, LASTING[name], "found")
    assert started == [0.0]


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def date(seconds: float) -> str:
    """A date of HTTP, some seconds from then."""
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "at"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": date(7), "Date": date(0)}, 7.0),
        ({"retry_after": date(7), "date": date(0)}, 7.0),
        ({"Retry_After": date(-7), "Date": date(0)}, 0.0),
        ({"Retry_After": "-7"}, 0.0),
        ({"Retry_After": date(7)}, 0.0),  # no Date, and long ago by this machine's clock
        ({"Retry_After": "soon"}, 1.0),
        ({"Retry_After": "nan"}, 1.0),
        ({"Retry_After": "Tue, 99 Foo 2026"}, 1.0),
    ],
    ids=str,
)
def test_the_server_says_when_to_come_back(
    headers: dict[str, str], at: float, agent_of: AgentOf
) -> None:
    """In seconds or as a date, which is held against the server's own clock; what cannot be read says nothing."""
    _, started = asked(agent_of, urllib_error(503, **headers), "found")
    assert started == pytest.approx([0.0, at])


def test_a_wrapped_error_says_when_to_come_back(agent_of: AgentOf) -> None:
    """The header stands on the error that another one was raised from."""
    _, started = asked(agent_of, _from(urllib_error(429, Retry_After="4")), "found")
    assert started == pytest.approx([0.0, 4.0])


def test_botocore_keeps_the_headers_in_its_dictionary(agent_of: AgentOf) -> None:
    """In lower case, as HTTP libraries give them."""
    _, started = asked(agent_of, _throttled("SlowDown", **{"retry-after": "5"}), "found")
    assert started == pytest.approx([0.0, 5.0])


def test_what_the_tool_itself_says_comes_first(agent_of: AgentOf) -> None:
    """A fault that is said to last is not tried again, whatever it was raised from."""
    fault = ToolFault("sold out", transient=False)
    fault.__cause__ = urllib_error(503)
    _, started = asked(agent_of, fault, "found")
    assert started == [0.0]


# -- answers that are errors ---------------------------------------------------------------------------------------

PRICE = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
ERRORS: list[dict[str, Any]] = [
    {"error": "temporarily unavailable"},
    {"error": {"code": 503, "message": "busy"}},
    {"errors": [{"title": "busy"}]},
    {"type": "about:blank", "title": "Service Unavailable", "status": 503},
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_answer_that_is_only_an_error_is_asked_for_once_more(
    error: Any, agent_of: AgentOf
) -> None:
    """It is no more of an answer than a page of HTML is."""
    answer = json.dumps({"price": 4})
    outcome, started = asked(agent_of, json.dumps(error), answer, result_schema=PRICE)
    assert len(started) == 2
    assert outcome.answer("call_1_1") == answer


def test_an_answer_that_stays_an_error_goes_to_the_sibling(agent_of: AgentOf) -> None:
    """An answer that is still an error after one retry is asked of the sibling."""
    error = json.dumps({"error": "busy"})
    fallbacks = (Fallback(tool="other"),)
    _, started = asked(agent_of, error, error, result_schema=PRICE, fallbacks=fallbacks)
    assert len(started) == 2


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"error": {"type": "string"}}},
        {"type": "object"},
    ],
    ids=str,
)
def test_an_error_that_the_schema_allows_is_an_answer(
    schema: dict[str, Any], agent_of: AgentOf
) -> None:
    """An answer that the declared schema allows is accepted, even if it looks like an error."""
    answer = json.dumps({"error": "none"})
    outcome, started = asked(agent_of, answer, result_schema=schema)
    assert len(started) == 1
    assert outcome.answer("call_1_1") == answer


@pytest.mark.parametrize(
    "answer", [{"error": "x", "price": "four"}, {"error": None}, {"note": "x"}], ids=str
)
def test_other_strange_answers_are_not_asked_for_again(answer: Any, agent_of: AgentOf) -> None:
    """Something of what was declared is there, or nothing says that it is an error."""
    _, started = asked(agent_of, json.dumps(answer), result_schema=PRICE)
    assert len(started) == 1
