"""Agents exactly as the README builds them: a model, tools that declare themselves, a checkpointer, and nothing else.

No ``specs=``, no ``tools=``, no journal, no configuration and no port is passed, but where the README passes it: to
agents that give their calls to workers, and where something is switched off on purpose.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    DbosExecutor,
    Ports,
    ToolSpec,
    application_version,
    build_agent,
    guard_middleware,
    open_journal,
)
from asyncguard.journal.port import Journal
from asyncguard.testing import ScriptedChatModel
from reliability.cases import Beside, Broken, Build, Case, Database
from reliability.desk import ALL, PLAIN, TOOLS
from reliability.killing import Trigger
from reliability.places import Place
from reliability.seams import DyingJournal
from reliability.story import CALLED, RECEIPT

_RETRIED = ["read", "check", "put", "charge"]
"""Tools whose effects may be repeated by any caller."""
_RETRY: Mapping[str, Any] = {"initial_delay": 0.05, "jitter": False}
_LONG, _KEPT = 14, 6
"""Messages from which on a conversation is summarised, and how many of them stay."""
_ITEM = re.compile(r"""['"]item['"]:\s*['"](\w+)['"]""")


@contextmanager
def shown_agent(
    case: Case, place: Place, model: Any, saver: Any, trigger: Trigger
) -> Iterator[Any]:
    """Yield a compiled graph.

    Args:
        case: Case to play.
        place: Place of the case.
        model: The scripted model.
        saver: The checkpointer.
        trigger: Kills, where something is switched off.
    """
    tools = _tools_of(case)
    if case.workers:
        with _to_workers(case, place, tools) as ports:
            yield _with_options(case, model, tools, saver, {"ports": ports})
    elif case.broken is not Broken.NONE:
        with _broken(case, place, trigger) as options:
            yield _with_options(case, model, tools, saver, options)
    elif case.build is Build.GRAPH:
        yield build_agent(model, tools, checkpointer=saver)
    elif case.build is Build.PLAIN:
        yield create_agent(model, tools, middleware=_beside(case), checkpointer=saver)
    elif case.beside is Beside.NONE:
        yield create_agent(model, tools, middleware=[AsyncGuardMiddleware()], checkpointer=saver)
    else:
        yield create_agent(
            model, tools, middleware=guard_middleware(_beside(case)), checkpointer=saver
        )


class Way(StrEnum):
    """Method with which the agent is called."""

    INVOKE = "invoke"
    AINVOKE = "ainvoke"
    STREAM = "stream"
    ASTREAM = "astream"

    @property
    def sync(self) -> bool:
        """Return True if it is called from sync code."""
        return self in (Way.INVOKE, Way.STREAM)


def way_of(case: Case) -> Way:
    """Return the method with which the agent of a case is called."""
    return list(Way)[case.seed // 2 % len(Way)]


def _tools_of(case: Case) -> list[Callable[..., Any]]:
    tools = list(PLAIN.values()) if case.build is Build.PLAIN else list(ALL if case.asks else TOOLS)
    # LangChain's own agents cannot call async tools from sync code.
    return (
        [_in_sync(tool) for tool in tools]
        if case.build is not Build.GRAPH and way_of(case).sync
        else tools
    )


def _in_sync(tool: Callable[..., Any]) -> Callable[..., Any]:
    if not iscoroutinefunction(tool):
        return tool

    @wraps(tool)
    def waits(*args: Any, **options: Any) -> Any:
        return asyncio.run(tool(*args, **options))

    return waits


def _beside(case: Case) -> list[AgentMiddleware[Any, Any, Any]]:
    match case.beside:
        case Beside.NONE:
            return []
        case Beside.LIMIT:
            return [ModelCallLimitMiddleware(run_limit=200)]
        case Beside.RETRY:
            return [ToolRetryMiddleware(**_RETRY)]
        case Beside.RETRY_SOME:
            return [ToolRetryMiddleware(tools=list(_RETRIED), **_RETRY)]
        case Beside.WRAPPER:
            return [Wrapper()]
        case Beside.PEOPLE:
            return [HumanInTheLoopMiddleware(interrupt_on={"pay": True})]
        case Beside.SUMMARY:
            model = ScriptedChatModel(summarise)
            return [
                SummarizationMiddleware(
                    model,
                    trigger=("messages", _LONG),
                    keep=("messages", _KEPT),
                    trim_tokens_to_summarize=None,
                )
            ]


class Wrapper(AgentMiddleware[Any, Any, Any]):
    """A middleware of the user's own: it looks at each call, and lets it pass."""

    def __init__(self) -> None:
        """Start with no call seen."""
        super().__init__()
        self.seen: list[str] = []

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Look, and pass on."""
        self.seen.append(str(request.tool_call["name"]))
        return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Look, and pass on."""
        self.seen.append(str(request.tool_call["name"]))
        answer: Command[Any] | Any = await handler(request)
        return answer


def summarise(messages: Sequence[Any], tools: Any) -> str:
    """Return a summary: the items of all calls, so that none is made again, and the receipts."""
    text = "\n".join(str(message.content) for message in messages)
    items = dict.fromkeys(
        [*(item for told in CALLED.findall(text) for item in told.split()), *_ITEM.findall(text)]
    )
    return f"called[{' '.join(items)}] receipts: {' '.join(dict.fromkeys(RECEIPT.findall(text)))}"


# -- workers -------------------------------------------------------------------------------------------------------


def queue_of(case: Case, place: Place) -> str:
    """Return the queue, as agent and worker are given it."""
    return place.url if case.database is Database.POSTGRES else str(place.folder / "queue.db")


def worker_words(case: Case, place: Place) -> list[str]:
    """Return the words after ``asyncguard`` on a worker's command line."""
    words = ["worker", "--database-url", queue_of(case, place), "--tools", "reliability.desk:TOOLS"]
    return (
        words if case.database is Database.POSTGRES else [*words, "--journal", place.journal(case)]
    )


@contextmanager
def _to_workers(case: Case, place: Place, tools: Sequence[Any]) -> Iterator[Ports]:
    journal = open_journal(place.journal(case))
    version = application_version(tools)
    executor = DbosExecutor(queue_of(case, place), journal=journal, application_version=version)
    yield Ports(executor=executor, journal=journal)
    executor.close()
    journal.close()


# -- something is switched off -------------------------------------------------------------------------------------


@contextmanager
def _broken(case: Case, place: Place, trigger: Trigger) -> Iterator[dict[str, Any]]:
    match case.broken:
        case Broken.FORGOTTEN:
            yield {"specs": [ToolSpec(name=tool.__name__) for tool in TOOLS]}
        case Broken.UNASKED:
            yield {"specs": [ToolSpec(name="wire")]}
        case _:
            journal = open_journal(place.journal(case))
            yield {"journal": cast(Journal, DyingJournal(journal, trigger, case.broken))}
            journal.close()


def _with_options(
    case: Case, model: Any, tools: Sequence[Any], saver: Any, options: dict[str, Any]
) -> Any:
    if case.build is Build.GRAPH:
        return build_agent(model, tools, checkpointer=saver, **options)
    return create_agent(
        model, tools, middleware=[AsyncGuardMiddleware(**options)], checkpointer=saver
    )
