"""The server of ``--follow``: this machine only, and one file only.

It listens on the loopback interface and answers only requests that name it, so that a web page that
points a name of its own at this address learns nothing.
"""

import json
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from asyncguard.cli.view.content import read_content
from asyncguard.cli.view.page import data_of, page_of
from asyncguard.cli.view.story import Content, ViewError
from asyncguard.errors import CallerError

_HOST = "127.0.0.1"


class Follower:
    """Serves the page of a file that grows; a context manager that closes the socket."""

    def __init__(
        self, path: Path, *, only: str | None = None, thread: str | None = None, port: int = 0
    ) -> None:
        """Listen.

        Args:
            path: The file.
            only: Beginning of the ids of runs or episodes to show.
            thread: Id of the thread whose runs to show.
            port: Port, or 0 for any that is free.

        Raises:
            ViewError: The port is taken.
        """
        self.path = path
        self._only = only
        self._thread = thread
        self._lock = threading.Lock()
        self._read: tuple[str, Content] | None = None
        """Version and content of the file as it was read last."""
        follower = self

        class Answer(_Answer):
            source = follower

        try:
            self._server = _Server((_HOST, port), Answer)
        except OSError as error:
            raise ViewError(
                f"Port {port} cannot be used ({error.strerror}); give another --port."
            ) from error
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://{_HOST}:{self.port}/"

    def serve(self) -> None:
        """Answer requests until the process is interrupted or :meth:`stop` is called."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """End :meth:`serve`, from another OS thread."""
        self._server.shutdown()

    @property
    def version(self) -> str:
        """Text that changes when the file does.

        Raises:
            OSError: The file is gone.
        """
        known = self.path.stat()
        return f"{known.st_ino}-{known.st_size}-{known.st_mtime_ns}"

    def content(self) -> tuple[str, Content]:
        """Return version and content; the file is read again only if it changed.

        Raises:
            CallerError: The file is gone or damaged.
        """
        with self._lock:
            try:
                version = self.version
            except OSError as error:
                raise ViewError(f"{self.path} cannot be read: {error.strerror}.") from error
            if self._read is None or self._read[0] != version:
                content = read_content(self.path, thread=self._thread, growing=True)
                self._read = version, content.select(self._only)
            return self._read

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # of more than the default's five at once, one waits seconds

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader who has left: a tab that is closed breaks its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Answer(BaseHTTPRequestHandler):
    source: Follower

    def do_GET(self) -> None:
        """Answer with the page, or with what is new."""
        if self.headers.get("Host") not in (
            f"{_HOST}:{self.source.port}",
            f"localhost:{self.source.port}",
        ):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "This address serves its own page only.")
            return
        asked = urlsplit(self.path)
        if asked.path == "/":
            self._page()
        elif asked.path == "/data":
            self._data(parse_qs(asked.query).get("version", [""])[0])
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is only the page /.")

    def _page(self) -> None:
        try:
            _, content = self.source.content()
        except CallerError as error:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error))
            return
        text = page_of(content, name=self.source.path.name, follow=True)
        self._send(HTTPStatus.OK, "text/html", text)

    def _data(self, known: str) -> None:
        try:
            version, content = self.source.content()
        except CallerError as error:
            # The page keeps what it has, and says why it does not go on.
            text = json.dumps({"version": known, "error": str(error)})
            self._send(HTTPStatus.OK, "application/json", text)
            return
        if version == known:
            self._send(HTTPStatus.NO_CONTENT, "application/json", "")
            return
        self._send(
            HTTPStatus.OK,
            "application/json",
            json.dumps({"version": version, **data_of(content)}),
        )

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """Write nothing: the page asks every second."""
