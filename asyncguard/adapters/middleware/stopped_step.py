"""Messages and calls that a super-step left which a new input has stopped.

LangGraph drops what its tasks have written; other middleware may write in its place.
"""

from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.checkpoints import next_nodes, questions_in, writes_in
from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.langgraph_internals.run import input_of, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of
from asyncguard.adapters.messages.history import readable_calls_of
from asyncguard.adapters.messages.markers import is_ours
from asyncguard.adapters.refused_input import answers_in
from asyncguard.adapters.threads.checkpoints import of_thread, stored
from asyncguard.core import events as ev


async def stopped_outside(state: Mapping[str, Any], config: RunnableConfig) -> frozenset[str]:
    """Return the ids of calls that other middleware had not let pass when a new input came.

    A reviewer was asked about them, for instance, and gave no answer.

    Args:
        state: Of the first hook.
        config: Of the first hook.
    """
    messages = state.get("messages") or []
    said = next((each for each in reversed(messages) if readable_calls_of(each)), None)
    if said is None:
        return frozenset()
    left = {str(call["id"]) for call in readable_calls_of(said)}
    left -= {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
    found = await _stopped_at(config) if left else None
    if found is None:
        return frozenset()
    if not any(node.endswith(".after_model") for node in next_nodes(found)):
        asked = (each for each in questions_in(found) if isinstance(each, Mapping))
        left &= {str(each.get("tool_call_id")) for each in asked}
    return frozenset(left)


async def without_stand_ins(
    state: Mapping[str, Any], config: RunnableConfig, *, keep: bool
) -> tuple[Mapping[str, Any], list[RemoveMessage]]:
    """Take out what a hook before the guard's answered in place of results that the guard has.

    A new input stops a super-step, and the answers of its wrappers are dropped. Other middleware
    (that of deepagents) tells the model of all calls without an answer that they did not complete:
    a payment may have been made, and an external call goes on.

    Args:
        state: Of the first hook.
        config: Of the first hook.
        keep: True in shadow mode, which changes nothing that the model is told.

    Returns:
        The state without such answers, and the removals to store.
    """
    messages = state.get("messages") or []
    said = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    ids = set() if said is None else {str(call["id"]) for call in said.tool_calls}
    errors = [
        each
        for each in messages
        if isinstance(each, ToolMessage)
        and each.status == "error"
        and each.tool_call_id in ids
        and not is_ours(each)
    ]
    if keep or not errors or await _stopped_at(config) is None:
        return state, []
    known = {
        event["call"]["call_id"]
        for event in state.get("ledger") or []
        if event["kind"] == ev.CallProposed.kind
    }
    wrote = await _answers_stored(config, {each.tool_call_id for each in errors})
    given = answers_in(input_of(config), state)
    of_caller = {(answer.tool_call_id, str(answer.content)) for answer, _, _ in given}
    removed = [
        str(each.id)
        for each in errors
        if each.tool_call_id in known
        and str(each.id) not in wrote
        and (each.tool_call_id, str(each.content)) not in of_caller
    ]
    left = [each for each in messages if str(each.id) not in removed]
    return {**state, "messages": left}, [RemoveMessage(id=each) for each in removed]


async def with_own_answers(
    state: Mapping[str, Any], config: RunnableConfig
) -> tuple[Mapping[str, Any], list[ToolMessage], list[ToolMessage]]:
    """Put the thread's own answers in place of those that a caller has sent back.

    A caller is shown the answers of wrappers before the ledger has them: their events go with the
    next update of a hook, and a question may stop the run before it. LangGraph even drops an answer
    if its super-step was stopped.

    Args:
        state: Of the first hook.
        config: Of the first hook.

    Returns:
        The state, with what a caller may lose, such as marks; the answers as the thread wrote them;
        and as the caller gave them.
    """
    given = [answer for answer, _, _ in answers_in(input_of(config), state)]
    wrote = await _answers_stored(config, {answer.tool_call_id for answer in given})
    own = [answer for answer in given if _same(answer, wrote.get(str(answer.id)))]
    if not own:
        return state, [], []
    found = {str(answer.id): wrote[str(answer.id)] for answer in own}
    messages = [found.get(str(each.id), each) for each in state.get("messages") or []]
    return {**state, "messages": messages}, list(found.values()), own


def _same(given: ToolMessage, wrote: ToolMessage | None) -> bool:
    return wrote is not None and (
        (given.tool_call_id, given.status, given.content)
        == (wrote.tool_call_id, wrote.status, wrote.content)
    )


async def _answers_stored(config: RunnableConfig, ids: Collection[str]) -> dict[str, ToolMessage]:
    """Return the answers to calls of the newest message before a new input, by their own ids."""
    left, answers = set(ids), dict[str, ToolMessage]()
    found = await _stopped_at(config) if left else None
    while found is not None and left:
        # What a caller gave is written after the checkpoint of the input.
        theirs = found.metadata.get("source") == "input"
        for write in () if theirs else reversed(writes_in(found, "messages")):
            for each in write if isinstance(write, list) else [write]:
                if isinstance(each, ToolMessage):
                    answers.setdefault(str(each.id), each)
                elif isinstance(each, AIMessage):  # no answer is older than its call
                    left -= {str(call["id"]) for call in each.tool_calls}
        before = found.parent_config
        found = None if before is None else await stored(saver_of(config), before)
    return answers


async def _stopped_at(config: RunnableConfig) -> CheckpointTuple | None:
    """Return the checkpoint before a new input, ``None`` if there is none."""
    saver, run = saver_of(config), run_of(config)
    if saver is None or run is None or not base_of(run):
        return None
    thread = of_thread(config)["configurable"]
    place: Any = {"configurable": {**thread, "checkpoint_id": base_of(run)}}
    found = await stored(saver, place)
    while found is not None and found.metadata.get("source") == "input":  # of a run that was lost
        found = None if found.parent_config is None else await stored(saver, found.parent_config)
    return found
