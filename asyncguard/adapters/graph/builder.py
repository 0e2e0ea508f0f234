"""``build_agent``: the state machine as a compiled LangGraph graph."""

import copy
import operator
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast, get_type_hints

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig, RunnablePassthrough
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

# As in `state`: Pydantic makes the schemas of the input and output.
from typing_extensions import TypedDict

from asyncguard.adapters.graph.bound_model import ModelBinding, as_model
from asyncguard.adapters.graph.compiled_graph import GuardedGraph
from asyncguard.adapters.graph.input_channel import InputChannel
from asyncguard.adapters.graph.node import Node, run_by_steps
from asyncguard.adapters.graph.nodes import Nodes
from asyncguard.adapters.graph.structured import StructuredFormat
from asyncguard.adapters.langgraph_internals.keys import DURABILITY
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.threads import Threads
from asyncguard.adapters.state import GuardedInput, GuardedOutput, GuardedState
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.declare import as_journal_target, as_tools, specs_of
from asyncguard.adapters.tools.invoke import ToolRunner
from asyncguard.adapters.tools.worker_tools import check_suited
from asyncguard.config import GuardConfig
from asyncguard.core.events import RecoveryAction
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import CallerError
from asyncguard.recovery.failure_case import UserDiagnosis
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.portal import Portal
from asyncguard.validation import check_arguments

_RECURSION_LIMIT = 100_000
"""LangGraph's limit of super-steps; those of ``GuardConfig`` end a run earlier, with a report."""

RECOVERIES: Mapping[str, RecoveryAction] = {action.value: action for action in RecoveryAction}
"""Names of the nodes of recovery: one for each action."""

_DESTINATIONS: Mapping[str, tuple[str, ...]] = {
    "prepare": ("model", "execute"),
    "model": ("execute", "model", END),
    "execute": ("model", "execute", *RECOVERIES, "approve", "park", END),
    "approve": ("execute",),
    "park": ("execute",),
}


def build_agent(  # noqa: PLR0913 - one keyword per choice of the caller, as in create_agent
    model: BaseChatModel | str,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]],
    *,
    config: GuardConfig | None = None,
    specs: Sequence[ToolSpec] = (),
    system_prompt: str | SystemMessage | None = None,
    checkpointer: Checkpointer = None,
    journal: JournalTarget = True,
    store: BaseStore | None = None,
    state_schema: type[GuardedState] = GuardedState,
    context_schema: type[Any] | None = None,
    response_format: Any = None,
    bind_options: Mapping[str, Any] | None = None,
    ports: Ports | None = None,
    diagnose: UserDiagnosis | None = None,
    name: str = "asyncguard",
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build a guarded agent.

    With one task, or plain messages, the agent makes the turns that one of ``create_agent`` makes.
    With several tasks it works on all of them while slow tools run, and never acts on a result that
    it does not have.

    Args:
        model: A chat model, or ``"provider:name"``.
        tools: Tools or functions; dictionaries are tools that the provider runs.
        config: Switches and limits; the default guards everything.
        specs: Declarations for tools that carry none (:func:`guarded` is the other way to declare).
        system_prompt: First message of each turn.
        checkpointer: Stores threads; needed for approvals and for parking.
        journal: Where calls with effects are recorded before they begin, so that none runs twice
            after a crash: a file, a ``postgresql://`` URL or a journal. By default next to the
            checkpoints of a checkpointer that outlives the process (``ASYNCGUARD_JOURNAL`` names
            another place); ``False`` for none.
        store: LangGraph store, for tools that ask for it.
        state_schema: ``GuardedState`` or a subclass with further channels. They are accepted in the
            input and returned in the output; tools read them by ``InjectedState``.
        context_schema: Run-scoped context, for tools that ask for it.
        response_format: Form of the answer, as in ``create_agent``: a schema or a strategy of
            ``langchain.agents.structured_output``. The state's ``structured_response`` holds it.
        bind_options: Further arguments of the model's ``bind_tools``.
        ports: Clock, executor, inbox, observers and ids; the real ones by default.
        diagnose: Rule of the caller that maps a failure case to a diagnosis, or to ``None`` to use
            the built-in table.
        name: Name of the graph.

    Returns:
        A compiled graph. Its input is ``{"tasks": [{"id": ..., "goal": ...}, ...]}`` or
        ``{"messages": [...]}``, its output ``{"messages": [...], "report": {...}}``. An unknown key
        of the input is a ``CallerError``.

    Raises:
        CallerError: An argument has another type than its annotation says.
        DeclarationError: A declaration contradicts itself or names a missing tool, or the executor
            cannot run a tool.
    """
    given = locals()
    check_arguments(build_agent, {name: given[name] for name in given if name != "journal"})
    _check_schema(state_schema)
    config = GuardConfig() if config is None else config
    own = as_tools(tools)
    engine = Engine(config, specs_of(own, specs), Ports() if ports is None else ports, diagnose)
    check_suited(engine.executor, own, engine.specs)
    chat = as_model(model)
    binding = ModelBinding(
        chat,
        own,
        specs=engine.specs,
        provider_tools=[tool for tool in tools or () if isinstance(tool, dict)],
        references=config.offers_references,
        options=bind_options or {},
        structured=(
            None
            if response_format is None
            else StructuredFormat(response_format, chat, [tool.name for tool in own])
        ),
    )
    portal = Portal()
    system = (
        SystemMessage(content=system_prompt) if isinstance(system_prompt, str) else system_prompt
    )
    made = _nodes(engine, binding, own, system=system, portal=portal, journal=journal)
    nodes = replace(made, stateless=checkpointer is False)
    schemas: tuple[Any, Any] = (state_schema, context_schema)
    compiled = _compiled(
        _template(*schemas),
        _steps(nodes, portal, journal if engine.journal is None else engine.journal),
        checkpointer=checkpointer,
        store=store,
        name=name,
    )
    run_by_steps(compiled, several=not nodes.runner.reads_state)
    settings = RunnableConfig(recursion_limit=_RECURSION_LIMIT)
    if checkpointer:
        # Store every super-step, unless the caller says otherwise: no effect may come before the
        # message that asks for it is stored.
        settings["configurable"] = {DURABILITY: "sync"}
    return compiled.with_config(settings)


def _compiled(
    template: GuardedGraph,
    nodes: Mapping[str, Node],
    *,
    checkpointer: Checkpointer,
    store: BaseStore | None,
    name: str,
) -> GuardedGraph:
    """Return a copy of the compiled state machine with these nodes."""
    graph = _with_nodes(template.builder, nodes)
    if checkpointer:  # LangGraph looks through the saver, too
        return _guarded(graph.compile(checkpointer=checkpointer, store=store, name=name))
    bound = {key: copy.copy(each) for key, each in template.nodes.items()}
    for key, node in nodes.items():
        bound[key].bound = node
    own = {
        "nodes": bound,
        "channels": {**template.channels},
        "builder": graph,
        "checkpointer": checkpointer,
        "store": store,
        "name": name or template.name,
    }
    return template.copy(own)


def _guarded(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> GuardedGraph:
    """Return the compiled graph with an input and methods of our own."""
    # LangGraph's own stores any input.
    compiled.channels[START] = InputChannel(compiled.builder.input_schema)
    # compile() chooses the class itself; copies with other settings keep this one.
    compiled.__class__ = GuardedGraph
    return cast(GuardedGraph, compiled)


def _steps(nodes: Nodes, portal: Portal, journal: JournalTarget) -> Mapping[str, Node]:
    """Return the nodes of one agent's graph by name."""
    made: dict[str, Node] = {}
    for step in _DESTINATIONS:
        act: Callable[[Run], Awaitable[Any]] = operator.attrgetter(step)(nodes)
        # A lost execution of "execute" may have issued calls. The thread continues there by a
        # resume, or at "prepare" by a new input.
        function = nodes.node(act, begins=step == "prepare", issues=step in ("prepare", "execute"))
        made[step] = Node(step, function, portal, journal)
    for recovery, action in RECOVERIES.items():
        function = nodes.node(nodes.recovering(action))
        made[recovery] = Node(recovery, function, portal, journal)
    return made


# LangGraph evaluates the annotations of the schemas and looks through the signatures of its own
# writers: a twentieth of an episode of the benchmark, which builds an agent for each.
@lru_cache(maxsize=64)
def _template(state_schema: type[Any], context_schema: type[Any] | None) -> GuardedGraph:
    """Return the state machine with nodes that do nothing, and the destinations that are drawn.

    Agents share it. It is never run or changed: each agent has a copy with its own nodes.
    """
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        state_schema,
        context_schema=context_schema,
        input_schema=_with_own(GuardedInput, state_schema),
        output_schema=_with_own(GuardedOutput, state_schema),
    )
    for step, destinations in (
        *_DESTINATIONS.items(),
        *((name, ("execute",)) for name in RECOVERIES),
    ):
        graph.add_node(
            step, RunnablePassthrough(), destinations=destinations, input_schema=state_schema
        )
    graph.add_edge(START, "prepare")
    return _guarded(graph.compile())


def _with_nodes(
    template: StateGraph[Any, Any, Any, Any], nodes: Mapping[str, Node]
) -> StateGraph[Any, Any, Any, Any]:
    """Return a copy of a graph with these nodes; callers may add to it, and it shares nothing."""
    graph = copy.copy(template)
    own = {
        key: copy.copy(each) for key, each in vars(graph).items() if isinstance(each, dict | set)
    }
    vars(graph).update(own)
    graph.nodes = {key: replace(spec, runnable=nodes[key]) for key, spec in template.nodes.items()}
    return graph


def _with_own(schema: type[Any], state_schema: type[Any]) -> type[Any]:
    """Return the schema of the input or output, with the channels that the caller's state adds."""
    if state_schema is GuardedState:
        return schema
    # Of the channels alone: LangGraph refuses managed values, such as its remaining steps, here.
    own = StateGraph(state_schema).channels.keys() - GuardedState.__annotations__.keys()
    hints = get_type_hints(state_schema)
    names = {**schema.__annotations__, **{name: hints[name] for name in sorted(own)}}
    return TypedDict(schema.__name__, names, total=False)  # type: ignore[operator,no-any-return]


def _check_schema(schema: type[Any]) -> None:
    missing = sorted(
        set(GuardedState.__annotations__) - set(getattr(schema, "__annotations__", ()))
    )
    if missing:
        name = schema.__name__
        raise CallerError(
            f"state_schema {name} has no channel {missing[0]!r}; write class {name}(GuardedState)."
        )


def _nodes(
    engine: Engine,
    binding: ModelBinding,
    tools: Sequence[BaseTool],
    *,
    system: SystemMessage | None,
    portal: Portal,
    journal: JournalTarget,
) -> Nodes:
    pool = ThreadPoolExecutor(
        engine.config.limits.max_pending, thread_name_prefix="asyncguard-tool"
    )
    # The portal lives as long as the graph, which holds its nodes.
    weakref.finalize(portal, pool.shutdown, wait=False)
    return Nodes(
        engine=engine,
        threads=Threads(engine, as_journal_target(journal)),
        binding=binding,
        runner=ToolRunner(tools, engine.specs, pool),
        system=system,
        direct=frozenset(tool.name for tool in tools if tool.return_direct),
    )
