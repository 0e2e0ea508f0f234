"""A real MCP server over streamable HTTP, in a process that the tests may kill; run as a script by `served`."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any


@contextmanager
def served(effects: Path, *, lives: int = 1, sse: bool = False) -> Iterator[str]:
    """Serve while the block runs.

    Args:
        effects: File to which each tool with an effect appends its name and city.
        lives: Number of processes that serve, one after the end of the other; after the last one
            connections are refused.
        sse: True to answer by a stream of events, as FastMCP does by default, not by one JSON body.

    Yields:
        The URL.
    """
    command = [sys.executable, __file__, str(effects), str(lives), "sse" if sse else "json"]
    with Popen(command, stdout=PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            # It listens before it says its port, so the first connection already waits in its queue.
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


def _app(effects: Path, sse: bool) -> Any:
    from mcp.server.fastmcp import FastMCP
    from mcp.types import ToolAnnotations

    app = FastMCP("desk", log_level="ERROR", stateless_http=True, json_response=not sse)

    def note(name: str, city: str) -> int:
        with effects.open("a") as file:
            file.write(f"{name} {city}\n")
        return effects.read_text().splitlines().count(f"{name} {city}")

    @app.tool(annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False))
    def look(city: str) -> str:
        """Look a city up."""
        return f"{city}: 3 hotels"

    @app.tool(annotations=ToolAnnotations(destructiveHint=True))
    async def slow(city: str) -> str:
        """Begin, and answer after a minute."""
        note("slow", city)
        await asyncio.sleep(60)
        return "late"

    @app.tool(annotations=ToolAnnotations(destructiveHint=False, idempotentHint=True))
    def keep(city: str) -> str:
        """Keep a city; the first time, the server dies when the city is kept."""
        if note("keep", city) == 1:
            os._exit(3)
        return f"kept {city}"

    def book(city: str) -> str:
        """Book a night."""
        note("book", city)
        return f"booked {city}"

    def book_nights(city: str, nights: int) -> str:
        """Book some nights."""
        note("book", f"{city} {nights}")
        return f"booked {city} for {nights}"

    app.add_tool(book)

    @app.tool()
    def update_server() -> str:
        """Let `book` require the number of nights from now on."""
        app.remove_tool("book")
        app.add_tool(book_nights, name="book", description="Book some nights.")
        return "updated"

    return app.streamable_http_app()


def _main(effects: str, lives: str, form: str) -> None:
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)  # noqa: T201 - for the test that started it
    for _ in range(int(lives)):
        if (child := os.fork()) == 0:
            config = uvicorn.Config(_app(Path(effects), form == "sse"), log_level="error")
            uvicorn.Server(config).run(sockets=[listening])
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
