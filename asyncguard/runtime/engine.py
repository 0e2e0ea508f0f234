"""What the sessions of one agent share: configuration, declarations, and the ports to time, executors and people."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core.admission import Guard
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


def _new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The outside world as the engine sees it; every field may be replaced by a fake."""

    clock: Clock = field(default_factory=LoopClock)
    """Time."""
    executor: Executor | None = None
    """Who runs the calls; the embedded executor by default."""
    inbox: Inbox = field(default_factory=Inbox)
    """Where external results arrive."""
    journal: Journal | None = None
    """Where calls with effects are written down before they begin; see ``asyncguard.open_journal``."""
    observers: Sequence[Observer] = ()
    """Who is told of every event."""
    new_id: Callable[[], str] = _new_id
    """Makes ids of sessions and runs and the nonce of notifications."""

    def __post_init__(self) -> None:
        """Refuse what cannot be what its field is for."""
        check_fields(self)


class Engine:
    """Everything that the sessions of one agent have in common."""

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
            ports: The outside world.
            diagnose: The user's own rule of diagnosis.

        Raises:
            CallerError: Configuration or ports are something else.
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
        self.begun = AttemptRegistry()
        self.circuits: dict[str, Circuit] = {}
        self.guards: tuple[Guard, ...] = enabled(config)
        self.watching: tuple[Guard, ...] = watching(config)
        self.epoch = ports.new_id()
        if ports.journal is not None:
            self.use_journal(ports.journal)
        self.observers = ObserverSet(ports.observers)
        self.observers.introduce(config.to_json(), version=version("asyncguard"))
        self.specs: dict[str, ToolSpec] = {}
        self.all_met = True
        """Whether all tools of the agent are known; a middleware meets them when the model is asked first."""
        self._declared: dict[str, tuple[ToolSpec, dict[str, Any]]] = {}
        self.validators: dict[str, Validator] = {}
        self.casebook = Casebook(specs=self.specs, fits=self._arguments_fit, diagnose=diagnose)
        self.add_tools(specs)

    def use_journal(self, journal: Journal) -> None:
        """Write calls with effects down from now on; the embedded executor asks the journal, others have their own.

        Args:
            journal: Also takes the deliveries of external results.
        """
        self.journal = journal
        self.inbox.forward_to(journal)
        # The journal stands in the name of the process: another journal knows nothing of the calls begun under it.
        self.epoch = f"{journal.id}/{self.epoch.rpartition('/')[2]}"
        executor = self.executor
        if isinstance(executor, LocalExecutor):
            executor.journal = journal

    def _arguments_fit(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        validator = self.validators.get(tool)
        return validator is None or not validator(arguments)

    def declaration(self, tool: str) -> dict[str, Any] | None:
        """What a thread keeps of a tool's declaration, ``None`` for a tool that is not known."""
        spec = self.specs.get(tool)
        if spec is None:
            return None
        known = self._declared.get(tool)
        if known is None or known[0] is not spec:
            known = self._declared[tool] = (spec, to_json(spec))
        return known[1]

    def add_tools(self, specs: Mapping[str, ToolSpec]) -> None:
        """Learn further tools; a middleware meets them only when the agent runs."""
        for name, spec in specs.items():
            self.specs[name] = spec
            prepare(spec)
            if spec.parameters is not None:
                self.validators[name] = compile_schema(spec.parameters)
