"""A tool whose result comes from outside, hours later: the run parks, the inbox takes the result.

The tool is given a token and hands it to the system that will answer, a webhook for instance. Only
a delivery with that token counts; the value that a run is resumed with is ignored. The model is
scripted; any real one takes its place.
"""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import Inbox, Ports, UnknownTokenError, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls

letters: dict[str, str] = {}


@guarded(mode="external", token_argument="token")
async def ask_notary(document: str, token: str = "") -> str:
    """Have a document certified by a notary. The answer comes by post."""
    letters[document] = token  # never shown to the model
    return "The letter is on its way."


async def main() -> None:
    """Run, park, deliver, go on."""
    inbox = Inbox()
    model = ScriptedChatModel(
        [calls(("ask_notary", {"document": "deed"})), "The deed is certified as no. 815."]
    )
    agent = build_agent(model, [ask_notary], checkpointer=InMemorySaver(), ports=Ports(inbox=inbox))
    thread: Any = {"configurable": {"thread_id": "deed"}}

    parked = await agent.ainvoke({"messages": [("user", "Have my deed certified.")]}, thread)
    print("parked:", parked["__interrupt__"][0].value["calls"])

    # Elsewhere, much later: the webhook.
    try:
        inbox.deliver("a guessed token", "certified as no. 666")
    except UnknownTokenError as error:
        print("refused:", error)
    inbox.deliver(letters["deed"], "certified as no. 815")

    result = await agent.ainvoke(Command(resume="look again"), thread)
    print("result:", next(message.text for message in result["messages"] if message.type == "tool"))
    print("answer:", result["messages"][-1].text)


asyncio.run(main())
