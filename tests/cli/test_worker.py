import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncguard import open_journal
from asyncguard.cli import main
from asyncguard.cli.worker import _stopped_by_signals

ROOT = Path(__file__).parents[2]
GIVEN = ["worker", "--database-url", "calls.db"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of tools, which is the current one."""
    modules = {
        "shop_fine": "def look(name: str) -> str:\n    'Look.'\n    return name\nTOOLS = [look]\n",
        "shop_broken": "import no_such_module\n",
        "shop_odd": "TOOLS = 'text'\nNONE = []\ndef f(x: int) -> int:\n    'F.'\n    return x\nTWICE = [f, f]\n",
    }
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.mark.parametrize(
    ("tools", "more", "said"),
    [
        ("shop_fine", [], "must be of the form module:attribute"),
        (":TOOLS", [], "must be of the form module:attribute"),
        (
            "shop_missing:TOOLS",
            [],
            "'shop_missing' of --tools cannot be imported (ModuleNotFoundError",
        ),
        ("shop_broken:TOOLS", [], "(ModuleNotFoundError: No module named 'no_such_module')"),
        (
            "shop_fine:NOTHING",
            [],
            "'shop_fine:NOTHING' does not exist; --tools must name a list of tools",
        ),
        ("shop_odd:TOOLS", [], "'shop_odd:TOOLS' is str"),
        ("shop_odd:NONE", [], "'shop_odd:NONE' is empty"),
        ("shop_odd:TWICE", [], "Two tools are called 'f'"),
        (
            "shop_fine:TOOLS",
            ["--database-url", "mysql://u:secret@h/n"],
            "is not a database for workers",
        ),
        (
            "shop_fine:TOOLS",
            ["--database-url", "host=h dbname=n password=secret"],
            "write postgresql://user@host/name",
        ),
        ("shop_fine:TOOLS", ["--journal", "mysql://h/n"], "mysql"),
        (
            "shop_fine:TOOLS",
            ["--database-url", "/proc/none/calls.db", "--journal", "j.db"],
            "check --database-url",
        ),
        (
            "shop_fine:TOOLS",
            ["--database-url", "postgresql://u:secret@127.0.0.1:9/n", "--journal", "j.db"],
            "The queue's database cannot be used",
        ),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    tools: str, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names what is wrong and shows no password; nothing was left behind."""
    old = sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42)
    if old and "/proc/none/calls.db" in more:
        pytest.skip("DBOS cannot use the SQLite of this Python, which is told first")
    before = set(threading.enumerate())
    # A database that is not there: what is wrong before it is asked for is told without it.
    given = ["worker", "--database-url", "postgresql://u:secret@127.0.0.1:9/n"]
    assert main([*given, "--tools", tools, *more]) == 1
    text = capsys.readouterr().err
    assert text.splitlines()[-1].startswith("asyncguard: ")
    assert text.count("asyncguard: ") == 1
    assert said in text
    assert "secret" not in text
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("asyncguard")]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--tools", "a:b", "--concurrency", "0"],
        ["--tools", "a:b", "--concurrency", "many"],
        ["--tools", "a:b", "--concurrency", "10000000000000000000"],
        ["--tools", "a:b", "--drain-timeout", "-1"],
        ["--tools", "a:b", "--poll", "inf"],
    ],
)
def test_a_wrong_command_line_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong command line ends as in argparse, before anything is loaded."""
    with pytest.raises(SystemExit) as caught:
        main([*GIVEN, *arguments])
    assert caught.value.code == 2
    assert "usage: asyncguard worker" in capsys.readouterr().err


def test_a_journal_is_no_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its file is left as it is."""
    open_journal("j.db").close()
    before = Path("j.db").read_bytes()
    assert main(["worker", "--database-url", "j.db", "--tools", "shop_fine:TOOLS"]) == 1
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert "j.db is a journal and not a queue; give --database-url the file" in text
    assert Path("j.db").read_bytes() == before
    assert not Path("j.db.journal").exists()


@pytest.mark.parametrize("name", ["q.db", "q.db-wal", "q.db.journal", "j.db"])
def test_the_health_file_replaces_no_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It would be written over each second; nothing is opened."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASYNCGUARD_JOURNAL", "j.db" if name == "j.db" else "")
    words = ["worker", "--database-url", "q.db", "--tools", "shop:TOOLS", "--health-file", name]
    before = sorted(tmp_path.iterdir())
    assert main(words) == 1
    assert f"The output {name} is the input " in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_help_tells_of_journal_versions_and_health_and_loads_nothing() -> None:
    """With examples; neither databases nor frameworks are imported for it."""
    code = (
        "import sys\nimport asyncguard.cli\n"
        "try:\n    asyncguard.cli.main(['worker', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = 'dbos sqlalchemy langgraph langchain_core langchain structlog'.split()\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")
    for said in (
        "FILE.journal",
        "--application-version",
        "examples:",
        "SIGTERM",
        "--drain-timeout",
        "health file",
    ):
        assert said in done.stdout


def test_the_first_signal_asks_and_the_second_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drain, then at once, with the exit code of the signal."""
    ends: list[int] = []
    monkeypatch.setattr(os, "_exit", ends.append)
    with _restored(signal.SIGTERM, signal.SIGINT):
        stop = _stopped_by_signals()
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
        assert ends == []
        signal.raise_signal(signal.SIGINT)
        assert ends == [130]


@contextlib.contextmanager
def _restored(*numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
