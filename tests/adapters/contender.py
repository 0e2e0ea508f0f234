"""One of two processes that run on one thread at the same time: prints how its run ended."""

import sqlite3
import sys
import time
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from asyncguard.errors import ThreadBusyError
from asyncguard.testing import ScriptedChatModel
from tests.adapters.harness import Frontend, build


def main(frontend: Frontend, folder: Path, name: str) -> None:
    """Say that it is ready, wait for the sign, and run."""
    connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
    model = ScriptedChatModel(lambda messages, _: f"hello, {messages[-1].text}", latency=1.0)
    agent = build(frontend, model, [], checkpointer=SqliteSaver(connection))
    (folder / f"{name}.ready").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)
    try:
        sys.stdout.write("answered" if agent.run_sync(name, thread="t").last else "nothing")
    except ThreadBusyError:
        sys.stdout.write("refused")
