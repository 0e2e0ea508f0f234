"""What exceptions of HTTP and other clients say: status, how long to wait, classes, and which error led to which.

Client libraries agree on no base class, so attributes are read: ``status_code`` (httpx, OpenAI, Azure), ``status``
(urllib, aiohttp, grpclib), ``http_status`` (Stripe), the same of ``response`` or ``resp``, botocore's dictionary, and
gRPC's ``code()``.
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
"""Errors of a chain that are looked at."""
_NAMES = ("status_code", "status", "http_status")
_BY_CODE = {**dict.fromkeys(THROTTLED_CODES, 429), **dict.fromkeys(UNDER_WAY_CODES, 409)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """An exception as it was read, with those that led to it."""

    mro: tuple[str, ...]
    """Names of classes with their modules, most derived first; those of the errors that it was raised from follow."""
    status: int | None
    """HTTP status of the first error that carries one."""
    retry_after: float | None
    """Seconds that the server asks to wait."""
    implied: bool
    """Whether that is of an error that was merely being handled when this one was raised."""


def read(error: BaseException) -> Read:
    """Read an exception: what it says itself, then what it was raised from, and then what was being handled.

    An error that was being handled without a word (``raise`` inside of ``except``) is only taken for the reason if it
    is one that passes: a tool that wraps a 503 may succeed later. It proves nothing about what had begun.

    Args:
        error: Raised by a tool.
    """
    own = list(_caused(error))
    found = _of(own)
    if found.status is not None or _passes(found):
        return found
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
    """The error, and those that it was explicitly raised from."""
    each: BaseException | None = error
    for _ in range(_DEEPEST):
        if each is None:
            return
        yield each
        alone = isinstance(each, BaseExceptionGroup) and len(each.exceptions) == 1
        each = (
            each.exceptions[0]
            if alone and isinstance(each, BaseExceptionGroup)
            else each.__cause__ or _held(each)
        )


def _held(error: BaseException) -> BaseException | None:
    """The error that urllib puts into its own one."""
    reason = _attribute(error, "reason") if "urllib.error.URLError" in _classes(error) else None
    return reason if isinstance(reason, BaseException) else None


def _classes(error: BaseException) -> list[str]:
    names = [f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__]
    return [_grpc_status(error), *names] if "grpc.RpcError" in names else names


def _grpc_status(error: BaseException) -> str:
    try:
        return f"grpc.StatusCode.{error.code().name}"  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a method of somebody else's class
        return "grpc.StatusCode"


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
    told = _inner(response, "Error").get("Code")
    code = _inner(response, "ResponseMetadata").get("HTTPStatusCode")
    return _BY_CODE.get(str(told), code if _fails(code) else None)


def _fails(code: Any) -> bool:
    """Whether a value is the status of a failure; what was answered with 200 and could not be read has none."""
    return isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599


def _inner(response: Any, name: str) -> Mapping[str, Any]:
    """A part of botocore's dictionary."""
    part = response.get(name) if isinstance(response, dict) else None
    return part if isinstance(part, dict) else {}


def _response(error: BaseException) -> Any:
    response = _attribute(error, "response")
    return _attribute(error, "resp") if response is None else response


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody else's class
        return None


def _retry_after(error: BaseException) -> float | None:
    response = _response(error)
    in_dictionary = _inner(response, "ResponseMetadata").get("HTTPHeaders")
    for headers in (_attribute(error, "headers"), _attribute(response, "headers"), in_dictionary):
        told = _header(headers, "Retry-After")
        seconds = None if told is None else _seconds(told, _header(headers, "Date"))
        if seconds is not None:
            return seconds
    return None


def _header(headers: Any, name: str) -> Any:
    """A header of whatever holds headers; a plain dictionary may spell it in lower case."""
    look = _attribute(headers, "get")
    if not callable(look):
        return None
    try:
        return next(
            (value for each in (name, name.lower()) if (value := look(each)) is not None), None
        )
    except Exception:  # noqa: BLE001 - somebody else's mapping
        return None


def _seconds(told: Any, sent: Any) -> float | None:
    """Seconds of a ``Retry-After``: a number, or a date (RFC 9110, 10.2.3) held against the response's own ``Date``."""
    try:
        seconds = float(told)
    except (TypeError, ValueError):
        until = _date(told)
        if until is None:
            return None
        seconds = (until - (_date(sent) or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(told: Any) -> datetime | None:
    if not isinstance(told, str):
        return None
    try:
        found = parsedate_to_datetime(told)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
