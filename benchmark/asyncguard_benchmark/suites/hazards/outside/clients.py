"""Errors as HTTP clients raise them, made without a client."""

import email.message
import io
import urllib.error
from typing import Any


class Answered(Exception):
    """The error of a client that keeps the status as ``status``, as aiohttp and others do."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(f"the service answered {status}")


class _Response:
    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status_code = status
        self.headers = headers


class ResponseError(Exception):
    """The error of a client that keeps the whole response, as requests and httpx do."""

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.response: Any = _Response(status, headers)
        super().__init__(f"{status} for url")


def status_error(status: int, **headers: str) -> Exception:
    """Return an error with a response; ``Retry_After="3"`` gives a header."""
    return ResponseError(status, {name.replace("_", "-"): value for name, value in headers.items()})


def url_error(status: int, **headers: str) -> Exception:
    """Return the error that ``urllib.request.urlopen`` raises."""
    found = email.message.Message()
    for name, value in headers.items():
        found[name.replace("_", "-")] = value
    return urllib.error.HTTPError("https://bank.example/pay", status, "no", found, io.BytesIO(b""))


def from_a_status(status: int, **headers: str) -> Exception:
    """Return an error of the tool's own that was raised from an answer with a status."""
    found = RuntimeError("the bank did not answer as it should")
    found.__cause__ = status_error(status, **headers)
    return found
