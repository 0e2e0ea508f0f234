"""News in a client's input: what it says that its thread does not know.

The protocol sends the whole conversation with each run, as the client has it, and has no way to
go on, or to look, without an input. So what is new is found by the ids and contents of messages.
A client that lost a run may have an older copy than the thread: messages that were summarised or
edited since. They count neither as new nor as edited, but for the last one of an input, which may
be an edit back to what it was.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ag_ui.core import ResumeEntry
from langchain_core.messages import AIMessage, AnyMessage, convert_to_messages

from asyncguard.adapters.langgraph_internals.answers import INTERRUPT_ID
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.messages.sanitize import plain_text
from asyncguard.core import events as ev

Contents = Mapping[str | None, str]
"""Contents of messages by their ids."""


def contents_of(messages: Sequence[AnyMessage]) -> Contents:
    """Return the contents of messages by their ids, in a form that compares."""
    return {each.id: json.dumps(each.content, sort_keys=True, default=str) for each in messages}


def unknown(sent: Sequence[AnyMessage], known: Contents) -> list[AnyMessage]:
    """Return the messages of an input that the thread has not, or with another content.

    Args:
        sent: Of the client.
        known: Of the thread.
    """
    return [each for each in sent if not _among(each, known.items())]


def may_be_old(
    sent: Sequence[AnyMessage], news: Sequence[AnyMessage], stored: Sequence[AnyMessage]
) -> bool:
    """Return False if a client has simply gone on from what the thread has.

    Else the thread's history has to be read: see :func:`still_new`.

    Args:
        sent: Of the client.
        news: Those of them that are :func:`unknown`.
        stored: Of the thread.
    """
    known = {each.id for each in stored}
    if not news or not known:
        return False
    first = len(sent) - len(news)
    if sent[first:] != news or any(each.id in known for each in news[:-1]):
        return True
    cut = any(each.additional_kwargs.get("lc_source") == "summarization" for each in stored)
    # Some clients send only what is new.
    return first == 0 and (cut or len(news) > 1)


def worked_on(messages: Sequence[AnyMessage]) -> set[tuple[str | None, str]]:
    """Return ids and contents of the messages of a state that the model has answered."""
    answers = [at for at, each in enumerate(messages) if isinstance(each, AIMessage)]
    return set(contents_of(messages[: max(answers, default=0)]).items())


def still_new(
    sent: Sequence[AnyMessage],
    news: Sequence[AnyMessage],
    stored: Sequence[AnyMessage],
    done: Collection[tuple[str | None, str]],
) -> list[AnyMessage]:
    """Return the messages that are new beside a thread's history.

    Args:
        sent: Of the client.
        news: Those of them that are :func:`unknown`.
        stored: Of the thread.
        done: What the model has answered in any state of the thread; see :func:`worked_on`.
    """
    known = {each.id for each in stored}
    return [
        each for each in news if not _among(each, done) or (each is sent[-1] and each.id in known)
    ]


def _among(message: AnyMessage, known: Collection[tuple[str | None, str]]) -> bool:
    return all(item in known for item in contents_of([message]).items())


def said_beside(
    answer: Any, asked: Collection[str], news: Sequence[AnyMessage], stored: Contents
) -> list[AnyMessage]:
    """Return the new messages beside an answer, none if it leaves a question open.

    They would be messages instead of that answer, and withdraw what it is about.

    Args:
        answer: By the ids of the interrupts, or for the only one.
        asked: Ids of the open interrupts.
        news: New messages of the input.
        stored: Of the thread.
    """
    whole = asked <= answer.keys() if is_by_id(answer) else len(asked) == 1
    if not asked or not whole:
        return []
    return [each for each in news if each.id not in stored and text_of(each.content)]


def is_by_id(answer: Any) -> bool:
    """Return True if LangGraph takes an answer for one by the ids of the interrupts."""
    return isinstance(answer, dict) and all(INTERRUPT_ID.fullmatch(str(name)) for name in answer)


def as_one_answer(given: Sequence[ResumeEntry] | None) -> list[ResumeEntry] | None:
    """Return the answers of a client as one, which LangGraph gives to the interrupts by their ids.

    ``ag-ui-langgraph`` hands several answers, or a cancelled one, to every open question in a form
    of its own, and a single one to any question, also to a later one than it was meant for.
    """
    named: dict[str, Any] = {}
    for each in given or ():
        # LangGraph gives a mapping with any other key to the open question as it is, which
        # could name its calls.
        if INTERRUPT_ID.fullmatch(each.interrupt_id):
            payload = each.payload if each.status == "resolved" else False
            # Two answers that differ are none.
            named[each.interrupt_id] = (
                payload if named.get(each.interrupt_id, payload) == payload else False
            )
    if not given or not named:
        return None
    return [given[0].model_copy(update={"status": "resolved", "payload": named})]


def says_nothing_new(given: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Return True if an input is of a client that lost a run: it sends the same once more.

    Args:
        given: Input of the graph.
        state: Of the thread.
    """
    texts = {each.id: text_of(each.content) for each in state.get("messages", ())}
    sent = convert_to_messages(given.get("messages") or [])
    opened = {
        event["task"]: event["goal"]
        for event in state.get("ledger") or ()
        if event["kind"] == ev.TaskOpened.kind
    }
    rest = given.keys() - {"messages", "tasks"}
    return (
        bool(texts)
        and all(texts.get(each.id) == text_of(each.content) for each in sent)
        and all(_is_open(task, opened) for task in given.get("tasks") or ())
        and all(given[name] == state.get(name) for name in rest if given[name])
    )


def _is_open(task: Any, opened: Mapping[str, str]) -> bool:
    """Return True if a task of an input was opened with this goal, by the ids of the thread."""
    if isinstance(task, str):
        return plain_text(task) in opened.values()
    if not isinstance(task, Mapping) or "id" not in task:
        return False
    return opened.get(task["id"]) == plain_text(str(task.get("goal")))
