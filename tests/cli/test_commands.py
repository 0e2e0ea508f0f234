import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import PlainSerializer, TypeAdapter

from asyncguard.cli import main
from asyncguard.errors import CallerError

ROOT = Path(__file__).parents[2]
SEEN: list[list[str]] = []


def echo(argv: Sequence[str]) -> int:
    """Remembers its arguments."""
    SEEN.append(list(argv))
    return 7


def fails(argv: Sequence[str]) -> int:
    """Refuses its arguments."""
    raise CallerError("The scenario is missing; name one.")


def interrupted(argv: Sequence[str]) -> int:
    """Is stopped by the user."""
    raise KeyboardInterrupt


def interrupted_within_a_library(argv: Sequence[str]) -> int:
    """Is stopped by the user while pydantic calls back."""

    def stopped(value: Any) -> Any:
        raise KeyboardInterrupt

    TypeAdapter(Annotated[int, PlainSerializer(stopped)]).dump_python(1)
    return 0


def silent(argv: Sequence[str]) -> None:
    """Returns nothing, against the contract."""


NOT_CALLABLE = "text"


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points as other packages would install them."""
    points: list[EntryPoint] = []
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "plugin_module", module)
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: EntryPoints(points).select(group=group),
        raising=True,
    )
    add(points, "bench", "plugin_module:echo")
    return points


def add(points: list[EntryPoint], name: str, value: str) -> None:
    """Installs a command."""
    points.append(EntryPoint(name=name, value=value, group="asyncguard.commands"))


def test_an_added_command_gets_the_rest_of_the_line(plugins: list[EntryPoint]) -> None:
    """Its arguments are passed as they are, options included, and its exit code is ours."""
    assert plugins
    SEEN.clear()
    assert main(["bench", "demo", "--help", "-x", "--", "y"]) == 7
    assert SEEN == [["demo", "--help", "-x", "--", "y"]]


def test_help_lists_added_commands_without_importing_them(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken package does not break the help."""
    add(plugins, "broken", "no_such_module:main")
    add(plugins, "measure", "asyncguard_benchmark.commands:main")
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "bench                provided by plugin_module:echo" in text
    assert "broken               provided by no_such_module:main" in text
    assert "measure              measure what guards do" in text
    assert "trace " in text
    assert "examples:" in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "no_such_module:main",
            "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module')",
        ),
        ("plugin_module:missing", "cannot be loaded (AttributeError"),
        ("plugin_module:NOT_CALLABLE", "is not callable"),
    ],
)
def test_a_broken_command_is_one_clear_line(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str], value: str, message: str
) -> None:
    """The error names the command, where it comes from, and what to do."""
    add(plugins, "broken", value)
    assert main(["broken"]) == 1
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert text.startswith(f"asyncguard: The command 'broken' ({value})")
    assert message in text
    assert "reinstall or remove its package" in text


def test_two_packages_with_one_command_are_refused(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two packages that add one command are refused, with the names of both."""
    add(plugins, "bench", "other_module:main")
    assert main(["bench"]) == 1
    assert "other_module:main and plugin_module:echo" in capsys.readouterr().err


def test_an_added_command_cannot_replace_ours(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    """An added command does not replace `trace`."""
    add(plugins, "trace", "plugin_module:echo")
    SEEN.clear()
    assert main(["trace", "/no/such/file"]) == 1
    assert SEEN == []
    assert "cannot be read" in capsys.readouterr().err


def test_errors_of_a_command_are_one_line(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that the library raises on purpose is printed in one line, without a traceback."""
    add(plugins, "fails", "plugin_module:fails")
    assert main(["fails"]) == 1
    assert capsys.readouterr().err == "asyncguard: The scenario is missing; name one.\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [("interrupted", 130), ("interrupted_within_a_library", 130), ("silent", 0)],
)
def test_other_endings_have_a_code(plugins: list[EntryPoint], name: str, code: int) -> None:
    """Ctrl-C and a command that returns nothing."""
    add(plugins, name, f"plugin_module:{name}")
    assert main([name]) == code


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trce", "did you mean 'trace'?"),
        ("quux", "the commands are: trace, view, ledger, deliver, worker, bench."),
    ],
)
def test_an_unknown_command_is_a_usage_error(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    """An unknown command is answered with a suggestion, or the list of commands."""
    assert plugins
    assert main([name]) == 2
    assert capsys.readouterr().err == f"asyncguard: There is no command {name!r}; {hint}\n"


def test_no_command_prints_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The help goes to standard error then."""
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: asyncguard" in captured.err


def test_an_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option ends as in argparse."""
    with pytest.raises(SystemExit) as caught:
        main(["--verbose"])
    assert caught.value.code == 2
    assert "--verbose" in capsys.readouterr().err


def test_the_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line holds the name and the version."""
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"9.8.7-{name}")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "asyncguard 9.8.7-asyncguard\n"


def test_starting_loads_nothing_heavy() -> None:
    """Neither the command line nor its help imports what only some commands need."""
    code = (
        "import sys\n"
        "import asyncguard.cli\n"
        "try:\n    asyncguard.cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = 'langgraph langchain_core langchain structlog rich jsonschema opentelemetry asyncio'.split()\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "usage: asyncguard" in done.stdout


def test_drawing_a_trace_needs_no_framework() -> None:
    """`asyncguard trace` works on a machine that has the file only."""
    code = (
        "import sys\n"
        "import asyncguard.cli.trace\n"
        "heavy = 'langgraph langchain_core langchain structlog jsonschema opentelemetry'.split()\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("redirection", "code"), [(">/dev/full", 1), (">&-", 0), (">&- 2>&-", 0)])
def test_an_output_that_takes_nothing_is_no_traceback(redirection: str, code: int) -> None:
    """A full disk is one line that says so; an output that the caller has closed loses what is written, as asked."""
    script = "import sys; from asyncguard.cli import main; sys.exit(main(['--version']))"
    line = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(script)} {redirection}"
    ended = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert ended.returncode == code
    full = "asyncguard: The output cannot be written (No space left on device): free some space.\n"
    assert ended.stderr == (full if code else "")
