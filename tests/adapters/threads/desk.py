"""Agent on a store; each process that continues a thread builds its own."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard import GuardConfig, Inbox, Mode, Ports, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, Step, scripted_tool
from tests.adapters.harness import Frontend, Outcome, build, pure, script
from tests.adapters.threads.stores import Store, place

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
HERE = place("t")


class Desk:
    """An agent on a store that looks things up, pays, and asks a bank."""

    def __init__(
        self,
        frontend: Frontend,
        store: Store,
        *steps: Step,
        prefix: str = "m",
        approval: bool = False,
    ) -> None:
        self.inbox, self.tokens, self.frontend, self.store = Inbox(), list[str](), frontend, store
        self.look = scripted_tool("look", lambda a: _slowly(a["q"]), args={"q": str})
        self.pay = scripted_tool("pay", lambda a: f"paid {a['q']}", args={"q": str})
        self.bank = scripted_tool("bank", self._ask, args={"q": str, "token": str})
        self.model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        specs = [
            pure("look", takes_from=()),
            ToolSpec(name="pay", approval=approval),
            ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token"),
        ]
        made = [self.look, self.pay, self.bank]
        options: Mapping[str, Any] = {
            "config": CONFIG,
            "specs": specs,
            "ports": Ports(inbox=self.inbox),
        }
        self.agent = build(frontend, self.model, made, checkpointer=store.saver, **options)
        self.graph = self.agent.graph

    def _ask(self, arguments: Mapping[str, Any]) -> str:
        self.tokens.append(arguments["token"])
        return "accepted"

    def say(
        self, said: str | None = None, tasks: Sequence[Any] | None = None, config: Any = HERE
    ) -> Outcome:
        """A new message or new tasks."""
        return self.go(self.agent.input(said, tasks), config)

    def go(self, payload: Any, config: Any = HERE, **options: Any) -> Outcome:
        """Invoke."""
        return Outcome(state=self.store.invoke(self.graph, payload, config, **options))


def _slowly(q: str) -> Any:
    """Answer a moment later on a loop, and at once in an OS thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return f"found {q}"
    return asyncio.sleep(0.03 if q == "x" else 0.01, f"found {q}")
