"""Agents whose threads are stored in one release and carried on in another.

The model reads what it is sent and remembers nothing, so that it goes on in another process. Only what both releases
have is used here; the tools write their effects to a file, and die where they are told to.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from asyncguard import AsyncGuardMiddleware, GuardConfig, Timing, ToolFault, build_agent, guarded

THREAD: Any = {"configurable": {"thread_id": "kept"}}
TASK = "Please do it: order 17."
EFFECTS = "effects.txt"
FRONT_ENDS = ("graph", "middleware")
CASES = {
    "parked": "ask_notary",
    "held": "approve_payment",
    "doubtful": "fail_payment",
    "pure": "look_up",
    "keyed": "pay_keyed",
    "probed": "pay_probed",
    "once": "pay_once",
    "back_off": "pay_flaky",
    "waiting_keyed": "pay_keyed_later",
    "waiting_probed": "pay_probed_later",
}
"""What state a thread was stored in -> the tool that its model calls."""
KILLED = frozenset({"pure", "keyed", "probed", "once", "back_off", "waiting_keyed", "waiting_probed"})
"""Cases in which the process died in the middle of the call."""


class Clerk(BaseChatModel):
    """Call one tool per order, and report what came back."""

    tool: str

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "Clerk":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = next(m for m in reversed(messages) if isinstance(m, HumanMessage) and "order" in str(m.content))
        order = str(asked.content).split("order ")[1].split(".")[0]
        ordered = f"call-{order}"
        made = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        if any(call["id"] == ordered for call in made):
            said = AIMessage("Here is what I know. " + " | ".join(str(m.content) for m in messages[-2:]))
        else:
            call = {"name": self.tool, "args": {"order": order}, "id": ordered, "type": "tool_call"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def tools(folder: Path, *, die: bool) -> list[Any]:  # noqa: C901 - many small functions over one folder
    """Make the tools.

    Args:
        folder: Where effects are written.
        die: Whether the process dies after the effect, or in a back-off.
    """

    def effect(tool: str, order: str, key: str = "") -> str:
        with (folder / EFFECTS).open("a", encoding="utf-8") as file:
            file.write(f"{tool} {order} {key}\n")
            file.flush()
            os.fsync(file.fileno())
        if die:
            os._exit(9)
        return f"{tool} did order {order}"

    @guarded(mode="external", token_argument="token")
    def ask_notary(order: str, token: str = "") -> str:
        """Have a document certified; the answer comes by post."""
        (folder / "token.txt").write_text(token, encoding="utf-8")
        return "The letter is on its way."

    @guarded(approval=True)
    def approve_payment(order: str) -> str:
        """Pay after a person has said yes."""
        return effect("approve_payment", order)

    @guarded(effect="at_most_once")
    def fail_payment(order: str) -> str:
        """Pay, and lose the receipt."""
        effect("fail_payment", order)
        raise RuntimeError("the receipt was lost")

    @guarded(effect="pure")
    def look_up(order: str) -> str:
        """Look an order up."""
        return effect("look_up", order)

    @guarded(effect="keyed", key_argument="key")
    def pay_keyed(order: str, key: str = "") -> str:
        """Pay under a key."""
        return effect("pay_keyed", order, key)

    @guarded(effect="pure")
    def was_paid(order: str) -> dict[str, Any]:
        """Tell whether an order was paid."""
        file = folder / EFFECTS
        paid = file.exists() and "pay_probed" in file.read_text(encoding="utf-8")
        return {"happened": paid, "result": f"a probe found order {order}"}

    @guarded(effect="probed", probe="was_paid")
    def pay_probed(order: str) -> str:
        """Pay; there is a probe."""
        return effect("pay_probed", order)

    @guarded(effect="at_most_once")
    def pay_once(order: str) -> str:
        """Pay once."""
        return effect("pay_once", order)

    @guarded(effect="keyed", key_argument="key")
    def pay_flaky(order: str, key: str = "") -> str:
        """Pay under a key; the first attempt is refused and asks for patience."""
        first = folder / "refused.txt"
        if not first.exists():
            first.write_text("refused", encoding="utf-8")
            raise ToolFault("come back later", transient=True, started=False)
        return effect("pay_flaky", order, key)

    @guarded(effect="keyed", key_argument="key", mode="background")
    def pay_keyed_later(order: str, key: str = "") -> str:
        """Pay under a key while the model goes on."""
        time.sleep(1.0 if die else 0.0)  # until the model has spoken and the run waits
        return effect("pay_keyed_later", order, key)

    @guarded(effect="probed", probe="was_paid", mode="background")
    def pay_probed_later(order: str) -> str:
        """Pay while the model goes on; there is a probe."""
        time.sleep(1.0 if die else 0.0)
        return effect("pay_probed_later", order)

    return [
        pay_keyed_later,
        pay_probed_later,
        ask_notary,
        approve_payment,
        fail_payment,
        look_up,
        pay_keyed,
        was_paid,
        pay_probed,
        pay_once,
        pay_flaky,
    ]


def agent(front: str, case: str, folder: Path, saver: Any, *, die: bool) -> Any:
    """Build an agent as the README shows it.

    Args:
        front: One of `FRONT_ENDS`.
        case: One of `CASES`.
        folder: Where effects are written.
        saver: The checkpointer.
        die: Whether tools kill the process.
    """
    back_off = 4.0 if die else 0.0
    config = GuardConfig(
        timing=Timing(grace=0.0, linger=0.0, retry_initial=back_off, retry_max=max(back_off, 0.1), retry_jitter=0.0)
    )
    model, given = Clerk(tool=CASES[case]), tools(folder, die=die)
    if front == "graph":
        return build_agent(model, given, config=config, checkpointer=saver)
    return create_agent(model, given, middleware=[AsyncGuardMiddleware(config=config)], checkpointer=saver)


async def die_in_back_off(folder: Path) -> None:
    """End the process as soon as the first attempt was refused and its outcome can be on disk."""
    while not (folder / "refused.txt").exists():  # noqa: ASYNC110 - the other side is a tool in a thread
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)
    os._exit(9)
