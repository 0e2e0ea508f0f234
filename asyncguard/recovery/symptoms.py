"""What the symptom of a failed attempt says by itself: is it transient, is it a refusal, may the effect have begun?

All by tables of exception classes and HTTP statuses. The text of a failure is looked at for one purpose only: to tell a
call that does not fit the tool's signature from an error within the tool, where both have the same class.
"""

import re
from collections.abc import Mapping

from asyncguard.core.faults import ErrorCode, Symptom

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed."""

TRANSIENT_CLASSES = frozenset(
    {
        "builtins.ConnectionError",
        "builtins.TimeoutError",
        "builtins.BlockingIOError",
        "builtins.InterruptedError",
        "asyncio.exceptions.TimeoutError",
        "socket.gaierror",
        "httpx.TransportError",
        "httpx.ConnectError",
        "requests.exceptions.ConnectionError",
        "requests.exceptions.Timeout",
        "requests.exceptions.ChunkedEncodingError",
        "http.client.IncompleteRead",
        "http.client.BadStatusLine",
        "asyncio.exceptions.IncompleteReadError",
        "aiohttp.client_exceptions.ClientConnectionError",
        "aiohttp.client_exceptions.ClientPayloadError",
        "httpcore.NetworkError",
        "httpcore.RemoteProtocolError",
        "httpcore.TimeoutException",
        "urllib3.exceptions.HTTPError",
        "botocore.exceptions.ConnectionError",
        "botocore.exceptions.HTTPClientError",
        "httpx.DecodingError",
        "requests.exceptions.JSONDecodeError",
        "aiohttp.client_exceptions.ContentTypeError",
        "grpc.StatusCode.UNAVAILABLE",
        "grpc.StatusCode.DEADLINE_EXCEEDED",
        "grpc.StatusCode.RESOURCE_EXHAUSTED",
        "grpc.StatusCode.ABORTED",
    }
)
"""Exception classes, with their modules, which say that the way to the tool failed and not the tool. gRPC has one class
for all and says it by its status."""

THROTTLED_CODES = frozenset(
    {
        *(
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestThrottled",
            "RequestThrottledException",
        ),
        *(
            "TooManyRequestsException",
            "ProvisionedThroughputExceededException",
            "EC2ThrottledException",
            "SlowDown",
        ),
        *("RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException"),
    }
)
"""Codes by which AWS says 429, whatever status it says beside them (botocore's own list)."""

UNDER_WAY_CODES = frozenset({"TransactionInProgressException", "PriorRequestNotComplete"})
"""Codes by which AWS says 409: an earlier request, which may be an equal one, is still at work."""

BARE_OS_ERROR = "builtins.OSError"
"""Raised as itself, it is what is left of input and output going wrong; what will stay wrong has a class of its own
(no such file, no permission)."""

REFUSAL_STATUSES = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 417, 422, 428, 431})
"""HTTP statuses which say that the request as it stands is wrong (RFC 9110, RFC 6585). 404 is none of them: it speaks
of what was asked for, and 409 of the state that it is in."""

REFUSAL_CLASSES = frozenset(
    {
        "pydantic_core._pydantic_core.ValidationError",
        "pydantic.error_wrappers.ValidationError",
        "pydantic.v1.error_wrappers.ValidationError",
        "jsonschema.exceptions.ValidationError",
        "jsonschema_rs.ValidationError",
        "fastjsonschema.exceptions.JsonSchemaValueException",
        "marshmallow.exceptions.ValidationError",
        "langgraph.prebuilt.tool_node.ToolInvocationError",
    }
)
"""Exception classes, with their modules, which say that arguments were checked and did not pass."""

REFUSAL_TEXTS: Mapping[str, re.Pattern[str]] = {
    # Python's own words for a call by keyword that does not fit; a tool is never called by position, so a complaint
    # about the number of positional arguments comes from within it.
    "builtins.TypeError": re.compile(
        r"got an unexpected keyword argument '"
        r"|missing \d+ required (positional|keyword-only) arguments?: '"
        r"|missing required argument '"
        r"|is an invalid keyword argument for "
        r"|takes no keyword arguments$"
    ),
    # A tool that answers with its own error: the beginnings that LangGraph's ToolNode and MCP's server write.
    ErrorCode.TOOL_ERROR: re.compile(r"^(Error invoking tool '|Input validation error: )"),
}
"""Class (or :attr:`Symptom.error`) to what the text of a failure of that class says when the call was refused."""

DECLINED_STATUSES = frozenset(
    {
        400,
        401,
        402,
        403,
        404,
        405,
        407,
        410,
        411,
        412,
        413,
        414,
        415,
        416,
        417,
        421,
        422,
        423,
        424,
        425,
        426,
        428,
    }
    | {429, 431, 451}
)
"""HTTP statuses by which a service says that it did not carry the request out (RFC 9110, 4918, 6585, 8470).

Of the registered 4xx these say something else: 406 may be answered when the work is done and its answer fits no wanted
form, 408 is also written by gateways that stopped waiting, and 409 may mean that an equal request is done or under way.
"""

PERMISSION_STATUSES = frozenset({401, 402, 403, 407, 451})
"""HTTP statuses which say that this caller may not; neither repetition nor other arguments help."""

PERMISSION_CLASSES = frozenset({"builtins.PermissionError"})
"""Exception classes, with their modules, which say the same."""

ABSENT_STATUSES = frozenset({404})
"""HTTP statuses which say that there is nothing of the kind that was asked for."""

BROKEN_CLASSES = frozenset(
    {
        "builtins.OSError",
        "builtins.EOFError",
        "builtins.MemoryError",
        "http.client.HTTPException",
        "sqlite3.OperationalError",
        "grpc.RpcError",
    }
)
"""Exception classes, with their modules, which say that machine or network broke, for a while or for good."""

STOPPED = frozenset({ErrorCode.TIMEOUT, ErrorCode.CANCELLED, ErrorCode.CIRCUIT_OPEN})
"""Values of :attr:`Symptom.error` for attempts that somebody ended before the tool did."""


def is_transient(symptom: Symptom) -> bool:
    """Whether another attempt may succeed. What the tool itself says counts first, then status, then class."""
    if symptom.transient is not None:
        return symptom.transient
    if symptom.error == ErrorCode.TIMEOUT:
        return True
    if symptom.status is not None:
        return symptom.status in TRANSIENT_STATUSES
    return not TRANSIENT_CLASSES.isdisjoint(symptom.mro) or _bare(symptom.mro)


def _bare(mro: tuple[str, ...]) -> bool:
    """Whether an error of the chain is an ``OSError`` and nothing more; each one's classes end with ``object``."""
    starts = (0, *(place + 1 for place, name in enumerate(mro) if name == "builtins.object"))
    return any(mro[start : start + 1] == (BARE_OS_ERROR,) for start in starts)


def may_have_started(symptom: Symptom) -> bool:
    """Whether the effect may have begun.

    Only the tool can say that it had not. That a connection was refused says nothing: it may be the tool's second.
    """
    return symptom.started


def declined(symptom: Symptom) -> bool:
    """Whether the service said that it did not carry out the request; an exception of the tool's own says nothing."""
    return symptom.status in DECLINED_STATUSES and not symptom.implied


def refused(symptom: Symptom) -> bool:
    """Whether the tool said no to the call as it stands; never true of what is transient.

    A tool that calls another one wrongly, or checks something else than its arguments, fails in the same words: that
    cannot be told from outside, and it costs no more than a look at the contract.
    """
    if is_transient(symptom) or symptom.error in STOPPED:
        return False
    if symptom.status is not None:
        return symptom.status in REFUSAL_STATUSES
    if not REFUSAL_CLASSES.isdisjoint(symptom.mro):
        return True
    texts = (REFUSAL_TEXTS.get(name) for name in (symptom.error, *symptom.mro))
    return any(text is not None and text.search(symptom.message) for text in texts)
