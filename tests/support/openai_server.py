"""A loopback server which speaks the OpenAI wire formats, so that real clients can be tested without the service.

It accepts what the service accepts and refuses what it refuses (`openai_rules`, `openai_chat`, `openai_items`); what
the model says comes from a policy (`openai_policy`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from tests.support.openai_chat import ChatWire
from tests.support.openai_http import LoopbackServer
from tests.support.openai_policy import (
    Answer,
    Call,
    Disconnect,
    Failure,
    FinishReason,
    Ids,
    JsonObject,
    Message,
    ModelRequest,
    Policy,
    Reply,
    Role,
    ScriptExhaustedError,
    Surface,
    ToolDeclaration,
    Usage,
    scripted,
)
from tests.support.openai_responses import ResponsesWire
from tests.support.openai_rules import RefusedError

__all__ = [
    "Answer",
    "Call",
    "Disconnect",
    "Failure",
    "FinishReason",
    "Message",
    "ModelRequest",
    "OpenAIServer",
    "Policy",
    "RecordedRequest",
    "Reply",
    "Role",
    "ScriptExhaustedError",
    "Surface",
    "ToolDeclaration",
    "Usage",
    "scripted",
]

_SHUTDOWN_POLL = 0.02


class _Wire(Protocol):
    def parse(self, body: JsonObject) -> ModelRequest: ...
    def body(self, request: ModelRequest, reply: Reply, ids: Ids) -> JsonObject: ...
    def events(self, request: ModelRequest, reply: Reply, ids: Ids) -> Iterator[bytes]: ...


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request as it arrived, refused ones included."""

    path: str
    """The path it was sent to."""
    headers: dict[str, str]
    """Names in lower case, without `authorization`."""
    body: JsonObject
    """The parsed JSON; empty when it was none."""
    view: ModelRequest | None
    """View that the policy got; None when the request was refused."""
    refusal: str | None
    """Reason for the refusal; None when the request was accepted."""


class OpenAIServer:
    """Serves one policy on the loopback interface for the length of a `with` block.

    The policy runs on the thread of its request, several at once when clients overlap; one that blocks has to be
    released before the block ends, which joins every thread. An exception of the policy is recorded in `errors` and
    answered with a 500 which tells the client not to retry.

    With `keep_alive` connections outlive their response, as the service's do; the test closes its clients.
    """

    def __init__(self, policy: Policy, *, keep_alive: bool = False) -> None:
        self._policy = policy
        self._keep_alive = keep_alive
        self._ids = Ids()
        self._wires: dict[str, _Wire] = {
            Surface.CHAT: ChatWire(),
            Surface.RESPONSES: ResponsesWire(),
        }
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self._errors: list[str] = []
        self._http: LoopbackServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._http = LoopbackServer(self, keep_alive=self._keep_alive)
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": _SHUTDOWN_POLL},
            name="openai-server",
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._http is not None
        assert self._thread is not None
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        """The address to give to a client, `/v1` included."""
        assert self._http is not None, "the server runs inside its with block"
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request so far, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def views(self) -> tuple[ModelRequest, ...]:
        """Views that the policy got so far, in order of arrival."""
        return tuple(request.view for request in self.requests if request.view is not None)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Reasons for refusals; empty after a test whose every history was valid."""
        return tuple(request.refusal for request in self.requests if request.refusal is not None)

    @property
    def errors(self) -> tuple[str, ...]:
        """Faults of this side: an exhausted script, an exception in the policy or the server."""
        with self._lock:
            return tuple(self._errors)

    def record_error(self, error: BaseException) -> None:
        """Note a fault of this side."""
        with self._lock:
            self._errors.append(f"{type(error).__name__}: {error}")

    def accept(self, path: str, headers: dict[str, str], raw: bytes) -> ModelRequest:
        """Parse, check and record a request.

        Raises:
            RefusedError: The service would refuse it.
        """
        body: JsonObject = {}
        view: ModelRequest | None = None
        refusal: str | None = None
        try:
            body = _json_object(raw)
            view = self._wire(path, headers).parse(body)
        except RefusedError as error:
            refusal = str(error)
            raise
        finally:
            kept = {name: value for name, value in headers.items() if name != "authorization"}
            record = RecordedRequest(path=path, headers=kept, body=body, view=view, refusal=refusal)
            with self._lock:
                self._requests.append(record)
        return view

    def answer(self, request: ModelRequest) -> Answer:
        """Return what the policy says, with an id on every call."""
        match self._policy(request):
            case Reply() as reply:
                return self._ids.named(reply)
            case Disconnect(reply=Reply() as reply, after_events=after):
                return Disconnect(reply=self._ids.named(reply), after_events=after)
            case other:
                return other

    def body(self, request: ModelRequest, reply: Reply) -> JsonObject:
        """Return a reply as the body of the surface that asked."""
        return self._wires[request.surface].body(request, reply, self._ids)

    def events(self, request: ModelRequest, reply: Reply) -> Iterator[bytes]:
        """Return a reply as the events of the surface that asked."""
        return self._wires[request.surface].events(request, reply, self._ids)

    def _wire(self, path: str, headers: dict[str, str]) -> _Wire:
        if path not in self._wires:
            raise RefusedError(f"Unknown request URL: POST {path}", code="unknown_url", status=404)
        if not headers.get("authorization", "").startswith("Bearer "):
            raise RefusedError("You didn't provide an API key", code="invalid_api_key", status=401)
        return self._wires[path]


def _json_object(raw: bytes) -> JsonObject:
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise RefusedError(f"The body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError("The body must be a JSON object")
    return body
