"""Symptoms of a failed attempt: transient or not, refusal or not, effect possibly begun or not.

All is decided by tables of exception classes and HTTP statuses. The text of a failure is read for
one purpose only: to distinguish a call that does not fit the tool's signature from an error within
the tool, where both have the same class.
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
        "mcp.CONNECTION_CLOSED",
    }
)
"""Exception classes, with their modules, of failures on the way to the tool.

gRPC and MCP have one class for all failures and distinguish them by status or code.
"""

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
"""Codes by which AWS reports throttling (429), whatever status comes with them.

The list is that of botocore.
"""

UNDER_WAY_CODES = frozenset({"TransactionInProgressException", "PriorRequestNotComplete"})
"""Codes by which AWS reports a conflict (409): an earlier, perhaps equal request still runs."""

BARE_OS_ERROR = "builtins.OSError"
"""Class of input and output errors that have no class of their own.

Errors that persist (no such file, no permission) have a subclass; the bare class may pass.
"""

REFUSAL_STATUSES = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 417, 422, 428, 431})
"""HTTP statuses which say that the request as it stands is wrong (RFC 9110, RFC 6585).

404 is not one of them: it concerns what was asked for, and 409 the state that it is in.
"""

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
        "mcp.-32602",  # JSON-RPC: invalid params
    }
)
"""Exception classes, with their modules, raised when arguments were checked and rejected."""

REFUSAL_TEXTS: Mapping[str, re.Pattern[str]] = {
    # Python's own words for a call by keyword that does not fit. A tool is never called by
    # position, so a complaint about the number of positional arguments comes from within it.
    "builtins.TypeError": re.compile(
        r"got an unexpected keyword argument '"
        r"|missing \d+ required (positional|keyword-only) arguments?: '"
        r"|missing required argument '"
        r"|is an invalid keyword argument for "
        r"|takes no keyword arguments$"
    ),
    # A tool that answers with an error text: the prefixes of LangGraph's ToolNode and of MCP's
    # server, whose FastMCP names the model that it makes of a tool's arguments.
    ErrorCode.TOOL_ERROR: re.compile(
        r"^(Error invoking tool '|Input validation error: "
        r"|Error executing tool \S+: \d+ validation errors? for \w+Arguments\n)"
    ),
}
"""Pattern that a refusal's text matches, by class (or :attr:`Symptom.error`) of the failure."""

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
"""HTTP statuses of requests that were not carried out (RFC 9110, 4918, 6585, 8470).

Of the registered 4xx these say something else: 406 may be answered when the work is done and its
answer fits no wanted form, 408 is also written by gateways that stopped waiting, and 409 may mean
that an equal request is done or under way.
"""

PERMISSION_STATUSES = frozenset({401, 402, 403, 407, 451})
"""HTTP statuses of a missing permission; neither repetition nor other arguments help."""

PERMISSION_CLASSES = frozenset({"builtins.PermissionError"})
"""Exception classes, with their modules, of a missing permission."""

ABSENT_STATUSES = frozenset({404})
"""HTTP statuses for a resource that does not exist."""

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
"""Exception classes, with their modules, of a broken machine or network, passing or not."""

STOPPED = frozenset({ErrorCode.TIMEOUT, ErrorCode.CANCELLED, ErrorCode.CIRCUIT_OPEN})
"""Values of :attr:`Symptom.error` for attempts that were ended before the tool ended."""


def is_transient(symptom: Symptom) -> bool:
    """Return True if another attempt may succeed.

    The tool's own statement counts first, then the status, then the class.
    """
    if symptom.transient is not None:
        return symptom.transient
    if symptom.error == ErrorCode.TIMEOUT:
        return True
    if symptom.status is not None:
        return symptom.status in TRANSIENT_STATUSES
    if not TRANSIENT_CLASSES.isdisjoint(symptom.mro):
        return True
    # `mro` lists the errors of a chain one after another; each one's classes end with `object`. An
    # error whose first class is OSError itself has no more specific class.
    starts = (0, *(i + 1 for i, name in enumerate(symptom.mro) if name == "builtins.object"))
    return any(symptom.mro[start : start + 1] == (BARE_OS_ERROR,) for start in starts)


def may_have_started(symptom: Symptom) -> bool:
    """Return True if the effect may have begun.

    Only the tool can say that it had not. A refused connection does not show it: it may be the
    tool's second one.
    """
    return symptom.started


def declined(symptom: Symptom) -> bool:
    """Return True if the service said that it did not carry out the request.

    A status that the tool's own exception implies does not count.
    """
    return symptom.status in DECLINED_STATUSES and not symptom.implied


def refused(symptom: Symptom) -> bool:
    """Return True if the tool refused the call as it stands; never for a transient failure.

    A tool that calls another one wrongly, or checks something else than its arguments, fails in the
    same words. That cannot be seen from outside, and costs one look at the contract.
    """
    if is_transient(symptom) or symptom.error in STOPPED:
        return False
    if symptom.status is not None:
        return symptom.status in REFUSAL_STATUSES
    if not REFUSAL_CLASSES.isdisjoint(symptom.mro):
        return True
    texts = (REFUSAL_TEXTS.get(name) for name in (symptom.error, *symptom.mro))
    return any(text is not None and text.search(symptom.message) for text in texts)
