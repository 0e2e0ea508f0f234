"""Test kit: virtual time, ordered turns, scripted models and tools, checks of ports.

It is made for asyncguard's own tests and for those of agents built on it. It needs langchain-core
and nothing else.
"""

from asyncguard.testing.conformance import (
    check_clock,
    check_executor,
    check_journal,
    check_observer,
)
from asyncguard.testing.history import (
    HistoryError,
    Provider,
    Violation,
    check_history,
    check_history_all,
    history_violations,
)
from asyncguard.testing.script import (
    Calls,
    ScriptExhaustedError,
    Step,
    StepFunction,
    ToolSchema,
    calls,
)
from asyncguard.testing.script_clock import ScriptTiming, VirtualClock
from asyncguard.testing.scripted_model import ModelRequest, Script, ScriptedChatModel
from asyncguard.testing.scripted_tools import (
    CallEnd,
    Delayed,
    ScriptedCall,
    ScriptedTool,
    ToolMode,
    after,
    scripted_tool,
)
from asyncguard.testing.sequencer import Sequencer, SequencerError
from asyncguard.testing.virtual_time import (
    VirtualDeadlockError,
    VirtualRun,
    VirtualTimeLoop,
    run_virtual,
)

__all__ = [
    "CallEnd",
    "Calls",
    "Delayed",
    "HistoryError",
    "ModelRequest",
    "Provider",
    "Script",
    "ScriptExhaustedError",
    "ScriptTiming",
    "ScriptedCall",
    "ScriptedChatModel",
    "ScriptedTool",
    "Sequencer",
    "SequencerError",
    "Step",
    "StepFunction",
    "ToolMode",
    "ToolSchema",
    "Violation",
    "VirtualClock",
    "VirtualDeadlockError",
    "VirtualRun",
    "VirtualTimeLoop",
    "after",
    "calls",
    "check_clock",
    "check_executor",
    "check_history",
    "check_history_all",
    "check_journal",
    "check_observer",
    "history_violations",
    "run_virtual",
    "scripted_tool",
]
