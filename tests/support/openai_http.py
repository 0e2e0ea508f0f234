"""HTTP of the loopback server: one exchange a connection, streams, failures, broken connections.

Every response closes its connection unless the server is told otherwise: clients that are never
closed would otherwise leave pooled sockets open, and warnings are errors here.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any, Protocol

from typing_extensions import override

from tests.support.openai_policy import Answer, Disconnect, Failure, JsonObject, ModelRequest, Reply
from tests.support.openai_rules import RefusedError, error_body

_SILENT_CLIENT = 10.0
"""Seconds after which a connection without a request is given up."""


class Service(Protocol):
    """Port of the service that answers; its methods are called from several threads at once."""

    def accept(self, path: str, headers: dict[str, str], raw: bytes) -> ModelRequest:
        """Parse, check and record a request, or raise `RefusedError`."""

    def answer(self, request: ModelRequest) -> Answer:
        """Return what the model says."""

    def body(self, request: ModelRequest, reply: Reply) -> JsonObject:
        """Return a reply as one body."""

    def events(self, request: ModelRequest, reply: Reply) -> Iterator[bytes]:
        """Return a reply as stream events."""

    def record_error(self, error: BaseException) -> None:
        """Note a fault of this side."""


class LoopbackServer(ThreadingHTTPServer):
    # Joined by server_close: a thread that outlives its test would warn in another one.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, service: Service, *, keep_alive: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.service = service
        self.keep_alive = keep_alive

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: `_Exchange` records faults of this side, and a client may leave whenever it wants."""


class _Exchange(BaseHTTPRequestHandler):
    """One request and its response."""

    protocol_version = "HTTP/1.1"
    timeout = _SILENT_CLIENT
    server: LoopbackServer

    def do_POST(self) -> None:
        """Answer a request; anything unforeseen is a 500 which no client retries."""
        try:
            self._exchange()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001  a fault of the test's policy must not look like a broken network
            self.server.service.record_error(error)
            body = error_body(
                f"{type(error).__name__}: {error}", kind="server_error", code="policy_failed"
            )
            self._send(500, json.dumps(body).encode(), {"x-should-retry": "false"})

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: requests are recorded, not printed."""

    def _exchange(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            request = self.server.service.accept(self.path, headers, raw)
        except RefusedError as refused:
            body = error_body(
                str(refused), kind="invalid_request_error", param=refused.param, code=refused.code
            )
            self._send(refused.status, json.dumps(body).encode())
            return
        match self.server.service.answer(request):
            case Failure() as failure:
                self._fail(failure)
            case Disconnect() as disconnect:
                self._break(request, disconnect)
            case Reply() as reply if request.streaming:
                self._stream(self.server.service.events(request, reply))
                self.wfile.write(b"0\r\n\r\n")
            case Reply() as reply:
                self._send(200, json.dumps(self.server.service.body(request, reply)).encode())

    def _fail(self, failure: Failure) -> None:
        headers: dict[str, str] = {}
        if failure.retry_after is not None:
            # The service sends whole seconds and, for clients that know it, milliseconds; clients prefer the latter.
            headers["retry-after"] = str(math.ceil(failure.retry_after))
            headers["retry-after-ms"] = str(failure.retry_after * 1000)
        if isinstance(failure.body, str):
            self._send(
                failure.status, failure.body.encode(), {**headers, "content-type": "text/html"}
            )
        else:
            body = failure.body if failure.body is not None else _default_error(failure.status)
            self._send(failure.status, json.dumps(body).encode(), headers)

    def _break(self, request: ModelRequest, disconnect: Disconnect) -> None:
        if request.streaming and disconnect.reply is not None:
            events = self.server.service.events(request, disconnect.reply)
            self._stream(islice(events, disconnect.after_events))
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _stream(self, events: Iterator[bytes]) -> None:
        """Send events as chunks, leaving the body open: the final chunk says that the stream is whole."""
        self._begin(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for event in events:
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            self.wfile.flush()

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        fixed = {"content-type": "application/json", "content-length": str(len(body))}
        self._begin(status, {**fixed, **(headers or {})})
        self.wfile.write(body)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        # send_header notes "close" and ends the connection after this exchange.
        for name, value in (
            headers if self.server.keep_alive else {**headers, "connection": "close"}
        ).items():
            self.send_header(name, value)
        self.end_headers()


def _default_error(status: int) -> JsonObject:
    if status == 429:
        return error_body(
            "Rate limit reached, try again later", kind="requests", code="rate_limit_exceeded"
        )
    if status >= 500:
        return error_body(
            "The server had an error while processing the request", kind="server_error"
        )
    return error_body(f"The request failed with status {status}", kind="invalid_request_error")
