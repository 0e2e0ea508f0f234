"""Is a failure transient? Told from the symptom alone, by a table of exception classes and HTTP statuses."""

from asyncguard.core.hazards import Symptom

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
        "aiohttp.client_exceptions.ClientConnectionError",
        "urllib3.exceptions.HTTPError",
    }
)
"""Exception classes, with their modules, which say that the way to the tool failed and not the tool."""


def is_transient(symptom: Symptom) -> bool:
    """Whether another attempt may succeed. What the tool itself says counts first, then status, then class."""
    if symptom.transient is not None:
        return symptom.transient
    if symptom.error == "timeout":
        return True
    if symptom.status is not None:
        return symptom.status in TRANSIENT_STATUSES
    return not TRANSIENT_CLASSES.isdisjoint(symptom.mro)


def may_have_started(symptom: Symptom) -> bool:
    """Whether the effect may have begun.

    Only the tool can say that it had not. That a connection was refused says nothing: it may be the tool's second.
    """
    return symptom.started
