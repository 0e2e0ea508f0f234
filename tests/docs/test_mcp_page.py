"""The page on MCP: its server answers over HTTP, too, at the address that the page says."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mcp.client.stdio  # noqa: F401  # keeps the stderr of its import, which has to be a file
import pytest

from tests.docs.markdown import fences, read

pytestmark = pytest.mark.server
PAGE = "docs/mcp.md"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens, or say that it has ended."""
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)  # a real server in another process: no virtual time
    pytest.fail(f"No server listens at {port}; its process returned {process.returncode}.")


def test_the_server_of_the_page_answers_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command, the server and the call of the page, on a free port."""
    monkeypatch.chdir(tmp_path)
    server, agent = (each.text for each in fences(read(PAGE)) if each.language == "python")
    command = re.search(r"`python (desk/server\.py) (\S+)`", read(PAGE))
    call = next(each.text for each in fences(read(PAGE)) if "streamable_http" in each.text)
    assert command is not None
    (tmp_path / "desk").mkdir()
    (tmp_path / command[1]).write_text(server)
    port = _free_port()
    with subprocess.Popen(
        [sys.executable, command[1], command[2]], env={**os.environ, "PORT": str(port)}
    ) as process:
        try:
            _wait_for(port, process)
            namespace: dict[str, Any] = {"__name__": "page"}
            exec(agent, namespace)
            over_stdio = capsys.readouterr().out
            exec(call.replace(":8000/", f":{port}/"), namespace)
            assert capsys.readouterr().out == over_stdio != ""
        finally:
            process.kill()
