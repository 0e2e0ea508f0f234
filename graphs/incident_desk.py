"""An incident desk whose tools can be made to fail, to watch how calls are diagnosed and recovered.

Named in ``langgraph.json``; ``langgraph dev`` serves it, offline, for Studio. A fault is switched on where the user
says so, one or several::

    Handle the incident of checkout (faults: ticket-lost, metrics-seconds)

| fault              | at             | what is done about it                                       |
|--------------------|----------------|-------------------------------------------------------------|
| `notify-busy`      | notify         | retry: 503, twice; the key keeps it one notification        |
| `metrics-argument` | query_metrics  | refresh, rebind: the argument has another name now          |
| `metrics-seconds`  | query_metrics  | refresh, normalise: 4.2 s are 4200 ms                       |
| `logs-renamed`     | search_logs    | normalise: a field has a name that is declared as its alias |
| `metrics-locked`   | query_metrics  | fallback: the replica is asked                              |
| `metrics-stuck`    | query_metrics  | refresh, cross_check: what the sources say counts           |
| `metrics-stale`    | query_metrics  | cross_check, if the model asks two ("Compare the monitors") |
| `ticket-lost`      | create_ticket  | verify: it was opened, its answer was lost                  |
| `ticket-dropped`   | create_ticket  | verify, retry: it was not opened                            |
| `notify-forbidden` | notify         | ask: the model is told the diagnosis, and reports it        |

The latest line of the thread that names faults counts, with ``faults: none`` there are none. Environment:
``ASYNCGUARD_MODEL``, ``ASYNCGUARD_DESK_EFFECTS`` and ``ASYNCGUARD_DESK_TRACE``, as in ``travel_desk.py``. The default
model is simulated (``simulated_model.py``, ``incident_model.py``); the world (``incident_world.py``,
``incident_service.py``) is made of files, SQLite and HTTP on the loopback interface. LangGraph's server loads this file
by path.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolRuntime

from asyncguard import GuardConfig, Ports, Source, Timing, TraceFile, build_agent, guarded

_PROMPT = "You work at an incident desk. Use the tools for what the user asks, and report what was really done."


def _beside(name: str) -> ModuleType:
    """A file of this folder; by path, as the server loads this one: the folder is not a package."""
    place = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"incident_desk_{name}", place)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"A part of the incident desk is missing at {place}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_world = _beside("incident_world")
_service = _beside("incident_service")
_skills = _beside("incident_model")
_simulated = _beside("simulated_model")

LOGS = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "errors": {"type": "integer", "minimum": 0, "aliases": ["error_count"]},
        "first": {"type": "string", "format": "date-time"},
        "message": {"type": "string"},
    },
    "required": ["service", "errors", "first", "message"],
    "additionalProperties": False,
}
LATENCY = _world.latency_schema()


class IncidentDesk:
    """The tools: clients of the world, declared with what recovery may use."""

    def __init__(self, *, effects: Path | None = None) -> None:
        """Open the desk.

        Args:
            effects: File of the effects, or none.
        """
        self._world = _world.World(effects=effects)
        self._service = _service.TicketService(self._world.find, self._world.note)
        # The service is on this machine: no proxy of the environment leads there.
        self._client = httpx.Client(timeout=10, trust_env=False)

    def tools(self) -> list[BaseTool | Callable[..., Any]]:
        """Return the tools of an agent at this desk."""
        monitors: list[BaseTool | Callable[..., Any]] = [
            self._metrics(),
            self._replica(),
            self._monitor(),
        ]
        return [
            self._search(),
            *monitors,
            self._contract(),
            self._ticket(),
            self._find(),
            self._notify(),
        ]

    def close(self) -> None:
        """Stop the service and remove the files."""
        self._client.close()
        self._service.close()
        self._world.close()

    # -- reading ---------------------------------------------------------------------------------------------------

    def _search(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=["logs:{service}"], result_schema=LOGS, timeout=20)
        def search_logs(service: str, runtime: ToolRuntime) -> dict[str, Any]:
            """Search the log of a service for errors."""
            return dict(self._scene(runtime).search_logs(service))

        return search_logs

    def _metrics(self) -> BaseTool:
        def query_metrics(runtime: ToolRuntime, **arguments: Any) -> dict[str, Any]:
            return dict(self._scene(runtime).query_primary(arguments))

        # What the database takes is the database's business: arguments are passed on as they are.
        tool = StructuredTool.from_function(
            func=query_metrics,
            name="query_metrics",
            description="Query the metrics database for the latency (p95, in ms) of a service.",
            args_schema=_world.question_schema(),
        )
        declare = guarded(
            effect="pure",
            reads=["metrics:{service}"],
            result_schema=LATENCY,
            contract="describe_metrics",
            fallbacks=["query_replica"],
            sources=["query_replica", Source(tool="measure_latency", trusted=True)],
            compared=["/p95"],
            timeout=20,
        )
        return declare(tool)

    def _contract(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=[], timeout=20)
        def describe_metrics(tool: str, runtime: ToolRuntime) -> dict[str, Any]:
            """Tell what query_metrics takes and answers at present."""
            return dict(self._scene(runtime).contract())

        return describe_metrics

    def _replica(self) -> Callable[..., Any]:
        @guarded(
            effect="pure",
            reads=["metrics:{service}"],
            result_schema=LATENCY,
            sources=["query_metrics", Source(tool="measure_latency", trusted=True)],
            compared=["/p95"],
            timeout=20,
        )
        def query_replica(service: str, runtime: ToolRuntime) -> dict[str, Any]:
            """Query the replica of the metrics database for the latency of a service."""
            return dict(self._scene(runtime).query("replica", service))

        return query_replica

    def _monitor(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=["metrics:{service}"], result_schema=LATENCY, timeout=20)
        def measure_latency(service: str, runtime: ToolRuntime) -> Any:
            """Measure the latency of a service from outside."""
            return self._ask(runtime, "GET", "/latency", params={"service": service})

        return measure_latency

    # -- acting ----------------------------------------------------------------------------------------------------

    def _ticket(self) -> Callable[..., Any]:
        @guarded(
            effect="probed", probe="find_ticket", reads=[], writes=["tickets:{service}"], timeout=20
        )
        def create_ticket(service: str, title: str, severity: int, runtime: ToolRuntime) -> Any:
            """Open a ticket for a service, of severity 1 (the company stands still) or 2."""
            wanted = {"service": service, "title": title, "severity": severity}
            return self._ask(runtime, "POST", "/tickets", json=wanted)

        return create_ticket

    def _find(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=["tickets:{service}"], timeout=20)
        def find_ticket(service: str, title: str, runtime: ToolRuntime) -> Any:
            """Tell whether a ticket of this title was opened for a service."""
            return self._ask(
                runtime, "GET", "/tickets", params={"service": service, "title": title}
            )

        return find_ticket

    def _notify(self) -> Callable[..., Any]:
        @guarded(
            effect="keyed",
            atomic=True,
            key_argument="key",
            reads=[],
            writes=["channels:{channel}"],
            timeout=20,
        )
        def notify(channel: str, text: str, runtime: ToolRuntime, key: str = "") -> Any:
            """Notify the people of a channel."""
            said = {"channel": channel, "text": text}
            return self._ask(
                runtime, "POST", "/notifications", json=said, headers={"Idempotency-Key": key}
            )

        return notify

    # -- the world -------------------------------------------------------------------------------------------------

    def _scene(self, runtime: ToolRuntime) -> Any:
        """The thread's part of the world, with the faults that its user has switched on."""
        place, faults = _switched_on(runtime.state["messages"])
        return self._world.scene(f"{runtime.state['asyncguard']['session']}-{place}", faults)

    def _ask(self, runtime: ToolRuntime, method: str, path: str, **request: Any) -> Any:
        """Ask the ticket service; what goes wrong is raised by httpx as it is."""
        headers = {"X-Scene": self._scene(runtime).name, **request.pop("headers", {})}
        answer = self._client.request(
            method, f"{self._service.url}{path}", headers=headers, **request
        )
        return answer.raise_for_status().json()


def _switched_on(messages: Sequence[BaseMessage]) -> tuple[int, frozenset[Any]]:
    """Return the place of the latest user message that names faults, and the faults; skip news."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.type == "human" and "<result-" not in message.text:
            faults: frozenset[Any] | None = _world.faults_in(message.text)
            if faults is not None:
                return place, faults
    return 0, frozenset()


def make_agent(config: GuardConfig, desk: IncidentDesk) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent at a desk.

    Args:
        config: What is guarded and recovered.
        desk: The desk.
    """
    trace = _path("ASYNCGUARD_DESK_TRACE")
    ports = Ports(observers=[TraceFile(trace)] if trace is not None else [])
    model = os.environ.get("ASYNCGUARD_MODEL") or _skills.make_model(_simulated)
    return build_agent(
        model, desk.tools(), config=config, system_prompt=_PROMPT, ports=ports, name="incident_desk"
    )


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


# Everything is on this machine: what is overloaded has recovered soon.
CONFIG = GuardConfig(timing=Timing(retry_initial=0.05, retry_jitter=0.01))
incident_desk = make_agent(CONFIG, IncidentDesk(effects=_path("ASYNCGUARD_DESK_EFFECTS")))
