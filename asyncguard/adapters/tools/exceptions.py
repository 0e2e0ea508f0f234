"""Reader of exceptions of HTTP and other clients: status, time to wait, classes, and causes.

Client libraries have no common base class, so attributes are read: ``status_code`` (httpx, OpenAI,
Azure), ``status`` (urllib, aiohttp, grpclib), ``http_status`` (Stripe), the same of ``response`` or
``resp``, botocore's dictionary, gRPC's ``code()``, and the JSON-RPC ``error`` of an MCP client.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from asyncguard.core.faults import Symptom
from asyncguard.recovery.symptoms import THROTTLED_CODES, UNDER_WAY_CODES, is_transient

_DEEPEST = 8
"""Number of errors of a chain that are read."""
_NAMES = ("status_code", "status", "http_status")
_MCP_ERRORS = frozenset({"mcp.shared.exceptions.McpError", "mcp.shared.exceptions.MCPError"})
"""The class of all failures of an MCP client, under its names in mcp 1 and mcp 2."""
_BY_CODE = {**dict.fromkeys(THROTTLED_CODES, 429), **dict.fromkeys(UNDER_WAY_CODES, 409)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """Facts about an exception and those that led to it."""

    mro: tuple[str, ...]
    """Names of classes with their modules, most derived first, followed by those of its causes."""
    status: int | None
    """HTTP status of the first error that carries one."""
    retry_after: float | None
    """Seconds that the server asks to wait."""
    implied: bool
    """True if the facts are those of an error that was being handled, not of an explicit cause."""


def read(error: BaseException) -> Read:
    """Read an exception, then its explicit causes, then the error that was being handled.

    An error that was being handled implicitly (``raise`` inside ``except``) counts as the reason
    only if it is transient: a tool that wraps a 503 may succeed later. It proves nothing about what
    had begun.

    Args:
        error: Raised by a tool.
    """
    own = list(_caused(error))
    found = _of(own)
    if found.status is not None or _passes(found):
        return found
    # The context of the last cause: what was being handled when the chain began.
    handled = own[-1].__context__
    if handled is None or own[-1].__suppress_context__:
        return found
    earlier = _of(list(_caused(handled)))
    return (
        replace(earlier, mro=(*found.mro, *earlier.mro), implied=True)
        if _passes(earlier)
        else found
    )


def _caused(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its explicit causes."""
    each: BaseException | None = error
    for _ in range(_DEEPEST):  # limited, as a chain may be a cycle
        if each is None:
            return
        yield each
        if isinstance(each, BaseExceptionGroup) and len(each.exceptions) == 1:
            each = each.exceptions[0]
        elif each.__cause__ is not None:
            each = each.__cause__
        else:
            # urllib stores the error in its own one, and sets no cause.
            inner = (
                _attribute(each, "reason") if "urllib.error.URLError" in _classes(each) else None
            )
            each = inner if isinstance(inner, BaseException) else None


def _classes(error: BaseException) -> list[str]:
    names = [f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__]
    if "grpc.RpcError" in names:
        try:
            code = f"grpc.StatusCode.{error.code().name}"  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - a method of a foreign class
            code = "grpc.StatusCode"
        names.insert(0, code)
    if not _MCP_ERRORS.isdisjoint(names):
        names.insert(0, f"mcp.{_mcp_code(error)}")
    return names


def _mcp_code(error: BaseException) -> Any:
    """Return the JSON-RPC code of an MCP error, a symbol where the client itself makes it.

    The client reports a lost connection with -32000, which servers may use for errors of their own.
    """
    code = _attribute(_attribute(error, "error"), "code")
    closed = code == -32000 and str(error) == "Connection closed"
    return "CONNECTION_CLOSED" if closed else code


def _of(errors: list[BaseException]) -> Read:
    mro = tuple(name for error in errors for name in _classes(error))
    status = next((code for error in errors if (code := _status(error)) is not None), None)
    waits = next((wait for error in errors if (wait := _retry_after(error)) is not None), None)
    return Read(mro=mro, status=status, retry_after=waits, implied=False)


def _passes(found: Read) -> bool:
    return is_transient(Symptom(error="", message="", mro=found.mro, status=found.status))


def _status(error: BaseException) -> int | None:
    response = _response(error)
    for holder in (error, response):
        for name in _NAMES:
            code = _attribute(holder, name)
            if _fails(code):
                return int(code)
    if not _MCP_ERRORS.isdisjoint(_classes(error)) and _fails(_mcp_code(error)):
        return int(_mcp_code(error))  # 408: the client's own limit of time
    # botocore: its codes are more exact than the HTTP status, which is 400 for throttling, too.
    named = _inner(response, "Error").get("Code")
    code = _inner(response, "ResponseMetadata").get("HTTPStatusCode")
    return _BY_CODE.get(str(named), code if _fails(code) else None)


def _fails(code: Any) -> bool:
    """Return True for the HTTP status of a failure; an unreadable answer with 200 has none."""
    return isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599


def _inner(response: Any, name: str) -> Mapping[str, Any]:
    """Return a part of botocore's dictionary, empty if there is none."""
    part = response.get(name) if isinstance(response, dict) else None
    return part if isinstance(part, dict) else {}


def _response(error: BaseException) -> Any:
    response = _attribute(error, "response")
    return _attribute(error, "resp") if response is None else response


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class
        return None


def _retry_after(error: BaseException) -> float | None:
    response = _response(error)
    in_dictionary = _inner(response, "ResponseMetadata").get("HTTPHeaders")
    for headers in (_attribute(error, "headers"), _attribute(response, "headers"), in_dictionary):
        value = _header(headers, "Retry-After")
        seconds = None if value is None else _seconds(value, _header(headers, "Date"))
        if seconds is not None:
            return seconds
    return None


def _header(headers: Any, name: str) -> Any:
    """Return a header from any mapping of headers; a plain dictionary may use lower case."""
    look = _attribute(headers, "get")
    if not callable(look):
        return None
    try:
        return next(
            (value for each in (name, name.lower()) if (value := look(each)) is not None), None
        )
    except Exception:  # noqa: BLE001 - a foreign mapping
        return None


def _seconds(value: Any, sent: Any) -> float | None:
    """Return the seconds of a ``Retry-After``: a number, or a date (RFC 9110, 10.2.3)."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        until = _date(value)
        if until is None:
            return None
        # Against the response's own date, so that a wrong clock of this machine does not matter.
        seconds = (until - (_date(sent) or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        found = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
