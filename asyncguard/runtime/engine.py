"""The engine: configuration, declarations and ports that the sessions of one agent share."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core.admission import Fault, Guard
from asyncguard.core.scoreboard import Validator
from asyncguard.core.stored_specs import to_json
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import compile_schema, enabled, watching
from asyncguard.journal.port import Journal
from asyncguard.observability.observer import Observer, ObserverSet
from asyncguard.recovery.circuit_breaker import Circuit
from asyncguard.recovery.failure_case import Casebook, UserDiagnosis
from asyncguard.recovery.result_check import prepare
from asyncguard.runtime.attempt_registry import AttemptRegistry
from asyncguard.runtime.clock import Clock, LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Executor
from asyncguard.runtime.inbox import Inbox
from asyncguard.validation import check_fields, check_value


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Ports of the engine to the outside world; every field may be replaced by a fake."""

    clock: Clock = field(default_factory=LoopClock)
    """Source of time."""
    executor: Executor | None = None
    """Executor of the calls; the embedded executor by default."""
    inbox: Inbox = field(default_factory=Inbox)
    """Entry point of external results."""
    journal: Journal | None = None
    """Write-ahead record of calls with effects; see ``asyncguard.open_journal``."""
    observers: Sequence[Observer] = ()
    """Observers that are notified of every event."""
    new_id: Callable[[], str] = lambda: secrets.token_hex(8)
    """Factory of ids of sessions and runs, and of the nonce of notifications."""

    def __post_init__(self) -> None:
        """Check the types of all fields."""
        check_fields(self)


@cache  # the metadata of a package are read from disk
def _release() -> str:
    return version("asyncguard")


class Engine:
    """State and ports that the sessions of one agent have in common."""

    def __init__(
        self,
        config: GuardConfig,
        specs: Mapping[str, ToolSpec],
        ports: Ports,
        diagnose: UserDiagnosis | None = None,
    ) -> None:
        """Make an engine.

        Args:
            config: Switches and limits.
            specs: Declarations of all tools by name.
            ports: Ports to the outside world.
            diagnose: The user's own rule of diagnosis.

        Raises:
            CallerError: Configuration or ports have the wrong type.
            DeclarationError: A tool's parameter or result schema is not valid JSON Schema.
        """
        check_value("config", GuardConfig, config)
        check_value("ports", Ports, ports)
        self.config = config
        self.ports = ports
        self.clock = ports.clock
        self.executor: Executor = ports.executor or LocalExecutor(ports.clock)
        self.inbox = ports.inbox
        self.journal: Journal | None = None
        # Of the engine: an idle session is dropped and folded again, and another branch still asks.
        self.begun = AttemptRegistry()
        # Breakers that are open or count failures, by tool; a missing one is closed.
        self.circuits: dict[str, Circuit] = {}
        self.guards: tuple[Guard, ...] = enabled(config)
        self.watching: tuple[Guard, ...] = watching(config)
        self.known_faults: set[Fault] = set()
        """Faults of the user's own guards that were logged."""
        self.epoch = ports.new_id()
        """Id of this process, ``<journal id>/<id>`` with a journal; events store it."""
        if ports.journal is not None:
            self.use_journal(ports.journal)
        self.observers = ObserverSet(ports.observers)
        self.observers.introduce(config.to_json(), version=_release())
        self.specs: dict[str, ToolSpec] = {}
        self.all_met = True
        """True if all tools are known; a middleware learns them at the first model request."""
        # The declaration in the form in which threads keep it, with the spec it was made from.
        self._declared: dict[str, tuple[ToolSpec, dict[str, Any]]] = {}
        self.validators: dict[str, Validator] = {}
        self.casebook = Casebook(specs=self.specs, fits=self._arguments_fit, diagnose=diagnose)
        self.add_tools(specs)

    def use_journal(self, journal: Journal) -> None:
        """Record calls with effects in a journal from now on.

        The embedded executor asks this journal before a job begins; other executors have their own.

        Args:
            journal: The journal; it also receives the deliveries of external results.
        """
        self.journal = journal
        self.inbox.forward_to(journal)
        # The process id names the journal: another journal knows nothing of calls begun under it.
        self.epoch = f"{journal.id}/{self.epoch.rpartition('/')[2]}"
        executor = self.executor
        if isinstance(executor, LocalExecutor):
            executor.journal = journal

    def _arguments_fit(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        validator = self.validators.get(tool)
        return validator is None or not validator(arguments)

    def declaration(self, tool: str) -> dict[str, Any] | None:
        """Return a tool's declaration as threads keep it, ``None`` for an unknown tool."""
        spec = self.specs.get(tool)
        if spec is None:
            return None
        known = self._declared.get(tool)
        if known is None or known[0] is not spec:
            known = self._declared[tool] = (spec, to_json(spec))
        return known[1]

    def add_tools(self, specs: Mapping[str, ToolSpec]) -> None:
        """Register further tools; a middleware learns them only when the agent runs."""
        for name, spec in specs.items():
            if self.specs.get(name) is spec:  # given before the tools were met
                continue
            self.specs[name] = spec
            prepare(spec)
            if spec.parameters is not None:
                self.validators[name] = compile_schema(spec.parameters)
