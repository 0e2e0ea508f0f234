"""asyncguard: agents that work on several tasks while their tools run, without acting on results they do not have.

The names below are the public interface. They are loaded when they are used: importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncguard.config import Delivery, GuardConfig, Limits, NewsStyle, Timing
    from asyncguard.core.calls import CallState
    from asyncguard.core.footprints import EffectClass
    from asyncguard.core.hazards import Anomaly, Diagnosis, HazardKind, Symptom
    from asyncguard.core.toolspec import Fallback, Mode, Source, ToolSpec
    from asyncguard.engine.engine import Ports
    from asyncguard.engine.executors.dbos import DbosExecutor
    from asyncguard.engine.inbox import Inbox
    from asyncguard.engine.journal.opening import open_journal
    from asyncguard.engine.journal.port import Journal, MailKind
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
    from asyncguard.frontends.builder import build_agent
    from asyncguard.frontends.declarations import guarded, mcp_spec
    from asyncguard.frontends.middleware import AsyncGuardMiddleware
    from asyncguard.frontends.ordering import guard_middleware
    from asyncguard.frontends.remote import application_version
    from asyncguard.frontends.state import GuardedState
    from asyncguard.observability.details import Details, Observer
    from asyncguard.observability.structured import console_logger, log_events
    from asyncguard.observability.tracefile import TraceFile
    from asyncguard.recovery.diagnosis import Observation

_HOMES = {
    "config": ("Delivery", "GuardConfig", "Limits", "NewsStyle", "Timing"),
    "core.calls": ("CallState",),
    "core.footprints": ("EffectClass",),
    "core.hazards": ("Anomaly", "Diagnosis", "HazardKind", "Symptom"),
    "core.toolspec": ("Fallback", "Mode", "Source", "ToolSpec"),
    "engine.engine": ("Ports",),
    "engine.executors.dbos": ("DbosExecutor",),
    "engine.inbox": ("Inbox",),
    "engine.journal.opening": ("open_journal",),
    "engine.journal.port": ("Journal", "MailKind"),
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
    "frontends.builder": ("build_agent",),
    "frontends.declarations": ("guarded", "mcp_spec"),
    "frontends.middleware": ("AsyncGuardMiddleware",),
    "frontends.ordering": ("guard_middleware",),
    "frontends.remote": ("application_version",),
    "frontends.state": ("GuardedState",),
    "observability.details": ("Details", "Observer"),
    "observability.structured": ("console_logger", "log_events"),
    "observability.tracefile": ("TraceFile",),
    "recovery.diagnosis": ("Observation",),
}
_EXTRAS = {"engine.executors.dbos": "dbos"}
"""Modules that need what is not installed by itself: the extra, which has the name of its package."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Anomaly",
    "AsyncGuardMiddleware",
    "AsyncguardError",
    "CallState",
    "CallerError",
    "DbosExecutor",
    "DeclarationError",
    "Delivery",
    "Details",
    "Diagnosis",
    "EffectClass",
    "Fallback",
    "GuardConfig",
    "GuardedState",
    "HazardKind",
    "Inbox",
    "Journal",
    "JournalError",
    "JournalLockedError",
    "Limits",
    "MailKind",
    "Mode",
    "NewsStyle",
    "Observation",
    "Observer",
    "Ports",
    "Source",
    "Symptom",
    "ThreadBusyError",
    "Timing",
    "ToolFault",
    "ToolSpec",
    "TraceFile",
    "UnknownTokenError",
    "__version__",
    "application_version",
    "build_agent",
    "console_logger",
    "guard_middleware",
    "guarded",
    "log_events",
    "mcp_spec",
    "open_journal",
]


_PUBLIC = tuple(__all__)
del __all__  # made when it is asked for: it names only what can be loaded here


def _available() -> list[str]:
    """The public names but for those whose extra is not installed: `import *` and `help` load every one."""
    missing = {home for home, extra in _EXTRAS.items() if not _is_installed(extra)}
    return [name for name in _PUBLIC if _HOME_OF.get(name) not in missing]


def _is_installed(package: str) -> bool:
    try:
        return import_module("importlib.util").find_spec(package) is not None
    except (ImportError, ValueError):
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
        raise ImportError(f"{name} needs an extra: pip install 'asyncguard[{_EXTRAS[home]}]'.") from error


def __dir__() -> list[str]:
    return sorted(_available())
