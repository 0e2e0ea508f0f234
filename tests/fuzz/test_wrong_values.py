"""Wrong configuration, declarations, inputs, answers, deliveries and results end in a clear error of ours.

Drawn by a generator with a fixed seed; ``pytest -m slow`` draws more of the same.
"""

import time
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.types import Command

from asyncguard import (
    AsyncguardError,
    AsyncGuardMiddleware,
    CallerError,
    Fallback,
    GuardConfig,
    Inbox,
    Limits,
    Ports,
    Source,
    Timing,
    ToolFault,
    ToolSpec,
    TraceFile,
    build_agent,
    guard_middleware,
    guarded,
    mcp_spec,
    open_journal,
)
from asyncguard.core.declaration import Declaration
from asyncguard.core.tool_spec import Mode
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.conftest import frontend
from tests.adapters.harness import Agent, Frontend, build, pure, script
from tests.fuzz.wrong_values import FITTING, KINDS, Odd, anything, of_any_kind
from tests.support.examples import examples

__all__ = ["frontend"]

PATIENCE = 30.0
"""Seconds of the wall clock in which every run has ended."""
NAMED = (AsyncguardError, InvalidUpdateError, EmptyInputError)
"""Errors of ours, and LangGraph's for an input that is not a mapping, raised by its own graph."""
CLASSES: tuple[tuple[type, Mapping[str, Any]], ...] = (
    (Limits, {}),
    (Timing, {}),
    (GuardConfig, {}),
    (ToolSpec, {"name": "x"}),
    (Fallback, {"tool": "x"}),
    (Source, {"tool": "x"}),
    (Ports, {}),
)
FIELDS = [(owner, base, item.name) for owner, base in CLASSES for item in fields(owner)]


def drawn(count: int) -> Callable[[Any], Any]:
    """That many examples, the same ones each time."""
    quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    phases = (Phase.explicit, Phase.generate)  # without shrinking, which takes minutes with agents
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=phases,
        suppress_health_check=quiet,
    )


def _fits(hint: Any, kind: str) -> bool | None:
    """Return True if a kind fits a plain hint, and None if this file cannot tell."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if kind == "zero" or not all(option in FITTING or option is type(None) for option in options):
        return None
    return any(kind in FITTING.get(option, {"none"}) for option in options)


def _configure(field: tuple[type, Mapping[str, Any], str], value: tuple[str, Any]) -> None:
    owner, base, name = field
    kind, content = value
    fits = _fits(get_type_hints(owner)[name], kind)
    refused = _refusal(lambda: owner(**{**base, name: content}))
    if refused:
        assert name in refused or owner is ToolSpec, refused
    else:
        assert fits is not False, f"{owner.__name__}.{name} takes {content!r}"


def _refusal(make: Callable[[], Any]) -> str:
    """Return the text of our error, empty if none was raised; other errors pass."""
    try:
        make()
    except CallerError as error:
        return str(error)
    return ""


@drawn(examples(250))
@given(st.sampled_from(FIELDS), of_any_kind())
def test_configuration_takes_what_its_types_say(field: Any, value: tuple[str, Any]) -> None:
    """Every field of every class of the configuration; a message names the field."""
    _configure(field, value)


@pytest.mark.full
@drawn(5000)
@given(st.sampled_from(FIELDS), of_any_kind())
def test_configuration_takes_what_its_types_say_at_length(
    field: Any, value: tuple[str, Any]
) -> None:
    """More drawn values are accepted or refused by type."""
    _configure(field, value)


@drawn(examples(80))
@given(st.sampled_from(sorted(Declaration.__annotations__)), of_any_kind())
def test_guarded_takes_what_toolspec_takes(name: str, value: tuple[str, Any]) -> None:
    """The decorator is as strict as the class."""
    kind, content = value
    results = []
    for make in (
        lambda: guarded(**{name: content}),
        lambda: ToolSpec(name="the tool", **{name: content}),
    ):
        try:
            make()
        except CallerError:
            results.append("refused")
        else:
            results.append("taken")
    assert len(set(results)) == 1 or kind == "iterator"


_ARGUMENTS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "build_agent": (
        lambda **given: build_agent(
            **{"model": ScriptedChatModel(["Hi."]), "tools": [scripted_tool("look", ["x"])]} | given
        ),
        tuple(
            name for name in get_type_hints(build_agent) if name not in ("return", "checkpointer")
        ),
    ),
    "AsyncGuardMiddleware": (
        AsyncGuardMiddleware,
        tuple(name for name in get_type_hints(AsyncGuardMiddleware.__init__) if name != "return"),
    ),
    "guard_middleware": (
        lambda **given: guard_middleware(**{"middleware": []} | given),
        ("middleware", "guard"),
    ),
    "mcp_spec": (
        lambda **given: mcp_spec(**{"tool": scripted_tool("look", ["x"]), "trusted": True} | given),
        ("tool", "trusted"),
    ),
    "guarded()": (lambda **given: guarded()(given["tool"]), ("tool",)),
}
_PARAMETERS = [(make, name) for make, names in _ARGUMENTS.values() for name in names]


@drawn(examples(100))
@given(st.sampled_from(_PARAMETERS), of_any_kind())
def test_wrong_arguments_are_refused_when_the_agent_is_made(
    parameter: Any, value: tuple[str, Any]
) -> None:
    """Wrong arguments are refused in all that takes part in making an agent."""
    make, name = parameter
    if name == "model" and value[0] in ("str", "surrogate"):
        return  # the name of a model, which LangChain reads
    _refusal(lambda: make(**{name: value[1]}))


@drawn(examples(30))
@given(st.sampled_from(["target", "create", "kind"]), of_any_kind())
def test_wrong_arguments_of_files_are_refused(name: str, value: tuple[str, Any]) -> None:
    """Wrong arguments of journals and trace files are refused; only a text may be a path."""
    if value[0] in ("str", "surrogate", "none") or (name, value[0]) == ("create", "bool"):
        return
    with pytest.raises(CallerError):
        open_journal(**({"target": "unused.db"} | {name: value[1]}))
    option = {"target": "path", "create": "payloads", "kind": "wall"}[name]
    if (option, value[0]) not in {("wall", "function"), ("wall", "class"), ("payloads", "bool")}:
        with pytest.raises(CallerError):
            TraceFile(**({"path": "unused.jsonl"} | {option: value[1]}))


# -- what an agent is given ----------------------------------------------------------------------------------------


def _agent(frontend: Frontend, *tools: BaseTool, specs: Any = (), **options: Any) -> Agent:
    model = ScriptedChatModel(script(calls((tools[0].name, {})) if tools else "Hello."))
    return build(frontend, model, tools, specs=specs, **options)


def _ends(
    agent: Agent, payload: Any, thread: str | None, allowed: tuple[type[BaseException], ...] = NAMED
) -> bool:
    """Return True if a run ends regularly and False after an allowed error; other errors pass."""
    began = time.monotonic()
    try:
        run_virtual(agent.go(payload, thread))
    except allowed:
        return False
    finally:
        assert time.monotonic() - began < PATIENCE
    return True


def _plain_error(payload: Any) -> tuple[type[BaseException], ...]:
    """Return the error that plain ``create_agent`` raises for an input, if any.

    LangGraph reads its own channels before anything of ours is called.
    """
    try:
        create_agent(ScriptedChatModel(["Hello."]), [], checkpointer=InMemorySaver()).invoke(
            payload, {"configurable": {"thread_id": "plain"}}
        )
    except Exception as error:  # noqa: BLE001 - that is the question
        return (type(error),)
    return ()


def _try_input(frontend: Frontend, name: str, value: Any, *, stored: bool) -> None:
    saver = InMemorySaver() if stored else None
    agent = _agent(
        frontend, scripted_tool("look", lambda _: "seen"), specs=[pure("look")], checkpointer=saver
    )
    payload = value if name == "all" else {"messages": [("user", "Hi.")], name: value}
    allowed: tuple[type[BaseException], ...] = NAMED
    if frontend is Frontend.MIDDLEWARE:
        # LangGraph stores the input before a hook runs; what no saver can write, it refuses without us, too.
        unwritable = {"messages": [("user", "Hi.")], "jump_to": value} if name != "all" else value
        allowed += _plain_error(payload if name in ("messages", "all") else unwritable)
    _ends(agent, payload, "t" if stored else None, allowed)
    # Nothing is lost: the thread takes a right input afterwards.
    assert _ends(agent, {"messages": [("user", "Are you there?")]}, "t" if stored else None, ())


_INPUT = st.tuples(
    st.sampled_from(["tasks", "cancel", "messages", "all"]), anything(), st.booleans()
)


@drawn(examples(25))
@given(_INPUT)
def test_wrong_input_is_refused_or_read(frontend: Frontend, given_: tuple[str, Any, bool]) -> None:
    """Tasks, messages and cancelled tasks of every shape; the thread continues with the next input."""
    name, value, stored = given_
    _try_input(frontend, name, value, stored=stored)


@pytest.mark.full
@drawn(500)
@given(_INPUT)
def test_wrong_input_is_refused_or_read_at_length(
    frontend: Frontend, given_: tuple[str, Any, bool]
) -> None:
    """More drawn inputs are refused or read."""
    name, value, stored = given_
    _try_input(frontend, name, value, stored=stored)


def _try_resume(frontend: Frontend, value: Any) -> None:
    pay = scripted_tool("pay", lambda _: "paid")
    agent = _agent(
        frontend, pay, specs=[ToolSpec(name="pay", approval=True)], checkpointer=InMemorySaver()
    )
    assert _ends(agent, {"messages": [("user", "Pay.")]}, "t", ())
    allowed = NAMED
    try:
        InMemorySaver().serde.dumps_typed(value)
    except Exception as error:  # noqa: BLE001 - LangGraph stores the answer before we are asked
        allowed += (type(error),)
    if value is not None:  # which LangGraph takes for no answer
        _ends(agent, Command(resume=value), "t", allowed)
    assert len(pay.calls) <= 1


@drawn(15)
@given(anything())
def test_wrong_answers_to_a_question_refuse(frontend: Frontend, value: Any) -> None:
    """An answer that is not a documented approval refuses, and raises nothing."""
    _try_resume(frontend, value)


@pytest.mark.full
@drawn(300)
@given(anything())
def test_wrong_answers_to_a_question_refuse_at_length(frontend: Frontend, value: Any) -> None:
    """More drawn answers refuse."""
    _try_resume(frontend, value)


@drawn(15)
@given(anything(), anything())
def test_wrong_deliveries_are_refused(frontend: Frontend, token: Any, content: Any) -> None:
    """A token is a text that was issued, content is text or JSON; what was taken ends the call."""
    inbox, tokens = Inbox(), []

    def start(arguments: Mapping[str, Any]) -> str:
        tokens.append(arguments["token"])
        return "begun"

    order = scripted_tool("order", start, args={"token": (str, "")})
    spec = ToolSpec(
        name="order", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("orders",)
    )
    agent = _agent(
        frontend, order, specs=[spec], checkpointer=InMemorySaver(), ports=Ports(inbox=inbox)
    )
    assert _ends(agent, {"messages": [("user", "Order.")]}, "t", ())
    with pytest.raises(CallerError):
        inbox.deliver(token, "forged")
    try:
        inbox.deliver(tokens[0], content)
    except CallerError:
        inbox.deliver(tokens[0], "it came")
    assert _ends(agent, Command(resume="look"), "t", ())
    assert agent.outcomes[-1].report["open_calls"] == []


def _try_result(frontend: Frontend, value: Any, effect: str) -> None:
    look = scripted_tool("look", lambda _: value)
    agent = _agent(
        frontend, look, specs=[ToolSpec(name="look", effect=effect)], checkpointer=InMemorySaver()
    )  # type: ignore[arg-type]
    assert _ends(agent, {"messages": [("user", "Look.")]}, "t", ())
    answers = [
        message for message in agent.outcomes[-1].messages if isinstance(message, ToolMessage)
    ]
    assert len(answers) == 1


_RESULT = st.one_of(
    anything(),
    st.builds(lambda value: Command(update={"messages": value}), anything()),
    st.builds(
        lambda value: ToolFault(
            "no", transient=value, started=value, retry_after=value, status=value
        ),
        anything(),
    ),
)


@drawn(examples(25))
@given(_RESULT, st.sampled_from(["pure", "at_most_once"]))
def test_strange_results_are_told(frontend: Frontend, value: Any, effect: str) -> None:
    """Whatever a tool returns or says about its failure, its call gets one answer."""
    _try_result(frontend, value, effect)


@pytest.mark.full
@drawn(300)
@given(_RESULT, st.sampled_from(["pure", "at_most_once"]))
def test_strange_results_are_told_at_length(frontend: Frontend, value: Any, effect: str) -> None:
    """More drawn results are shown."""
    _try_result(frontend, value, effect)


def test_the_kinds_are_what_they_are_called() -> None:
    """The table of kinds has an example of each that the oracle names."""
    assert set().union(*FITTING.values()) <= set(KINDS)
    assert isinstance(Odd(), Odd)
