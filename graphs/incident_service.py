"""The ticket service of the incident desk: tickets, notifications, and a monitor, over HTTP.

It listens on a free port of the loopback interface, from the first time that its address is read.
What a scene makes go wrong goes wrong here as it does in production: a connection is closed without
an answer, or the status is not 2xx.

This file is loaded by path and imports nothing from its folder.
"""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit


class Scene(Protocol):
    """The world as one thread finds it, as far as the service needs it."""

    name: str
    """Clients send it as ``X-Scene``."""
    tickets: list[dict[str, Any]]
    """Tickets that were opened."""
    messages: dict[str, dict[str, Any]]
    """Notifications that were sent, by their key."""

    def strikes(self, fault: str) -> bool:
        """Return True if a fault strikes now."""
        ...

    def measure(self, service: str) -> dict[str, Any] | None:
        """Return what the monitor measures at a service; None for an unknown one."""
        ...


class TicketService:
    """The service; one for all scenes."""

    def __init__(
        self, find: Callable[[str], Scene | None], note: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Make a service that does not listen yet.

        Args:
            find: The scene of a name.
            note: Is told of every ticket and notification.
        """
        self._find = find
        self._note = note
        self._server: _Server | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """URL on which the service listens; it is started when this is read first."""
        with self._lock:
            if self._server is None:
                self._server = _Server(self._find, self._note)
                threading.Thread(
                    target=self._server.serve_forever, args=(0.05,), daemon=True
                ).start()
            return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening until the address is read again."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    def __init__(
        self, find: Callable[[str], Scene | None], note: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self.find = find
        self.note = note
        super().__init__(("127.0.0.1", 0), _Requests)


class _Requests(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        """Open a ticket or send a notification."""
        scene = self.server.find(self.headers.get("X-Scene", ""))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if scene is not None and self.path == "/tickets":
            self._open(scene, body)
        elif scene is not None and self.path == "/notifications":
            self._notify(scene, body)
        else:
            self._answer(404, {"error": "there is no such place or scene"})

    def do_GET(self) -> None:
        """Find a ticket or measure a latency."""
        scene = self.server.find(self.headers.get("X-Scene", ""))
        place, asked = urlsplit(self.path).path, dict(parse_qsl(urlsplit(self.path).query))
        if scene is not None and place == "/tickets":
            found = [ticket for ticket in scene.tickets if asked.items() <= ticket.items()]
            self._answer(200, {"happened": bool(found), "result": found[0] if found else None})
        elif (
            scene is not None
            and place == "/latency"
            and (measured := scene.measure(asked.get("service", ""))) is not None
        ):
            self._answer(200, measured)
        else:
            self._answer(404, {"error": "there is no such place, scene or service"})

    def _open(self, scene: Scene, wanted: Mapping[str, Any]) -> None:
        if scene.strikes("ticket-dropped"):
            return  # the connection is closed without an answer
        number = f"INC-{1001 + len(scene.tickets)}"
        made = {"ticket": number, **wanted, "channel": f"ops-{wanted['service']}"}
        scene.tickets.append(made)
        self.server.note({"effect": "ticket", "scene": scene.name, **made})
        if not scene.strikes("ticket-lost"):
            self._answer(201, made)

    def _notify(self, scene: Scene, wanted: Mapping[str, Any]) -> None:
        if scene.strikes("notify-forbidden"):
            self._answer(403, {"error": "this desk may not notify"})
        elif scene.strikes("notify-busy"):
            self._answer(503, {"error": "overloaded"})
        else:
            key = self.headers.get("Idempotency-Key", "")
            if key not in scene.messages:
                scene.messages[key] = {
                    "message": f"MSG-{1 + len(scene.messages)}",
                    "channel": wanted["channel"],
                }
                self.server.note({"effect": "notification", "scene": scene.name, **wanted})
            self._answer(202, scene.messages[key])

    def _answer(self, status: int, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of http.server
        """Say nothing: the structured log of the agent tells what was called."""
