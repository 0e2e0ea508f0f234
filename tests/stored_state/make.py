"""Store state with the release that is checked out: `python -m tests.stored_state.make tests/stored_state/COMMIT`.

Threads and queues of DBOS are stored on SQLite, as one archive for each case, and on PostgreSQL (whose address
`ASYNCGUARD_TEST_POSTGRES` gives), as one dump of plain SQL; each case is played by processes of their own, which may
die in it. Traces are stored as they are, results of the benchmark as one archive. What is there already stays as it is.
What is in this package was written by commit ffd2604 (asyncguard 0.1.0, LangGraph 1.2). To write a file again: remove
it, copy this package into a checkout of ffd2604, run this there, and copy the file back.
"""

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.stored_state import orders, records
from tests.stored_state.agents import FRONT_ENDS, RESTING, cases_of
from tests.stored_state.dumps import SCHEMA, dump, dump_schema
from tests.support.postgres import database


def played(module: str, *arguments: str, dies: bool) -> None:
    """Play a case in a process of its own.

    Raises:
        SystemExit: It ended otherwise than it should.
    """
    done = subprocess.run([sys.executable, "-m", module, *arguments], check=False, timeout=120)
    if done.returncode != (9 if dies else 0):
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}")


def archive(folder: Path, target: Path) -> None:
    """Pack what a case left in its folder."""
    with tarfile.open(target, "w:gz") as packed:
        for file in sorted(folder.iterdir()):
            packed.add(file, arcname=file.name)


def threads(target: Path) -> None:
    """Store threads in SQLite files."""
    for front in FRONT_ENDS:
        for case in cases_of(front):
            file = target / f"{front}-{case}.tar.gz"
            with tempfile.TemporaryDirectory() as name:
                if not file.exists():
                    played("tests.stored_state.play", front, case, name, dies=case not in RESTING)
                    archive(Path(name), file)


def threads_on_server(target: Path, address: str) -> None:
    """Store threads in databases of a server.

    Args:
        target: Where the dumps go.
        address: Of any database of the server.
    """
    target.mkdir(exist_ok=True)
    for front in FRONT_ENDS:
        for case in cases_of(front):
            file = target / f"{front}-{case}.sql"
            if file.exists():
                continue
            with tempfile.TemporaryDirectory() as name, database(address) as url:
                played("tests.stored_state.play", front, case, name, url, dies=case not in RESTING)
                dump(url, Path(name), file)
                if not (target / SCHEMA).exists():
                    dump_schema(url, target / SCHEMA)


def ordered(front: str, case: str, folder: Path, url: str = "") -> None:
    """Leave an order in a queue: the agent is killed, and before it the worker, if there is one."""
    arguments = [front, case, str(folder), *filter(None, [url])]
    agent = subprocess.Popen([sys.executable, "-m", "tests.stored_state.orders", *arguments])
    _wait(lambda: orders.states(folder, url) == ["ENQUEUED"])
    agent.send_signal(signal.SIGSTOP)  # it shall not read an answer
    if not case.startswith("ordered"):
        with (folder / "worker.log").open("wb") as log:
            worker = orders.worker(folder, url, log, dies=case.startswith("taken"))
        if case.startswith("taken"):
            worker.wait(60)
        else:
            _wait(lambda: orders.states(folder, url) == ["SUCCESS"])
            worker.kill()
            worker.wait(60)
        (folder / "worker.log").unlink()
    agent.kill()
    agent.wait(60)


def _wait(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        if time.monotonic() > until:
            raise SystemExit("the queue does not come to the state that is wanted")
        time.sleep(0.05)


def queues(target: Path) -> None:
    """Store queues in SQLite files."""
    target.mkdir(exist_ok=True)
    for front in FRONT_ENDS:
        for case in orders.CASES:
            file = target / f"{front}-{case}.tar.gz"
            with tempfile.TemporaryDirectory() as name:
                if not file.exists():
                    ordered(front, case, Path(name))
                    archive(Path(name), file)


def queues_on_server(target: Path, address: str) -> None:
    """Store queues in databases of a server.

    Args:
        target: Where the dumps go.
        address: Of any database of the server.
    """
    target.mkdir(exist_ok=True)
    for front in FRONT_ENDS:
        for case in orders.CASES:
            file = target / f"{front}-{case}.sql"
            if file.exists():
                continue
            with tempfile.TemporaryDirectory() as name, database(address) as url:
                ordered(front, case, Path(name), url)
                dump(url, Path(name), file)
                if not (target / SCHEMA).exists():
                    dump_schema(url, target / SCHEMA)


def main(target: Path) -> None:
    """Store everything that is not stored yet."""
    address = os.environ["ASYNCGUARD_TEST_POSTGRES"]
    threads(target)
    threads_on_server(target / "postgres", address)
    queues(target / "queues")
    queues_on_server(target / "queues-postgres", address)
    records.write_traces(target / "traces")
    with tempfile.TemporaryDirectory() as name:
        if not (target / "results.tar.gz").exists():
            records.write_results(Path(name))
            archive(Path(name), target / "results.tar.gz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
