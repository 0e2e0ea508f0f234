"""A PostgreSQL server of the harness's own: started in a temporary folder, stopped hard, started again."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

_FOLDERS = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/pgsql-*/bin")
_UNPRIVILEGED = "postgres"
"""Account that runs the server if we are root: PostgreSQL refuses to run as root."""
_PATIENCE = "60"


class NoServerError(RuntimeError):
    """PostgreSQL's programs are not installed; install them (Debian: postgresql), or name a server by --postgres."""


def programs() -> Path | None:
    """Return the folder with PostgreSQL's programs, the newest of several; ``None`` if there is none."""
    if (found := shutil.which("pg_ctl")) and shutil.which("initdb"):
        return Path(found).parent
    places = [
        place
        for pattern in _FOLDERS
        for place in Path("/").glob(pattern.lstrip("/"))
        if (place / "initdb").exists()
    ]
    return max(places, default=None)


class Server:
    """One server, for as long as the harness runs."""

    def __init__(self) -> None:
        """Make the cluster and start it.

        Raises:
            NoServerError: PostgreSQL is not installed.
        """
        found = programs()
        if found is None:
            raise NoServerError((NoServerError.__doc__ or "").strip())
        self._programs = found
        self._folder = Path(tempfile.mkdtemp(prefix="reliability-postgres-"))
        self._data = self._folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self._folder, _UNPRIVILEGED)
        self._run(
            "initdb",
            "--pgdata",
            str(self._data),
            "--username=harness",
            "--auth=trust",
            "--encoding=UTF8",
        )
        self._port = _free_port()
        self.start()

    @property
    def url(self) -> str:
        """The server's database."""
        return f"postgresql://harness@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        log = str(self._folder / "log")
        self._control(
            "start", "-w", "-t", _PATIENCE, "-l", log, "-o", f"{options} -c max_connections=200"
        )

    def stop(self) -> None:
        """Stop it as a crash does: writes are cut off, and clients get no notice."""
        self._control("stop", "-w", "-t", _PATIENCE, "-m", "immediate")

    def close(self) -> None:
        """End it and remove all of it."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "--pgdata", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        who: dict[str, Any] = (
            {"user": _UNPRIVILEGED, "group": _UNPRIVILEGED} if os.geteuid() == 0 else {}
        )
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            **who,
        )
        if done.returncode:
            raise RuntimeError(
                f"{program} ended with {done.returncode}: {done.stderr.strip()[-500:]}"
            )


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def own_database(url: str, name: str) -> str:
    """Make an empty database beside another one.

    Args:
        url: A database of the server.
        name: Of the new one; an earlier one of that name is removed.

    Returns:
        Its URL.
    """
    import psycopg  # noqa: PLC0415 - only where there is a server
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))
