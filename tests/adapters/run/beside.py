"""Middleware of LangChain beside the guard: where each stands in the list, and what to know of it.

``docs/migration.md`` shows the table; ``test_beside_langchain`` plays every row in the places that it allows.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from langchain.agents import create_agent
from langchain.agents import middleware as langchain
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import AsyncGuardMiddleware, GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, ScriptedTool, calls, run_virtual, scripted_tool

TASKS = ({"id": "a", "goal": "Look x up."}, {"id": "b", "goal": "Pay 1."})
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
LOOK = ("look", {"q": "x", "task_id": "a"})
PAY = ("pay", {"n": 1, "task_id": "b"})
BOTH = calls(LOOK, PAY)
DONE = "Found x, paid 1; mail ann@x.org."


class Place(StrEnum):
    """Places in the list in which a middleware works with the guard."""

    BEFORE = "before the guard"
    AFTER = "after the guard"
    ANY = "before or after"


@dataclass(frozen=True, kw_only=True)
class Played:
    """A run of an agent with the guard and another middleware."""

    result: Mapping[str, Any]
    """State at the end of the run."""
    model: ScriptedChatModel
    """The agent's model, with the requests that it got."""
    look: ScriptedTool
    """Slow tool without an effect."""
    pay: ScriptedTool
    """Quick tool with an effect."""
    before: bool
    """True if the middleware stood before the guard."""

    def answers(self, tool: str) -> str:
        """Return the texts with which calls of a tool were answered."""
        found = [m.text for m in self.result["messages"] if getattr(m, "name", None) == tool]
        return "\n".join(found)

    def asked(self, number: int = -1) -> str:
        """Return the text of a request, by default the last."""
        return "\n".join(str(m.content) for m in self.model.requests[number].messages)


def went_well(run: Played) -> None:
    """Both tasks were done once, and the model was told the late result."""
    assert run.result["report"]["reason"] == "complete"
    assert [len(run.look.calls), len(run.pay.calls)] == [1, 1]
    assert "found x" in run.asked()


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A middleware of LangChain, and a run with it."""

    name: str
    """Its class; the first words of the row."""
    place: Place
    """Where it stands."""
    note: str = ""
    """What to know, for the table."""
    make: Callable[[type[Any]], Any]
    """Makes the middleware, given its class."""
    steps: Sequence[Any] = (BOTH,)
    """Answers of the model, before the last."""
    specs: Sequence[ToolSpec] = ()
    """Further declarations."""
    look: Any = None
    """Outcome of the slow tool, if not a result."""
    pay: Any = None
    """Outcome of the tool with an effect, if not a result."""
    model: type[ScriptedChatModel] = ScriptedChatModel
    """Class of the agent's model."""
    fails_with: str = ""
    """Words with which it says that it has failed by itself; it is played once more then."""
    real_time: bool = False
    """True if it runs a process."""
    resume: Any = None
    """Answer to the question of a person."""
    check: Callable[[Played], None] = went_well
    """What holds in the places that the row allows."""
    otherwise: Callable[[Played], None] | None = None
    """What happens in the other place."""

    @property
    def kind(self) -> type[Any] | None:
        """The class, ``None`` where this release of LangChain lacks it."""
        return getattr(langchain, self.name, None)

    def play(self, *, before: bool) -> Played:
        """Play two tasks, one of which waits for a late result."""
        look = scripted_tool(
            "look",
            lambda a: self.look or f"found {a['q']} of bob@x.org",
            args={"q": str},
            latency=5.0,
        )
        pay = scripted_tool("pay", lambda a: self.pay or f"paid {a['n']}", args={"n": int})
        left = iter(self.steps)
        model = self.model(lambda messages, tools: next(left, DONE))
        pure = () if any(spec.name == "look" for spec in self.specs) else (PURE,)
        guard = AsyncGuardMiddleware(config=CONFIG, specs=[*pure, *self.specs])
        assert self.kind is not None
        item = self.make(self.kind)
        agent = create_agent(
            model,
            [look, pay],
            middleware=[item, guard] if before else [guard, item],
            state_schema=guard.state_schema,
            checkpointer=InMemorySaver() if self.resume else None,
        )

        async def run() -> Any:
            thread: Any = {"configurable": {"thread_id": "t"}} if self.resume else None
            given: Any = {"messages": [("user", "I am ann@x.org.")], "tasks": list(TASKS)}
            result = await agent.ainvoke(given, thread)
            if "__interrupt__" in result:
                result = await agent.ainvoke(Command(resume=self.resume), thread)
            return result

        result = asyncio.run(run()) if self.real_time else run_virtual(run()).result
        return Played(result=result, model=model, look=look, pay=pay, before=before)


PURE = ToolSpec(name="look", effect="pure")


def _folder() -> str:
    folder = mkdtemp()
    (Path(folder) / "notes.txt").write_text("needle", encoding="utf-8")
    return folder


def _other(answer: Any) -> ScriptedChatModel:
    """Return a model that is not the agent's and always answers the same."""
    return ScriptedChatModel(lambda messages, tools: answer, id_prefix="other")


class _Selector(ScriptedChatModel):
    """Model that selects the slow tool."""

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        from langchain_core.runnables import RunnableLambda

        return RunnableLambda(lambda request: {"tools": ["look"]})


class ChatOpenAI(ScriptedChatModel):
    """Scripted model of a provider's name."""


def _decides(answer: Mapping[str, Any]) -> Any:
    """Return a decision model, which the oldest supported release of LangChain lacks."""
    from langchain_core.decisions import (
        BaseDecisionModel,
        ClassifierResponse,
    )

    class Decisions(BaseDecisionModel):
        model: str = "scripted"

        @property
        def _provider(self) -> str:
            return "scripted"

        def _classify(self, state: Any, questions: Any) -> Any:
            answers = dict.fromkeys(questions, answer)
            return ClassifierResponse.model_validate({"model": "scripted", "answers": answers})

    return Decisions()


def _routed(kind: type[Any]) -> Any:
    from langchain.agents.middleware import ModelChoice

    left = iter([BOTH])
    chosen = ScriptedChatModel(lambda messages, tools: next(left, DONE), id_prefix="routed")
    answer = {"type": "choice", "choice": "one", "probabilities": {"one": 1.0}, "confidence": 1.0}
    choices = {"one": ModelChoice(model=chosen, criteria="any")}
    return kind(choices=choices, instructions="Choose.", classifier=_decides(answer))


def _not_run(text: str) -> Callable[[Played], None]:
    """Return a check that the call with an effect was answered so, and not made."""

    def check(run: Played) -> None:
        assert run.result["report"]["reason"] == "complete"
        assert run.pay.calls == []
        assert text in run.answers("pay")
        assert "found x" in run.asked()
        # The run went on while the slow tool worked.
        assert len(run.model.requests) == 3

    return check


def _waited(run: Played) -> None:
    """No turn was taken while the slow tool worked."""
    assert run.pay.calls == []
    assert len(run.model.requests) == 2


def _also(*texts: str, absent: str = "\0", tool: str = "") -> Callable[[Played], None]:
    """Return a check that all went well, and of texts that the model was shown, or a tool's answer."""

    def check(run: Played) -> None:
        went_well(run)
        shown = run.answers(tool) if tool else run.asked()
        assert [text for text in texts if text not in shown] == []
        assert absent not in shown

    return check


def _was_limited(run: Played) -> None:
    assert run.result["messages"][-1].text.startswith("Model call limits exceeded")
    assert "report" not in run.result
    assert [len(run.look.calls), len(run.pay.calls)] == [1, 1]


def _second_call_refused(run: Played) -> None:
    went_well(run)
    assert "Tool call limit exceeded" in run.answers("pay")


def _one_turn_for_two_requests(run: Played) -> None:
    went_well(run)
    assert len(run.model.requests) == 4
    assert run.result["report"]["turns"] == 3


def _answered_by_the_other_model(run: Played) -> None:
    assert run.result["report"]["reason"] == "complete"
    assert len(run.pay.calls) == 1
    assert "found x" in run.asked()


def _summarised(run: Played) -> None:
    went_well(run)
    assert "a summary" in run.asked()
    assert run.answers("look") == ""


def _searched(run: Played) -> None:
    assert run.result["report"]["reason"] == "complete"
    assert "notes.txt" in str(run.result["messages"])


def _ran_a_command(run: Played) -> None:
    assert run.result["report"]["reason"] == "complete"
    assert "from the shell" in str(run.result["messages"][3:])


def _refused_unselected(run: Played) -> None:
    assert run.pay.calls == []
    assert "There is no tool 'pay'." in run.answers("pay")
    assert "found x" in run.asked()


def _both_once(run: Played) -> None:
    assert run.result["report"]["reason"] == "complete"
    assert [len(run.look.calls), len(run.pay.calls)] == [1, 1]


def _attempts(number: int) -> Callable[[Played], None]:
    """Return a check of how often the tool with an effect was called."""

    def check(run: Played) -> None:
        assert run.result["report"]["reason"] == "complete"
        assert len(run.pay.calls) == number
        assert "found x" in run.asked()

    return check


_TODOS = ("write_todos", {"todos": [{"content": "x", "status": "in_progress"}], "task_id": "a"})
_RATED = {"type": "noul", "noul": 0.9}

MIDDLEWARE: Sequence[Beside] = (
    Beside(
        name="AutoModeMiddleware",
        place=Place.AFTER,
        note="Before, no turn is taken while the other calls of a message run.",
        make=lambda kind: kind(tools=["pay"], classifier=_decides(_RATED)),
        check=_not_run("was classified as risky"),
        otherwise=_waited,
    ),
    Beside(
        name="ContextEditingMiddleware",
        place=Place.ANY,
        note="It clears tool messages; late results stay, as they are in others.",
        make=lambda kind: kind(edits=[langchain.ClearToolUsesEdit(trigger=1, keep=0)]),
        check=_also("[cleared]", absent="look#1 is running"),
    ),
    Beside(
        name="FilesystemFileSearchMiddleware",
        place=Place.ANY,
        note="Declare `glob_search` and `grep_search` as `pure`.",
        make=lambda kind: kind(root_path=_folder()),
        steps=[calls(("glob_search", {"pattern": "*.txt", "task_id": "a"}), PAY)],
        specs=[ToolSpec(name="glob_search", effect="pure")],
        check=_searched,
    ),
    Beside(
        name="HumanInTheLoopMiddleware",
        place=Place.BEFORE,
        note="Only `guard_middleware` keeps rejected calls from people; after, the log warns.",
        make=lambda kind: kind({"pay": True}),
        resume={"decisions": [{"type": "approve"}]},
    ),
    Beside(
        name="LLMToolEmulator",
        place=Place.AFTER,
        note="Before, no turn is taken while the other calls of a message run.",
        make=lambda kind: kind(tools=["pay"], model=_other("emulated")),
        check=_not_run("emulated"),
        otherwise=_waited,
    ),
    Beside(
        name="LLMToolSelectorMiddleware",
        place=Place.BEFORE,
        note="The guard refuses calls of tools that were not selected, unless declared; after it, they run.",
        make=lambda kind: kind(model=_Selector(["x"])),
        check=_refused_unselected,
        otherwise=went_well,
    ),
    Beside(
        name="ModelCallLimitMiddleware",
        place=Place.ANY,
        note="A run that it ends has no report.",
        make=lambda kind: kind(run_limit=1),
        check=_was_limited,
    ),
    Beside(
        name="ModelFallbackMiddleware",
        place=Place.ANY,
        note="All attempts are one turn. `guard_middleware` puts it after.",
        make=lambda kind: kind(_other(DONE)),
        steps=[BOTH, ConnectionError("down")],
        check=_answered_by_the_other_model,
    ),
    Beside(
        name="ModelRefusalMiddleware",
        place=Place.ANY,
        note="Its error ends the run.",
        make=lambda kind: kind(),
    ),
    Beside(
        name="ModelRetryMiddleware",
        place=Place.ANY,
        note="All attempts are one turn. `guard_middleware` puts it after.",
        make=lambda kind: kind(initial_delay=0.0),
        steps=[ConnectionError("down"), BOTH],
        check=_one_turn_for_two_requests,
    ),
    Beside(
        name="ModelRouterMiddleware",
        place=Place.ANY,
        note="`guard_middleware` puts it after. Before, if it fails and the run is continued with "
        "`None`, `tasks` of the input are lost; the log warns.",
        make=_routed,
        check=_both_once,
    ),
    Beside(
        name="PIIMiddleware",
        place=Place.ANY,
        note="Late results, and a message beside `tasks`, are not redacted: it reads the last message of "
        "a kind.",
        make=lambda kind: kind("email", apply_to_output=True, apply_to_tool_results=True),
        check=_also("of bob@x.org", "I am ann@x.org", "mail [REDACTED_EMAIL]"),
    ),
    Beside(
        name="ProviderToolSearchMiddleware",
        place=Place.BEFORE,
        note="After, it does not find the tools, and raises an error.",
        make=lambda kind: kind(searchable_tools=["look"]),
        model=ChatOpenAI,
    ),
    Beside(
        name="ShellToolMiddleware",
        place=Place.BEFORE,
        note="After, each text that is said while calls run ends its shell.",
        make=lambda kind: kind(workspace_root=mkdtemp()),
        fails_with="Command timed out",  # on a busy machine its shell sometimes does not start
        real_time=True,
        steps=[calls(("shell", {"command": "echo from the shell", "task_id": "a"}), PAY)],
        check=_ran_a_command,
    ),
    Beside(
        name="SummarizationMiddleware",
        place=Place.ANY,
        make=lambda kind: kind(_other("a summary"), trigger=("messages", 3), keep=("messages", 1)),
        note="A late result is told also if its call was summarised.",
        check=_summarised,
    ),
    Beside(
        name="TodoListMiddleware",
        place=Place.ANY,
        note="Declare `takes_from` of your tools: a call beside `write_todos` in a message is "
        "refused else, as it may rest on it.",
        make=lambda kind: kind(),
        steps=[calls(_TODOS, LOOK, PAY)],
        specs=[ToolSpec(name="look", effect="pure", takes_from=())],
        check=_also("Updated todo list"),
    ),
    Beside(
        name="ToolCallLimitMiddleware",
        place=Place.ANY,
        make=lambda kind: kind(tool_name="pay", run_limit=1),
        note="A call that it refuses has ended for the guard, too.",
        steps=[BOTH, calls(("pay", {"n": 2, "task_id": "b"}))],
        check=_second_call_refused,
    ),
    Beside(
        name="ToolErrorMiddleware",
        place=Place.AFTER,
        note="It words errors that the guard does not recover from; a call in doubt stays in doubt. "
        "Before, it sees none.",
        make=lambda kind: kind(lambda error, request: "in other words"),
        pay=ValueError("no"),
        specs=[ToolSpec(name="pay", effect="idempotent")],
        check=_also("in other words", tool="pay"),
        otherwise=_also("ValueError: no", absent="in other words", tool="pay"),
    ),
    Beside(
        name="ToolRetryMiddleware",
        place=Place.AFTER,
        note="It repeats calls of `pure`, `idempotent` and `keyed` tools after errors that the guard "
        "does not recover from. Before, it sees none.",
        make=lambda kind: kind(initial_delay=0.0),
        pay=ValueError("no"),
        specs=[ToolSpec(name="pay", effect="idempotent")],
        check=_attempts(3),
        otherwise=_attempts(1),
    ),
)
"""One row for each middleware of ``langchain.agents.middleware``."""
