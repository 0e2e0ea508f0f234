"""State channels of an agent of ``create_agent`` with the guard."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, Required

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import (
    InputAgentState,
    OmitFromInput,
    OmitFromOutput,
    PrivateStateAttr,
)
from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel

from asyncguard.adapters.state import LAST_GIVEN, SNAPSHOT_EVERY, Thread, fold_events, fold_messages


class GuardState(AgentState[Any]):
    """State of an agent of ``create_agent`` with the guard: ``AsyncGuardMiddleware.state_schema``.

    Pass it, or a subclass with channels of your own, as ``state_schema`` to ``create_agent``: a
    thread then stores each message once, where the channel that is used otherwise stores the whole
    history at each super-step. For ``build_agent`` inherit from :class:`GuardedState`.
    """

    messages: Required[
        Annotated[list[AnyMessage], DeltaChannel(fold_messages, snapshot_frequency=SNAPSHOT_EVERY)]
    ]
    tasks: NotRequired[Annotated[list[Any], LAST_GIVEN, OmitFromOutput]]
    cancel: NotRequired[Annotated[list[str], LAST_GIVEN, OmitFromOutput]]
    asyncguard: NotRequired[Annotated[Thread, PrivateStateAttr]]
    ledger: NotRequired[
        Annotated[
            list[dict[str, Any]],
            DeltaChannel(fold_events, snapshot_frequency=SNAPSHOT_EVERY),
            PrivateStateAttr,
        ]
    ]
    report: NotRequired[Annotated[dict[str, Any] | None, OmitFromInput]]


class AgentInput(InputAgentState):
    """Input of a guarded agent, for type checkers: ``agent.invoke(AgentInput(...))``.

    A graph of ``create_agent`` is typed to take ``messages`` alone, so a checker refuses a plain
    dictionary with tasks; this type it accepts, and both adapters do. At run time a plain
    dictionary serves as well, and ``messages`` may be left out.
    """

    tasks: NotRequired[Sequence[Mapping[str, str] | str]]
    """Tasks as ``{"id": ..., "goal": ...}`` or plain text."""
    cancel: NotRequired[Sequence[str]]
    """Ids of tasks to cancel."""
