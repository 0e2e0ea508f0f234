"""The world of the incident desk: log files, two databases of metrics, and the faults in them.

The files and the databases are real and small, and made when they are read first. Each thread has a
*scene* of its own, so that the faults of one thread do not strike another. What can be made to go
wrong is listed in :class:`Fault`; it goes wrong *here*, and in the ticket service: the tools of the
desk are ordinary clients and know of no faults.

This file is loaded by path and imports nothing from its folder.
"""

import contextlib
import json
import re
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jsonschema

_NAMED = re.compile(r"\bfaults?: *(?P<names>[a-z-]+(?:, *[a-z-]+)*)", re.IGNORECASE)


class Fault(StrEnum):
    """Faults that can be switched on, each at one tool."""

    LOGS_RENAMED = "logs-renamed"
    """A newer log search calls the number of errors by another name."""
    METRICS_ARGUMENT = "metrics-argument"
    """The metrics database was migrated: it wants another argument."""
    METRICS_SECONDS = "metrics-seconds"
    """It was migrated: latencies are in seconds."""
    METRICS_LOCKED = "metrics-locked"
    """It is being migrated, and locked."""
    METRICS_STUCK = "metrics-stuck"
    """It holds a latency that cannot be."""
    METRICS_STALE = "metrics-stale"
    """It holds a latency that could be and is not."""
    TICKET_LOST = "ticket-lost"
    """The ticket service opens the ticket and hangs up before it answers, once."""
    TICKET_DROPPED = "ticket-dropped"
    """It hangs up before it opens the ticket, once."""
    NOTIFY_BUSY = "notify-busy"
    """It is overloaded when a notification is to be sent, twice."""
    NOTIFY_FORBIDDEN = "notify-forbidden"
    """It refuses every notification of this desk."""


_STRIKES: Mapping[Fault, int] = MappingProxyType(
    {Fault.TICKET_LOST: 1, Fault.TICKET_DROPPED: 1, Fault.NOTIFY_BUSY: 2}
)
"""Number of times that a passing fault strikes; the others stay."""


def faults_in(text: str) -> frozenset[Fault] | None:
    """The faults that a text switches on, as in ``faults: ticket-lost, metrics-seconds``; ``None`` if it names none.

    Raises:
        ValueError: There is no such fault.
    """
    named = [
        name.strip().lower()
        for found in _NAMED.finditer(text)
        for name in found["names"].split(",")
    ]
    unknown = sorted(set(named) - set(Fault) - {"none"})
    if unknown:
        raise ValueError(
            f"There is no fault {unknown[0]!r}; there are {', '.join(Fault)}, and none."
        )
    return frozenset(Fault(name) for name in named if name != "none") if named else None


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Condition of a service of the company."""

    errors: int
    """Lines of its log that tell an error."""
    message: str
    """Text of most of these lines."""
    p95: float
    """Latency of the slowest twentieth of its requests, in milliseconds."""


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "checkout": Condition(errors=42, message="connection pool exhausted", p95=4200.0),
        "payments": Condition(errors=17, message="card network timed out", p95=1250.0),
        "search": Condition(errors=3, message="shard is recovering", p95=310.0),
    }
)
"""The company's services."""
MEASURED = "2026-05-04T09:30:00+00:00"
"""Time of every measurement."""

MILLISECONDS: Mapping[str, Any] = MappingProxyType(
    {"type": "number", "minimum": 20, "maximum": 60000, "unit": "ms"}
)


def latency_schema(p95: Mapping[str, Any] = MILLISECONDS) -> dict[str, Any]:
    """Return the schema of a monitor's answer.

    Args:
        p95: Schema of the latency.
    """
    at = {"type": "string", "format": "date-time"}
    properties = {"service": {"type": "string"}, "p95": dict(p95), "at": at}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def question_schema(name: str = "service") -> dict[str, Any]:
    """Return the schema of a question to a monitor.

    Args:
        name: Of the one argument.
    """
    service = {"type": "string", "description": "Name of a service, as in checkout."}
    return {
        "type": "object",
        "properties": {name: service},
        "required": [name],
        "additionalProperties": False,
    }


# -- scenes --------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Scene:
    """The world as one thread finds it."""

    name: str
    """Names it to the ticket service."""
    folder: Path
    """Its logs and databases."""
    faults: frozenset[Fault]
    """Faults that are switched on."""
    tickets: list[dict[str, Any]] = field(default_factory=list)
    """Tickets that were opened."""
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Notifications that were sent, by their key."""
    _struck: Counter[Fault] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def strikes(self, fault: Fault) -> bool:
        """Return True if a fault strikes now, and count it: a passing fault is used up."""
        with self._lock:
            self._struck[fault] += 1
            spent = fault in _STRIKES and self._struck[fault] > _STRIKES[fault]
            return fault in self.faults and not spent

    def build(self) -> None:
        """Write logs and databases."""
        self.folder.mkdir()
        for service, condition in CONDITIONS.items():
            lines = [
                {"at": MEASURED, "level": "ERROR", "message": condition.message}
            ] * condition.errors
            lines.append({"at": MEASURED, "level": "INFO", "message": "request served"})
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (self.folder / f"{service}.log").write_text(text, encoding="utf-8")
        for database in ("primary", "replica"):
            with self.connected(database) as connection:
                connection.execute(
                    "CREATE TABLE latency (service TEXT PRIMARY KEY, p95 REAL, at TEXT)"
                )
                rows = [
                    (name, self._recorded(database, each.p95), MEASURED)
                    for name, each in CONDITIONS.items()
                ]
                connection.executemany("INSERT INTO latency VALUES (?, ?, ?)", rows)
                connection.commit()

    def _recorded(self, database: str, p95: float) -> float:
        if database == "primary":
            if Fault.METRICS_STUCK in self.faults:
                return 987654.0
            if Fault.METRICS_STALE in self.faults:
                return 95.0
            if Fault.METRICS_SECONDS in self.faults:
                return p95 / 1000
        return p95

    def measure(self, service: str) -> dict[str, Any] | None:
        """Return what an external monitor measures at a service; None for an unknown one."""
        condition = CONDITIONS.get(service)
        return (
            None
            if condition is None
            else {"service": service, "p95": condition.p95, "at": MEASURED}
        )

    # -- logs ------------------------------------------------------------------------------------------------------

    def search_logs(self, service: str) -> dict[str, Any]:
        """Return the summary of the errors in a service's log.

        Raises:
            ValueError: There is no such log.
        """
        _known(service)
        lines = map(
            json.loads, (self.folder / f"{service}.log").read_text(encoding="utf-8").splitlines()
        )
        errors = [line for line in lines if line["level"] == "ERROR"]
        [(message, _)] = Counter(line["message"] for line in errors).most_common(1)
        number = "error_count" if Fault.LOGS_RENAMED in self.faults else "errors"
        return {
            "service": service,
            number: len(errors),
            "first": errors[0]["at"],
            "message": message,
        }

    # -- metrics ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def connected(self, database: str) -> Iterator[sqlite3.Connection]:
        """A connection to one of the databases, closed at the end."""
        with contextlib.closing(
            sqlite3.connect(self.folder / f"{database}.db", timeout=0)
        ) as connection:
            yield connection

    def contract(self) -> dict[str, Any]:
        """Return the schemas of the primary database's arguments and answer as they are now."""
        name = "component" if Fault.METRICS_ARGUMENT in self.faults else "service"
        seconds = {"type": "number", "unit": "s"}
        returns = (
            latency_schema(seconds) if Fault.METRICS_SECONDS in self.faults else latency_schema()
        )
        return {"parameters": question_schema(name), "returns": returns}

    def query_primary(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the primary database.

        Raises:
            ValidationError: The arguments are not those of its contract (of jsonschema).
            OperationalError: It is locked (of sqlite3).
            ValueError: There is no such service.
        """
        jsonschema.validate(dict(arguments), self.contract()["parameters"])
        [service] = arguments.values()
        if Fault.METRICS_LOCKED not in self.faults:
            return self.query("primary", service)
        with self.connected("primary") as migration:
            migration.execute("BEGIN EXCLUSIVE")
            return self.query("primary", service)

    def query(self, database: str, service: str) -> dict[str, Any]:
        """Ask one of the databases about a service."""
        _known(service)
        with self.connected(database) as connection:
            [row] = connection.execute(
                "SELECT service, p95, at FROM latency WHERE service = ?", (service,)
            ).fetchall()
        return dict(zip(("service", "p95", "at"), row, strict=True))


def _known(service: str) -> None:
    if service not in CONDITIONS:
        raise ValueError(f"There is no service {service!r}; there are {', '.join(CONDITIONS)}.")


# -- all scenes ----------------------------------------------------------------------------------------------------


class World:
    """Scenes by name."""

    def __init__(self, *, effects: Path | None = None) -> None:
        """Make a world in which nothing is there yet.

        Args:
            effects: File to which every ticket and notification is appended as one JSON line, or none.
        """
        self._effects = effects
        self._scenes: dict[str, Scene] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def scene(self, name: str, faults: frozenset[Fault]) -> Scene:
        """The scene of this name; it is made when it is asked for first.

        Args:
            name: Of the scene.
            faults: What goes wrong in it from the beginning.
        """
        with self._lock:
            if name not in self._scenes:
                if self._folder is None:
                    self._folder = tempfile.TemporaryDirectory(prefix="incident-desk-")
                made = Scene(
                    name=name,
                    folder=Path(self._folder.name) / str(len(self._scenes)),
                    faults=faults,
                )
                made.build()
                self._scenes[name] = made
            return self._scenes[name]

    def find(self, name: str) -> Scene | None:
        """The scene of this name, if it was made."""
        with self._lock:
            return self._scenes.get(name)

    def note(self, effect: Mapping[str, Any]) -> None:
        """Note something that was done to the world."""
        if self._effects is not None:
            with self._lock, self._effects.open("a", encoding="utf-8") as file:
                file.write(json.dumps(effect) + "\n")

    def close(self) -> None:
        """Forget the scenes and remove their files."""
        with self._lock:
            folder, self._folder = self._folder, None
            self._scenes.clear()
        if folder is not None:
            folder.cleanup()
