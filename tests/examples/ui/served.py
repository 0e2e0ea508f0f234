"""A ``langgraph dev`` with the scripted agents, and the page of ``examples/ui`` in a browser."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.graphs.desk import ROOT, Server, running_server
from tests.support.browser import Tab

PAGE = ROOT / "examples" / "ui" / "index.html"
DESK = Path(__file__).with_name("desk.py")
AGENTS = ("state_machine", "middleware")
EARLY = "All done: the hotel is Roma."
"""Text that the scripted model says too early; its module is imported by the server alone."""
SECONDS = 60_000
"""Milliseconds that the page is given for what an agent does: machines of CI are slow."""


@contextlib.contextmanager
def desk_server(
    folder: Path, *, port: int = 0, keep: bool = False, **environment: str
) -> Iterator[Server]:
    """Start the server on the scripted agents.

    Args:
        folder: For its files.
        port: Port to listen on, a free one if 0.
        keep: True to keep checkpoints, too, in a file of the folder, for a server that is killed.
        environment: Further variables.
    """
    names = [*AGENTS, *(f"{name}_hold" for name in AGENTS), "state_machine_pair"]
    config: dict[str, Any] = {"dependencies": ["."]}
    config["graphs"] = {name: f"{DESK}:{name}" for name in names}
    if keep:
        config["checkpointer"] = {"path": f"{DESK}:threads"}
    graphs = folder / "langgraph.json"
    graphs.write_text(json.dumps(config))
    with running_server(folder, graphs=graphs, port=port, **environment) as server:
        yield server


class Shown:
    """The page on an agent, as its user sees it."""

    def __init__(self, browser: Any, server: Server, agent: str, **context: Any) -> None:
        url = f"{PAGE.as_uri()}?server={server.url}&agent={agent}"
        self.tab = Tab(browser, url, own=server.url, **context)
        self.page = self.tab.page
        self.page.set_default_timeout(SECONDS)
        self.status("Ready")

    def status(self, text: str) -> None:
        """Wait until the line of the status holds a text."""
        self.page.locator("#status", has_text=text).wait_for()

    def say(self, text: str, *, tasks: bool = False) -> None:
        """Send a message, or one task for each line."""
        self.page.get_by_label("Message", exact=True).fill(text)
        self.page.get_by_label("Each line is a task").set_checked(tasks)
        self.page.get_by_role("button", name="Send").click()

    def card(self, tool: str, *, state: str) -> Any:
        """Wait for the card of a tool in a state, and return it."""
        card = self.page.locator(
            f".card[data-state={state}]", has=self.page.locator("h3", has_text=tool)
        )
        card.first.wait_for()
        return card.first

    def cards(self) -> list[str]:
        """Return what is written on the cards, in their order."""
        texts: list[str] = self.page.locator(".card").all_inner_texts()
        return texts

    def log(self) -> str:
        """Return what is written in the conversation, markup left out."""
        text: str = self.page.locator("#log").inner_text()
        return text

    def close(self) -> None:
        """Close the tab; nothing may have gone wrong in it."""
        self.tab.context.close()
        assert self.tab.problems == []


def wait_until_stored(folder: Path) -> None:
    """Wait until the server writes its list of runs to its file, which it does every ten seconds.

    Args:
        folder: In which the server works.
    """
    file = folder / ".langgraph_api" / ".langgraph_ops.pckl"
    begun, end = time.time(), time.monotonic() + SECONDS / 1000
    while time.monotonic() < end:
        if file.exists() and file.stat().st_mtime > begun:
            return
        time.sleep(0.2)
    raise AssertionError(f"The server has not written {file}.")
