"""A TCP proxy in front of PostgreSQL, whose connections a test cuts where it wants, and lets through again."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit


@dataclass(kw_only=True)
class _Loss:
    """A loss that is to come."""

    statement: bytes
    committed: bool
    happened: threading.Event = field(default_factory=threading.Event)


@dataclass(kw_only=True, eq=False)
class _Link:
    """A connection of a client, and its own one to the server."""

    client: socket.socket
    server: socket.socket
    sent: bool = False
    """True once the client has sent the statement."""
    deaf: bool = False
    """True if the next answer of the server gets lost."""
    threads: int = 2
    """OS threads at work on it; the last one closes it."""


class Proxy:
    """Passes everything on, for any number of clients."""

    def __init__(self, url: str) -> None:
        """Listen at a free port.

        Args:
            url: Of the database.
        """
        self._parts = urlsplit(url)
        self._lock = threading.Lock()
        self._links: set[_Link] = set()
        self._up = True
        self._loss: _Loss | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = urlunsplit(
            self._parts._replace(netloc=f"{self._parts.username}@127.0.0.1:{port}")
        )
        """Of the database, through the proxy."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """Lose all connections, and take no other until :meth:`mend`."""
        with self._lock:
            self._up = False
            for link in self._links:
                _shut(link)

    def mend(self) -> None:
        """Take connections again."""
        with self._lock:
            self._up = True

    def cut_at(self, statement: bytes, *, committed: bool) -> threading.Event:
        """Cut when the transaction of a statement is committed, once.

        Args:
            statement: How the statement begins.
            committed: True if the server still commits, and its answer gets lost.

        Returns:
            Is set when all connections are cut.
        """
        self._loss = _Loss(statement=statement, committed=committed)
        return self._loss.happened

    def close(self) -> None:
        """End."""
        self.cut()
        _shut_one(self._listener)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        address = self._parts.hostname or "127.0.0.1", self._parts.port or 5432
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if not self._up:
                    client.close()
                    continue
                link = _Link(client=client, server=socket.create_connection(address))
                self._links.add(link)
            for work in (self._ask, self._answer):
                thread = threading.Thread(target=self._pass_on, args=(link, work), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, link: _Link, work: Callable[[_Link], None]) -> None:
        with contextlib.suppress(OSError):
            work(link)
        _shut(link)
        with self._lock:
            link.threads -= 1
            if not link.threads:
                self._links.discard(link)
                link.client.close()
                link.server.close()

    def _ask(self, link: _Link) -> None:
        while data := link.client.recv(1 << 20):
            loss = self._loss
            link.sent = link.sent or (loss is not None and loss.statement in data)
            if loss is not None and link.sent and b"COMMIT" in data:
                if not loss.committed:
                    self._lose(loss)
                    return
                link.deaf = True
            link.server.sendall(data)

    def _answer(self, link: _Link) -> None:
        while data := link.server.recv(1 << 20):
            if link.deaf and (loss := self._loss) is not None:
                self._lose(loss)
                return
            link.client.sendall(data)

    def _lose(self, loss: _Loss) -> None:
        self._loss = None
        self.cut()
        loss.happened.set()


def _shut(link: _Link) -> None:
    _shut_one(link.client)
    _shut_one(link.server)


def _shut_one(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxy_of(url: str) -> Iterator[Proxy]:
    """A proxy in front of a database, closed afterwards."""
    made = Proxy(url)
    try:
        yield made
    finally:
        made.close()
