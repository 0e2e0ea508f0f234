"""PostgreSQL for tests: a server that is started when the first test asks, and a fresh database for each.

``ASYNCGUARD_TEST_POSTGRES`` names a server that is there already. Without it one is started from the system's
binaries, in a folder that is removed afterwards; where there are none the tests are skipped, or fail if
``ASYNCGUARD_POSTGRES=required`` says that they must run. A test that kills its server starts one of its own.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

_PATIENCE = 60.0
# The shell ends the server when its standard input closes: also if this process is killed.
_RUN = 'trap "" INT; "$@" & server=$!; read -r _; kill -QUIT $server 2>/dev/null; wait $server'


def binaries() -> Path | None:
    """Folder of the newest PostgreSQL of the system."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"),
        key=lambda path: int(path.parts[-3].split(".")[0]),
    )
    if found:
        return found[-1].parent
    named = shutil.which("postgres")
    return Path(named).resolve().parent if named else None


class Server:
    """A server of our own: loopback and a socket in its folder, no foreign data, no password."""

    def __init__(self, folder: Path, tools: Path) -> None:
        """Make a cluster; nothing runs yet.

        Args:
            folder: Is made, and removed by :meth:`remove`.
            tools: Folder of the binaries.
        """
        self.folder = folder
        self._tools = tools
        self._user = _unprivileged()
        folder.mkdir(mode=0o700)
        if self._user:
            shutil.chown(folder, self._user)
        self._port = _free_port()
        self._shell: subprocess.Popen[bytes] | None = None
        self._call(
            "initdb",
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )

    def url(self, database: str = "postgres") -> str:
        """Address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        """Start, and wait until it answers; what an earlier crash left is recovered first."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": self.folder,
            "fsync": "off",  # processes are killed here, never the machine
        }
        settings = [f"--{name}={value}" for name, value in options.items()]
        give_up = time.monotonic() + _PATIENCE
        while True:
            with (self.folder / "log").open("ab") as log:
                self._shell = subprocess.Popen(
                    [
                        "/bin/sh",
                        "-c",
                        _RUN,
                        "sh",
                        self._tools / "postgres",
                        "-D",
                        self._data,
                        *settings,
                    ],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                    **self._identity,
                )
            if self._answers(give_up):
                return
            # After a kill, processes of the old server may still be about to end: it does not start beside them.
            if time.monotonic() > give_up:
                raise RuntimeError(
                    f"PostgreSQL does not start:\n{(self.folder / 'log').read_text()[-2000:]}"
                )
            self.stop()
            time.sleep(0.1)

    def stop(self) -> None:
        """End at once, as ``restart immediate`` does: no transaction is finished, the next start recovers."""
        if self._shell is not None:
            assert self._shell.stdin is not None
            self._shell.stdin.close()
            self._shell.wait(_PATIENCE)
            self._shell = None

    def kill(self) -> None:
        """``kill -9`` the server's main process, and its others: they would serve their clients for a moment more."""
        main = int((self._data / "postmaster.pid").read_text().split()[0])
        others = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, others)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.stop()

    def restart(self) -> None:
        """Crash and recover."""
        self.stop()
        self.start()

    @contextlib.contextmanager
    def standing_by(self) -> Iterator[None]:
        """Restart as a standby, which serves reads alone; it is promoted at the end."""
        self.stop()
        standby = self._data / "standby.signal"
        standby.touch(mode=0o600)
        if self._user:
            shutil.chown(standby, self._user)
        self.start()
        yield
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def remove(self) -> None:
        """End, and remove the folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _identity(self) -> dict[str, object]:
        if not self._user:
            return {}
        return {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}

    def _call(self, tool: str, *options: str) -> None:
        command = [self._tools / tool, "-D", self._data, *options]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd="/", check=False, **self._identity
        )  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{tool} failed:\n{done.stderr}")

    def _answers(self, give_up: float) -> bool:
        assert self._shell is not None
        while self._shell.poll() is None and time.monotonic() < give_up:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url(), connect_timeout=2).close()
                return True
            time.sleep(0.02)
        return False


def _unprivileged() -> str | None:
    """Return the user that runs the server, which refuses to be root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _folder() -> Path:
    """A place for a cluster that the server's user can reach; in memory if there is enough of it."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**31
    return (
        memory if roomy else Path(tempfile.gettempdir())
    ) / f"asyncguard-postgres-{secrets.token_hex(4)}"


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """A running server of one's own; skips the test where there is no PostgreSQL."""
    tools = binaries()
    if tools is None:
        reason = "PostgreSQL is not installed; bash .ci/postgres.sh installs it"
        if os.environ.get("ASYNCGUARD_POSTGRES") == "required":
            pytest.fail(f"{reason}, and ASYNCGUARD_POSTGRES=required")
        pytest.skip(reason)
    made = Server(_folder(), tools)
    try:
        made.start()
        yield made
    finally:
        made.remove()


@contextlib.contextmanager
def database(address: str) -> Iterator[str]:
    """Yield the address of a fresh database, which is dropped afterwards despite open connections.

    Args:
        address: Of any database there.
    """
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """Yield the address of a server that all tests of this run share and must not stop."""
    named = os.environ.get("ASYNCGUARD_TEST_POSTGRES")
    if named:
        yield named
        return
    with server() as own:
        yield own.url()


@pytest.fixture
def postgres_url(postgres_address: str) -> Iterator[str]:
    """Address of a database for one test."""
    with database(postgres_address) as url:
        yield url


@pytest.fixture(scope="module")
def postgres_module_url(postgres_address: str) -> Iterator[str]:
    """Address of a database for the tests of one file."""
    with database(postgres_address) as url:
        yield url


@pytest.fixture
def postgres_server() -> Iterator[Server]:
    """A server for one test, which it may stop, kill and restart."""
    with server() as own:
        yield own
