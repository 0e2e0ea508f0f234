"""asyncguard: agents that work on several tasks while their tools run, and never guess results.

Public are the names that this package and :mod:`asyncguard.testing` export, with the ports among
them (``Journal``, ``Observer``, ``Ports``), the command ``asyncguard`` and the fields of events.
All other modules are internal: their packages say so, and may change in any release.

The names below are loaded when they are used, so importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncguard.adapters.ag_ui.agent import AgUiAgent
    from asyncguard.adapters.graph.builder import build_agent
    from asyncguard.adapters.middleware.middleware import AsyncGuardMiddleware
    from asyncguard.adapters.middleware.older_threads import acontinue_older, continue_older
    from asyncguard.adapters.middleware.order import guard_middleware
    from asyncguard.adapters.middleware.state_schema import AgentInput, GuardState
    from asyncguard.adapters.state import GuardedState
    from asyncguard.adapters.tools.declare import guarded, mcp_spec
    from asyncguard.adapters.tools.worker_tools import application_version
    from asyncguard.adapters.ui_events import (
        CallEvent,
        QuestionEvent,
        RecoveryEvent,
        RunEvent,
        TaskEvent,
        TextEvent,
        UIEvent,
    )
    from asyncguard.config import Delivery, GuardConfig, Limits, NewsStyle, Siblings, Timing
    from asyncguard.core.admission import Admit, Defer, Proposal, Reject, Verdict
    from asyncguard.core.board_view import BoardView, CallView
    from asyncguard.core.calls import CallState
    from asyncguard.core.faults import Anomaly, Diagnosis, HazardKind, Symptom
    from asyncguard.core.footprints import EffectClass
    from asyncguard.core.guard_rule import GuardRule
    from asyncguard.core.tool_spec import Fallback, Mode, Retry, Source, ToolSpec
    from asyncguard.distributed.executor import DbosExecutor
    from asyncguard.errors import (
        AsyncguardError,
        CallerError,
        DeclarationError,
        JournalError,
        JournalLockedError,
        ThreadBusyError,
        ToolFault,
        UnknownTokenError,
    )
    from asyncguard.journal.open import open_journal
    from asyncguard.journal.port import Journal, SignalKind
    from asyncguard.observability.log import console_logger, log_events
    from asyncguard.observability.observer import Details, Observer
    from asyncguard.observability.trace_file import TraceFile
    from asyncguard.recovery.diagnosis import Observation
    from asyncguard.runtime.engine import Ports
    from asyncguard.runtime.inbox import Inbox

_HOMES = {
    "config": ("Delivery", "GuardConfig", "Limits", "NewsStyle", "Siblings", "Timing"),
    "core.admission": ("Admit", "Defer", "Proposal", "Reject", "Verdict"),
    "core.board_view": ("BoardView", "CallView"),
    "core.calls": ("CallState",),
    "core.guard_rule": ("GuardRule",),
    "core.footprints": ("EffectClass",),
    "core.faults": ("Anomaly", "Diagnosis", "HazardKind", "Symptom"),
    "core.tool_spec": ("Fallback", "Mode", "Retry", "Source", "ToolSpec"),
    "runtime.engine": ("Ports",),
    "distributed.executor": ("DbosExecutor",),
    "runtime.inbox": ("Inbox",),
    "journal.open": ("open_journal",),
    "journal.port": ("Journal", "SignalKind"),
    "errors": (
        "AsyncguardError",
        "CallerError",
        "DeclarationError",
        "JournalError",
        "JournalLockedError",
        "ThreadBusyError",
        "ToolFault",
        "UnknownTokenError",
    ),
    "adapters.graph.builder": ("build_agent",),
    "adapters.tools.declare": ("guarded", "mcp_spec"),
    "adapters.middleware.middleware": ("AsyncGuardMiddleware",),
    "adapters.middleware.older_threads": ("acontinue_older", "continue_older"),
    "adapters.middleware.order": ("guard_middleware",),
    "adapters.middleware.state_schema": ("AgentInput", "GuardState"),
    "adapters.tools.worker_tools": ("application_version",),
    "adapters.state": ("GuardedState",),
    "adapters.ag_ui.agent": ("AgUiAgent",),
    "adapters.ui_events": (
        "CallEvent",
        "QuestionEvent",
        "RecoveryEvent",
        "RunEvent",
        "TaskEvent",
        "TextEvent",
        "UIEvent",
    ),
    "observability.observer": ("Details", "Observer"),
    "observability.log": ("console_logger", "log_events"),
    "observability.trace_file": ("TraceFile",),
    "recovery.diagnosis": ("Observation",),
}
_EXTRAS = {"adapters.ag_ui.agent": "ag_ui_langgraph", "distributed.executor": "dbos"}
"""Module to the package that it needs, whose name, with hyphens, is that of the extra."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Admit",
    "AgUiAgent",
    "AgentInput",
    "Anomaly",
    "AsyncGuardMiddleware",
    "AsyncguardError",
    "BoardView",
    "CallEvent",
    "CallState",
    "CallView",
    "CallerError",
    "DbosExecutor",
    "DeclarationError",
    "Defer",
    "Delivery",
    "Details",
    "Diagnosis",
    "EffectClass",
    "Fallback",
    "GuardConfig",
    "GuardRule",
    "GuardState",
    "GuardedState",
    "HazardKind",
    "Inbox",
    "Journal",
    "JournalError",
    "JournalLockedError",
    "Limits",
    "Mode",
    "NewsStyle",
    "Observation",
    "Observer",
    "Ports",
    "Proposal",
    "QuestionEvent",
    "RecoveryEvent",
    "Reject",
    "Retry",
    "RunEvent",
    "Siblings",
    "SignalKind",
    "Source",
    "Symptom",
    "TaskEvent",
    "TextEvent",
    "ThreadBusyError",
    "Timing",
    "ToolFault",
    "ToolSpec",
    "TraceFile",
    "UIEvent",
    "UnknownTokenError",
    "Verdict",
    "__version__",
    "acontinue_older",
    "application_version",
    "build_agent",
    "console_logger",
    "continue_older",
    "guard_middleware",
    "guarded",
    "log_events",
    "mcp_spec",
    "open_journal",
]


_PUBLIC = tuple(__all__)
del __all__  # computed by __getattr__: it names only what can be loaded here


def _available() -> list[str]:
    """Return the public names without those whose extra is missing.

    `import *` and `help` load every name that is listed.
    """
    missing = {home for home, package in _EXTRAS.items() if not _is_installed(package)}
    return [name for name in _PUBLIC if _HOME_OF.get(name) not in missing]


def _is_installed(package: str) -> bool:
    try:
        return import_module("importlib.util").find_spec(package) is not None
    except (ImportError, ValueError):  # ValueError: a module without a spec stands under that name
        return False


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _available()
    if name == "__version__":
        return import_module("importlib.metadata").version("asyncguard")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'asyncguard' has no attribute {name!r}")
    try:
        return getattr(import_module(f"asyncguard.{home}"), name)
    except ImportError as error:
        if home not in _EXTRAS or (error.name or "").startswith("asyncguard"):
            raise
        raise ImportError(
            f"{name} needs an extra: pip install 'asyncguard[{_EXTRAS[home].replace('_', '-')}]'."
        ) from error


def __dir__() -> list[str]:
    return sorted(_available())
