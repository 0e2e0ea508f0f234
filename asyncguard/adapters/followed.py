"""Requests to the model, and how LangGraph ended a run: followed by observers beside events."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from asyncguard.adapters.langgraph_internals.run import run_of
from asyncguard.adapters.langgraph_internals.run_end import when_over_with
from asyncguard.core.ledger import Ledger
from asyncguard.observability.observer import ModelCall
from asyncguard.runtime.engine import Engine


class Followed(Protocol):
    """The part of a session that observers follow."""

    engine: Engine
    """Engine of the agent, with its observers."""
    thread: str
    """Id of the conversation."""
    namespace: str
    """Path of the agent among agents."""
    thread_id: str
    """The caller's id of the thread."""

    @property
    def followed(self) -> int:
        """Number of the LangGraph run whose end observers are going to be told."""
        ...

    def follow(self, run: int) -> None:
        """Take such a number, 0 when the run has ended."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Calls and tasks of the thread."""
        ...


@dataclass(kw_only=True, slots=True)
class Asked:
    """One request to the model, to be given its answer."""

    answer: Any = None
    """The model's message, ``None`` until it is there."""


def follow_run(session: Followed, config: RunnableConfig) -> None:
    """Have observers told when LangGraph ends the run of a node; the first node of a run does it.

    Args:
        session: Followed of the thread.
        config: Of the node, hook or wrapper.
    """
    observers = session.engine.observers
    if not observers.follow_model:
        return
    run = run_of(config)
    if run is None or session.followed == id(run):
        return
    # The number and not the run, which the session would keep alive; it is forgotten at the end.
    session.follow(id(run))

    def ended(error: BaseException | None) -> None:
        session.follow(0)
        # A question to a person ends the run by an exception that is none for its caller.
        failure = None if isinstance(error, GraphBubbleUp) else error
        name = session.thread_id or session.thread
        observers.follow(
            lambda each: each.run_over(session.namespace, session.thread, failure), thread=name
        )

    when_over_with(run, ended)


@contextmanager
def asking(
    session: Followed, model: BaseChatModel, provider: str, messages: Sequence[AnyMessage]
) -> Iterator[Asked]:
    """Tell observers that the model is asked, and of its answer or error.

    Args:
        session: Followed of the thread.
        model: The chat model.
        provider: Its provider as LangChain knows it.
        messages: The messages that are sent.
    """
    asked, observers = Asked(), session.engine.observers
    if not observers.follow_model:
        yield asked
        return
    names = (getattr(model, name, None) for name in ("model_name", "model"))
    call = ModelCall(
        thread=session.thread,
        run=session.ledger.run,
        agent=session.namespace,
        thread_id=session.thread_id,
        model=next((name for name in names if isinstance(name, str)), ""),
        provider=provider,
        messages=messages,
    )
    follow = partial(observers.follow, thread=session.thread_id or session.thread)
    follow(lambda each: each.model_asked(call))
    try:
        yield asked
    except BaseException as error:
        failure = error
        follow(lambda each: each.model_answered(call, None, failure))
        raise
    follow(lambda each: each.model_answered(call, asked.answer, None))
