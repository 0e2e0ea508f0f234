"""Episodes on real workers: the file is the same, whichever process is killed on the way."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import psycopg
import pytest

from asyncguard import cli
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import WorkersError
from asyncguard_benchmark.harness.fanout.process_pool import Crew
from tests.adapters.processes import forked
from tests.benchmark.builders import LITE

pytestmark = pytest.mark.slow
RUN = (
    "run",
    "--agents",
    "eager",
    "--suite",
    "lite",
    "--compositions",
    "S2-00,C2-00",
    "--seeds",
    "0,1",
)
LAST = 120.0
"""Seconds after which a test gives up waiting."""


def command(*arguments: str) -> list[str]:
    """``asyncguard ...``."""
    return [sys.executable, "-m", "asyncguard.cli", *arguments]


def bench(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run ``asyncguard bench ...`` to its end, in a process that has imported the library, and return its output."""
    with tempfile.NamedTemporaryFile("r") as output:
        process = forked(cli.main, ["bench", *arguments], output=Path(output.name), folder=folder)
        process.join(LAST)
        said = output.read()
    assert process.exitcode == code, said
    return said


@contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """``asyncguard ...`` while it runs; killed at the end if it is still there."""
    with subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that comes from another process."""
    until = time.monotonic() + LAST
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def lines_in(file: Path) -> int:
    """Return the number of lines that a file has by now."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


def children(parent: int) -> list[int]:
    """The processes that a process has started and that run still."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(words[1]) == parent and words[0] != "Z":
            found.append(int(status.parent.name))
    return sorted(found)


def alive(process: int) -> bool:
    """Return True if a process is running."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a run without workers."""
    file = tmp_path_factory.mktemp("alone") / "episodes.jsonl"
    assert main([*RUN, "--jobs", "1", "--out", str(file)]) == 0
    return file


def test_two_workers_write_the_same_file_though_one_is_killed(alone: Path, tmp_path: Path) -> None:
    """The file is the same byte for byte; a new worker replaces the dead one."""
    file = tmp_path / "episodes.jsonl"
    with running("bench", *RUN, "--workers", "2", "--out", str(file)) as run:
        wait_until(lambda: lines_in(file) > 10)
        first, second = children(run.pid)
        os.kill(first, signal.SIGKILL)
        assert run.stderr is not None
        said = run.stderr.read()
        assert run.wait(LAST) == 0
    assert "ended (signal 9); another takes its place" in said
    assert file.read_bytes() == alone.read_bytes()
    assert list(tmp_path.iterdir()) == [file]
    assert not alive(second)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.full)],
)
def test_a_run_that_is_ended_is_resumed(
    number: signal.Signals, code: int, alone: Path, tmp_path: Path
) -> None:
    """Its workers end with it, killed or interrupted; resumed on workers it holds what it would have held."""
    file = tmp_path / "episodes.jsonl"
    with running("bench", *RUN, "--workers", "2", "--out", str(file)) as run:
        wait_until(lambda: lines_in(file) > 10)
        workers = children(run.pid)
        run.send_signal(number)
        ended = run.wait(LAST)
        assert run.stderr is not None
        assert ended == code, run.stderr.read()
    wait_until(lambda: not any(map(alive, workers)))
    before = lines_in(file)
    assert 10 < before < lines_in(alone)
    assert (len(list(tmp_path.iterdir())) == 1) == (number == signal.SIGINT)
    bench(tmp_path, "resume", str(file), "--workers", "1")
    assert file.read_bytes() == alone.read_bytes()
    assert list(tmp_path.iterdir()) == [file]


@contextmanager
def elsewhere(
    database: str, folder: Path, count: int = 1, *others: str
) -> Iterator[list[BaseProcess]]:
    """Yield workers that were started outside of the run, copies of a process that has imported the library."""
    where = ["--database-url", database, "--queue", "asyncguard-benchmark", "--concurrency", "2"]
    tools = ["--tools", "asyncguard_benchmark.harness.fanout:tools", *others]
    processes = [
        forked(cli.main, ["worker", *where, *tools], output=Path(os.devnull), folder=folder)
        for _ in range(count)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(LAST)


def test_workers_that_run_already_play_and_keep_nothing(
    alone: Path, tmp_path: Path, postgres_url: str
) -> None:
    """Over PostgreSQL: the same file, no address in it, and a queue that is as empty as before."""
    file = tmp_path / "episodes.jsonl"
    with elsewhere(postgres_url, tmp_path, 2):
        bench(tmp_path, *RUN, "--database-url", postgres_url, "--out", str(file))
    assert file.read_bytes() == alone.read_bytes()
    assert list(tmp_path.iterdir()) == [file]
    with psycopg.connect(postgres_url) as connection:
        for table in ("workflow_status", "workflow_input", "workflow_output"):
            assert connection.execute(f"SELECT count(*) FROM dbos.{table}").fetchone() == (0,)


@pytest.mark.full
def test_an_interrupted_run_leaves_no_work_to_others(alone: Path, tmp_path: Path) -> None:
    """Queued episodes of an interrupted run are withdrawn; its workers serve the next run."""
    file, database = tmp_path / "episodes.jsonl", str(tmp_path / "queue.db")
    with elsewhere(database, tmp_path):
        with running("bench", *RUN, "--database-url", database, "--out", str(file)) as run:
            wait_until(lambda: lines_in(file) > 10)
            run.send_signal(signal.SIGINT)
            assert run.wait(LAST) == 130
        with closing(sqlite3.connect(database)) as connection:
            rows = [
                status for (status,) in connection.execute("SELECT status FROM workflow_status")
            ]
        assert "ENQUEUED" not in rows
        assert len(rows) <= 2  # what the worker had begun: it has to find it when it is done
        bench(tmp_path, "resume", str(file), "--database-url", database, "--workers", "1")
    assert file.read_bytes() == alone.read_bytes()
    assert not (tmp_path / "episodes.jsonl.workers").exists()


def test_a_worker_of_other_data_is_refused(tmp_path: Path) -> None:
    """The run ends with one line that says what differs, and plays nothing there."""
    file, database = tmp_path / "episodes.jsonl", str(tmp_path / "queue.db")
    code = (
        "import sys, asyncguard_benchmark.harness.fanout.play as playing\n"
        "playing.own_versions = lambda mine=dict(playing.own_versions()): {**mine, 'data': 'older'}\n"
        "from asyncguard.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    options = command("worker", "--database-url", database, "--queue", "asyncguard-benchmark")[3:]
    tools = ["--tools", "asyncguard_benchmark.harness.fanout:tools"]
    worker = subprocess.Popen(
        [sys.executable, "-c", code, *options, *tools], stderr=subprocess.DEVNULL
    )
    try:
        said = bench(tmp_path, *RUN, "--database-url", database, "--out", str(file), code=1)
    finally:
        worker.terminate()
        worker.wait(LAST)
    assert "has data older and not" in said
    assert "bring both to one" in said
    assert lines_in(file) == 1  # the command


@pytest.mark.full
def test_an_ablation_on_workers_finds_the_same(tmp_path: Path) -> None:
    """The ablation has the same episodes, up to the order of sets, and the same findings."""
    one, other = tmp_path / "one", tmp_path / "other"
    asked = (
        "ablate",
        "--agents",
        "eager",
        "--suite",
        "lite",
        "--compositions",
        "S2-00,S2-01",
        "--resamples",
        "50",
    )

    def ablated(folder: Path, *options: str) -> None:
        subprocess.run(
            command("bench", *asked, "--no-wild", "--out", str(folder), *options),
            check=True,
            capture_output=True,
            timeout=LAST,
            env={**os.environ, "PYTHONHASHSEED": "1"},
        )

    ablated(one, "--jobs", "1")
    ablated(other, "--workers", "2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]
    episodes = sorted(path.relative_to(one) for path in (one / "episodes").iterdir())
    assert episodes
    for name in episodes:
        assert (one / name).read_bytes() == (other / name).read_bytes()
    first, second = (json.loads((folder / "findings.json").read_text()) for folder in (one, other))
    for found in (first, second):
        found["settings"].pop("command")
    assert first == second


def test_workers_that_cannot_begin_are_not_started_for_ever(tmp_path: Path) -> None:
    """After three the run is told, once, with what the last one said."""
    told: list[str] = []
    ended: list[WorkersError] = []
    crew = Crew(
        ["--database-url", "mysql://db/x", "--tools", "a:b"],
        logs=tmp_path,
        tell=told.append,
        give_up=ended.append,
    )
    crew.start(1)
    wait_until(lambda: bool(ended))
    crew.close(at_once=False)
    assert told == ["worker 1 ended (exit code 1); another takes its place"] * 2
    assert "the last with exit code 1; it said: " in str(ended[0])
    assert "is not a database for workers" in str(ended[0])
    assert len(ended) == 1


def test_nobody_is_asked_for_what_is_there(tmp_path: Path) -> None:
    """Nothing is sent for what a file holds already: no worker is started, and none is waited for."""
    file = tmp_path / "episodes.jsonl"
    one: Sequence[str] = (
        "run",
        "--agents",
        "eager",
        "--suite",
        "lite",
        "--compositions",
        LITE[0].id,
    )
    assert main([*one, "--out", str(file), "--jobs", "1"]) == 0
    before = file.read_bytes()
    assert main([*one, "--out", str(file), "--database-url", str(tmp_path / "nobody.db")]) == 0
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
