"""Loading the desks as LangGraph's server does, and starting that server."""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from langchain_core.messages import convert_to_messages

from tests.support import histories

ROOT = Path(__file__).resolve().parents[2]
DESK = ROOT / "graphs" / "travel_desk.py"


def load_desk() -> ModuleType:
    """A fresh travel desk with fresh agents, made from the environment of now."""
    return load_graphs(DESK)


def load_graphs(place: Path) -> ModuleType:
    """A fresh module of a file of graphs.

    Args:
        place: The file.
    """
    spec = importlib.util.spec_from_file_location(f"{place.stem}_under_test", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_next_request(messages: Sequence[Any]) -> None:
    """The next request of this conversation is one that every provider takes."""
    histories.check_next_request(convert_to_messages(messages))


def effects_in(path: Path) -> list[Mapping[str, Any]]:
    """Return the recorded effects, in order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running development server."""

    url: str
    """Its address."""
    log: Path
    """Output of the server."""
    effects: Path
    """Effects of its tools."""
    trace: Path
    """The structured log of its agents."""
    process: subprocess.Popen[bytes]
    """Its process, which leads a group of its own."""

    def kill(self) -> None:
        """End it without any clean-up."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def bookings(self, traveller: str) -> list[str]:
        """The offers that were booked for a traveller, in order."""
        return [
            e["offer"]
            for e in effects_in(self.effects)
            if e["effect"] == "booked" and e["traveller"] == traveller
        ]

    def forms(self, traveller: str) -> int:
        """Return the number of visa forms that were handed in for a traveller."""
        return sum(
            e["effect"] == "requested" and e["traveller"] == traveller
            for e in effects_in(self.effects)
        )


@contextlib.contextmanager
def running_server(
    folder: Path, *, graphs: Path = ROOT / "langgraph.json", port: int = 0, **environment: str
) -> Iterator[Server]:
    """Start ``langgraph dev``, and stop it with all it started.

    Whatever its settings say, it keeps threads and runs in files of the folder in which it works: one beside it, or the
    next one, would read them, carry on the runs, and end at once where the other had written but half.

    Args:
        folder: For its files; it works there, and goes on with what an earlier one left.
        graphs: Its configuration.
        port: Port to listen on, a free one if 0.
        environment: Further variables.
    """
    port = port or free_port()
    files = {name: folder / f"{name}.jsonl" for name in ("effects", "trace")}
    path = folder / "server.log"
    config = folder / "server.json"
    config.write_text(json.dumps(_from_anywhere(graphs)))
    with path.open("ab") as log:
        process = subprocess.Popen(
            _command(port, config),
            cwd=folder,
            env=_environment(files) | environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = Server(url=f"http://127.0.0.1:{port}", log=path, process=process, **files)
    try:
        _wait_until_up(server)
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=5)


def _from_anywhere(graphs: Path) -> dict[str, Any]:
    """Return a configuration with the places that it names from its own folder."""
    settings: dict[str, Any] = json.loads(graphs.read_text())
    places, home = settings["graphs"], graphs.parent
    return {
        **settings,
        "dependencies": [str(home / each) for each in settings["dependencies"]],
        "graphs": {name: str(home / place) for name, place in places.items()},
    }


def _command(port: int, config: Path) -> list[str]:
    # By the interpreter of the tests: its environment holds the library and the server.
    start = "from langgraph_cli.cli import cli; cli()"
    options = ["--no-browser", "--no-reload", "--port", str(port), "--config", str(config)]
    return [sys.executable, "-c", start, "dev", *options]


def _environment(files: Mapping[str, Path]) -> dict[str, str]:
    return {
        **os.environ,
        "ASYNCGUARD_DESK_EFFECTS": str(files["effects"]),
        "ASYNCGUARD_DESK_TRACE": str(files["trace"]),
        "ASYNCGUARD_MODEL": "",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
        "NO_COLOR": "1",
    }


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_up(server: Server) -> None:
    end = time.monotonic() + 45
    while time.monotonic() < end:
        assert server.process.poll() is None, (
            f"The server ended with code {server.process.returncode}:\n{server.log.read_text()}"
        )
        if _answers(f"{server.url}/ok"):
            return
        time.sleep(0.1)
    raise AssertionError(f"The server did not come up:\n{server.log.read_text()}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
