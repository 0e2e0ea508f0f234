"""Values that may be delivered for an external call: text, content blocks, and JSON as text."""

from typing import Any

import pytest

from asyncguard import CallerError, Inbox, Ports, guarded
from asyncguard.testing import ScriptedChatModel, calls, run_virtual
from tests.adapters.harness import AgentOf


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("as it is", "as it is"),
        ({"visa": "V-1", "fee": 5}, '{"visa": "V-1", "fee": 5}'),
        ([1, 2], "[1, 2]"),
        ([{"visa": "V-1"}], '[{"visa": "V-1"}]'),
        ([{"type": "text", "text": "a block"}], "a block"),
        (7, "7"),
        (None, "null"),
    ],
)
def test_a_delivery_reaches_the_model(agent_of: AgentOf, content: Any, told: str) -> None:
    """A webhook delivers what it has, and the run continues whatever that is."""
    inbox, tokens = Inbox(), []

    @guarded(mode="external", token_argument="token")
    async def ask(token: str = "") -> str:
        """Ask an outside service."""
        tokens.append(token)
        inbox.deliver(token, content)
        return "asked"

    agent = agent_of(
        ScriptedChatModel([calls(("ask", {})), "done"]), [ask], ports=Ports(inbox=inbox)
    )
    outcome = agent.run("Ask them.")
    assert told in outcome.text
    assert outcome.report["reason"] == "complete"
    assert len(tokens) == 1


def test_what_is_no_json_is_refused_to_the_one_who_delivers() -> None:
    """The error is raised where the mistake was made, and the token can still be used."""
    inbox = Inbox()
    received: list[Any] = []
    token = inbox.issue(received.append)
    with pytest.raises(CallerError, match="JSON"):
        inbox.deliver(token, object())
    inbox.deliver(token, "text")
    assert [result.content for result in received] == ["text"]


def test_a_delivery_needs_no_loop_of_its_own() -> None:
    """It may come from any thread or loop; here from one that is not the run's."""
    inbox = Inbox()
    received: list[Any] = []
    token = inbox.issue(received.append)

    async def deliver() -> None:
        inbox.deliver(token, {"late": True})

    run_virtual(deliver())
    assert received[0].content == '{"late": true}'
