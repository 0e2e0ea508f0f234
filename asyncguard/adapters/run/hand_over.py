"""Hand-over of a tool: its command to the graph around the agent, with the answers to its calls."""

from typing import Any, cast

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from asyncguard.adapters.messages.hand_over import is_kept_hand_over, made_whole
from asyncguard.adapters.messages.history import handed_over
from asyncguard.adapters.messages.render import MessageRenderer
from asyncguard.adapters.refused_input import UNTOUCHED
from asyncguard.adapters.run.run import Run
from asyncguard.core.events import CallProposed
from asyncguard.core.records import CallRecord


def hands_over(run: Run, record: CallRecord) -> bool:
    """Return True if a call's tool answered with a command to the graph around the agent."""
    raw = run.session.live.raw_results.get(record.key)
    parts = raw if isinstance(raw, list) else ()
    return is_kept_hand_over(raw) or any(
        isinstance(item, Command) and item.graph is not None for item in parts
    )


def complete_hand_over(run: Run, command: Any) -> Any:
    """Return a tool's command to the graph around, with the answers to the calls of its message."""
    session, newest = run.session, run.ledger.last_message
    renderer = MessageRenderer(session.board, session.live.raw_results, run.identity["nonce"])
    answers = [
        cast(ToolMessage, renderer.render_answer(record).messages[0])
        for record in run.ledger.of_message(newest)
    ]
    whole = made_whole(command, run.messages, newest)
    return handed_over(whole, newest, answers)


def is_ahead(run: Run) -> bool:
    """Return True if a tool hands over, and a call of its message runs for all the thread knows.

    The command ends the run before its last step is stored. The answers come back with the shared
    history, where one to a call that runs would be taken for a client's, and refused.
    """
    ended = [each for each in run.ledger.of_message(run.ledger.last_message) if not each.open]
    if not run.is_inside or not any(hands_over(run, record) for record in ended):
        return False
    stored = {event["key"]: event["kind"] for event in run.state["ledger"] if "key" in event}
    return any(stored.get(each.key, CallProposed.kind) not in UNTOUCHED for each in ended)
