"""Agents whose threads are stored in one release and continued in another.

The model reads what it is sent and remembers nothing, so that it continues in another process. Only what both releases
have is used here.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from asyncguard import AsyncGuardMiddleware, GuardConfig, Ports, Timing, build_agent
from tests.stored_state.tools import EFFECTS, GROUPS, TOKEN, Ground

__all__ = ["CASES", "EFFECTS", "FRONT_ENDS", "TASK", "THREAD", "TOKEN", "agent", "cases_of"]

THREAD: Any = {"configurable": {"thread_id": "kept"}}
TASK = "Please do it: order 17."
_ORDER = re.compile(r": order (\d+)\.$")
FRONT_ENDS = ("graph", "middleware")
CASES = {
    "parked": "ask_notary",
    "parked_pure": "ask_archive",
    "held": "approve_payment",
    "doubtful": "fail_payment",
    "said": "pay_once",
    "queued": "pay_once",
    "pure": "look_up",
    "idempotent": "set_limit",
    "keyed": "pay_keyed",
    "probed": "pay_probed",
    "once": "pay_once",
    "approved": "approve_keyed",
    "deferred": "pay_in_turn",
    "waiting_keyed": "pay_keyed_later",
    "waiting_probed": "pay_probed_later",
    "back_off": "pay_flaky",
    "probing": "send",
    "probing_in_vain": "remit",
    "reading_contract": "book",
    "cross_checking": "rate",
    "falling_back": "find",
    "falling_back_once": "pay_here",
}
"""Tool that the model calls, by the state in which a thread was stored."""
RESTING = frozenset({"parked", "parked_pure", "held", "doubtful"})
"""Cases in which the run ended; in all others the process died in the middle of it."""
BY_STEPS = {("graph", "queued"): 1, ("middleware", "said"): 1, ("middleware", "queued"): 2}
"""Number of stored steps from the model's message to the death of a process between two steps."""
_CALLED_TWICE = frozenset({"deferred"})
SAID: list[str] = []
"""Tools that the models of this process have called."""


def cases_of(front: str) -> list[str]:
    """Return an adapter's cases: the graph stores a message together with the decisions on it."""
    return [case for case in CASES if (front, case) != ("graph", "said")]


class Clerk(BaseChatModel):
    """Call one tool per order, and report what came back."""

    tool: str
    twice: bool = False

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "Clerk":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = (
            _ORDER.search(str(m.content)) for m in reversed(messages) if isinstance(m, HumanMessage)
        )
        order = next(found for found in asked if found is not None).group(1)
        made = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        if any(call["id"] == f"call-{order}" for call in made):
            said = AIMessage(
                "Here is what I know. " + " | ".join(str(m.content) for m in messages[-2:])
            )
        else:
            orders = [order, f"{order}b"] if self.twice else [order]
            calls = [
                {
                    "name": self.tool,
                    "args": {"order": each},
                    "id": f"call-{each}",
                    "type": "tool_call",
                }
                for each in orders
            ]
            said = AIMessage("", tool_calls=calls)
            SAID.append(self.tool)
        return ChatResult(generations=[ChatGeneration(message=said)])


def agent(
    front: str, case: str, folder: Path, saver: Any, *, die: bool, observers: Sequence[Any] = ()
) -> Any:
    """Build an agent as the README shows it.

    Args:
        front: One of `FRONT_ENDS`.
        case: One of `CASES`.
        folder: Where effects are written.
        saver: The checkpointer.
        die: Whether tools kill the process.
        observers: Are told what happens.
    """
    ports = Ports(observers=list(observers))
    back_off = 4.0 if die else 0.0
    config = GuardConfig(
        timing=Timing(
            grace=0.0,
            linger=0.0,
            retry_initial=back_off,
            retry_max=max(back_off, 0.1),
            retry_jitter=0.0,
        )
    )
    model = Clerk(tool=CASES[case], twice=case in _CALLED_TWICE)
    given = [tool for group in GROUPS for tool in group(Ground(folder=folder, die=die))]
    if front == "graph":
        return build_agent(model, given, config=config, ports=ports, checkpointer=saver)
    middleware = AsyncGuardMiddleware(config=config, ports=ports)
    return create_agent(model, given, middleware=[middleware], checkpointer=saver)
