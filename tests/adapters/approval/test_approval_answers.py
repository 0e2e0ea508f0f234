"""The forms in which a person may answer a question about held calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import ToolSpec
from asyncguard.adapters.approvals import decisions, question
from asyncguard.core.calls import Call
from asyncguard.core.footprints import Footprint
from asyncguard.core.records import CallRecord
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, Outcome, pure, script

TASKS = [{"id": "a", "goal": "Drop x."}, {"id": "b", "goal": "Drop y."}]
Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


def _asked_and_answered(agent_of: AgentOf, answer: Answer) -> tuple[list[str], Outcome]:
    """Two tasks ask to drop something; the answer is made of each question."""
    drop = scripted_tool("drop", lambda a: f"dropped {a['q']}", args={"q": str})
    both = calls(("drop", {"q": "x", "task_id": "a"}), ("drop", {"q": "y", "task_id": "b"}))
    specs = [ToolSpec(name="drop", approval=True)]
    agent = agent_of(
        ScriptedChatModel(script(both, ever="all said")),
        [drop],
        specs=specs,
        checkpointer=InMemorySaver(),
    )

    async def run() -> Outcome:
        outcome = await agent.say(tasks=TASKS, thread="t")
        while outcome.interrupts:
            asked = outcome.state["__interrupt__"]
            decided = {item.id: _of_all(answer, item.value["calls"]) for item in asked}
            outcome = await agent.resume(decided if len(asked) > 1 else decided[asked[0].id], "t")
        return outcome

    outcome = run_virtual(run()).result
    return [call.args["q"] for call in drop.calls], outcome


def _of_all(answer: Answer, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: decision for question in questions for name, decision in answer(question).items()}


def test_a_call_is_answered_by_its_key(agent_of: AgentOf) -> None:
    """Keys tell apart the calls of two tasks that have one label."""
    dropped, _ = _asked_and_answered(agent_of, lambda call: {call["key"]: call["task"] == "a"})
    assert dropped == ["x"]


def test_a_label_that_two_calls_have_names_neither(agent_of: AgentOf) -> None:
    """A person who says yes to one "drop#1" has not said which; the reason names the keys."""
    dropped, outcome = _asked_and_answered(agent_of, lambda call: {call["call"]: True})
    assert dropped == []
    told = "'drop#1' names 2 calls, so the call counts as refused. Calls that were asked: 'a/drop#1', 'b/drop#1'."
    assert outcome.text.count(told) >= 2


def test_an_answer_carries_its_reason_to_the_model(agent_of: AgentOf) -> None:
    """The reason that a person gives for a refusal is shown to the model."""
    dropped, outcome = _asked_and_answered(
        agent_of, lambda call: {call["key"]: {"approve": False, "reason": "not now"}}
    )
    assert dropped == []
    assert outcome.text.count("A person refused the call: not now") >= 2


def test_an_approval_is_no_answer_to_what_the_tool_asks(agent_of: AgentOf) -> None:
    """An approved tool asks a question of its own; it gets the answer to that one."""
    pay = scripted_tool(
        "pay", lambda _: f"paid from {interrupt('Which account?')}", args={"q": str}
    )
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), "all said"])
    specs = [ToolSpec(name="pay", approval=True, interrupts=True)]
    agent = agent_of(model, [pay], specs=specs, checkpointer=InMemorySaver())

    async def run() -> Outcome:
        await agent.say("Pay x.", thread="t")
        asked = await agent.resume(True, "t")  # noqa: FBT003 - the documented answer
        assert asked.interrupts == ["Which account?"]
        return await agent.resume("savings", "t")

    assert run_virtual(run()).result.answer("call_1_1") == "paid from savings"


# -- one question, one answer -----------------------------------------------------------------------------------------

DROP = ToolSpec(name="drop", approval=True, reads=(), writes=())


class Two:
    """One message that asks for several calls a person has to approve."""

    def __init__(self, agent_of: AgentOf, *wishes: tuple[str, dict[str, Any]]) -> None:
        self.agent_of = agent_of
        self.saver = InMemorySaver()
        self.dropped: list[str] = []
        self.wishes = wishes or (("drop", {"q": "x"}), ("drop", {"q": "y"}))
        self.agent = self.process(calls(*self.wishes))

    def process(self, *steps: Any) -> Any:
        """An agent of a new process."""
        drop = scripted_tool("drop", lambda a: self._drops(a["q"]), args={"q": str})
        ask = scripted_tool(
            "ask", lambda a: self._drops(f"{a['q']} {interrupt('Sure?')}"), args={"q": str}
        )
        look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str}, latency=3.0)
        specs = [DROP, ToolSpec(name="ask", approval=True, interrupts=True)]
        model = ScriptedChatModel(script(*steps, ever="all said"))
        self.agent = self.agent_of(model, [drop, ask, look], specs=specs, checkpointer=self.saver)
        return self.agent

    def _drops(self, what: str) -> str:
        self.dropped.append(what)
        return f"dropped {what}"

    async def resume(self, answer: Any) -> Outcome:
        """Answer."""
        outcome: Outcome = await self.agent.resume(answer, "t")
        return outcome

    async def asked(self) -> list[str]:
        """Ask, and name the calls of the one question."""
        outcome = await self.agent.say("Do it.", thread="t")
        (asked,) = outcome.interrupts
        return [call["key"] for call in asked["calls"]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("answer", "dropped"),
    [
        (True, ["x", "y"]),
        (False, []),
        ({"main/drop#1": True, "main/drop#2": True}, ["x", "y"]),
        ({"drop#1": False, "drop#2": True}, ["y"]),
        ({"main/drop#1": {"approve": True, "reason": "go on"}}, ["x"]),
        ({"approve": True}, []),
    ],
    ids=str,
)
def test_two_held_calls_are_one_question(
    agent_of: AgentOf, answer: Any, dropped: list[str], restarted: bool
) -> None:
    """The documented answers work as they are, also in a process that has not asked; each call is answered in place."""
    two = Two(agent_of)

    async def run() -> Outcome:
        assert await two.asked() == ["main/drop#1", "main/drop#2"]
        if restarted:
            two.process()
        return await two.resume(answer)

    outcome = run_virtual(run()).result
    assert not outcome.interrupts
    assert sorted(two.dropped) == dropped
    assert ("dropped x" in outcome.answer("call_1_1")) is ("x" in dropped)
    assert ("dropped y" in outcome.answer("call_1_2")) is ("y" in dropped)
    assert outcome.report["reason"] == "complete"


def test_two_held_calls_through_the_sync_entry(agent_of: AgentOf) -> None:
    """``invoke`` accepts ``Command(resume=True)`` as an answer to both calls."""
    two = Two(agent_of)
    (asked,) = two.agent.run_sync("Do it.", thread="t").interrupts
    assert len(asked["calls"]) == 2
    outcome = two.agent.go_sync(Command(resume=True), "t")
    assert sorted(two.dropped) == ["x", "y"]
    assert outcome.report["reason"] == "complete"


def test_an_answer_by_the_interrupts_id(agent_of: AgentOf) -> None:
    """LangGraph's own form of an answer reaches all calls of the question."""
    two = Two(agent_of)

    async def run() -> Outcome:
        await two.asked()
        (asked,) = two.agent.outcomes[-1].state["__interrupt__"]
        return await two.resume({asked.id: {"drop#2": True}})

    run_virtual(run())
    assert two.dropped == ["y"]


def test_what_runs_beside_held_calls_is_answered_in_place(agent_of: AgentOf) -> None:
    """The question waits for the call that runs beside, and its answer comes with the results."""
    two = Two(agent_of, ("drop", {"q": "x"}), ("look", {"q": "z"}), ("drop", {"q": "y"}))

    async def run() -> Outcome:
        assert await two.asked() == ["main/drop#1", "main/drop#2"]
        return await two.resume({"drop#2": True})

    outcome = run_virtual(run()).result
    assert outcome.answer("call_1_2") == "saw z"
    assert outcome.answer("call_1_3") == "dropped y"
    assert two.dropped == ["y"]


def test_an_answer_is_never_taken_for_a_tools_own_question(agent_of: AgentOf) -> None:
    """A tool that asks a person itself, beside two that do not: each question gets the answer that was given to it."""
    two = Two(agent_of, ("drop", {"q": "x"}), ("ask", {"q": "z"}), ("drop", {"q": "y"}))

    async def run() -> Outcome:
        outcome: Outcome = await two.agent.say("Do it.", thread="t")
        while outcome.interrupts:
            (asked,) = outcome.interrupts
            answer = "very" if asked == "Sure?" else {call["key"]: True for call in asked["calls"]}
            outcome = await two.resume(answer)
        return outcome

    outcome = run_virtual(run()).result
    assert sorted(two.dropped) == ["x", "y", "z very"]
    assert outcome.answer("call_1_2") == "dropped z very"


def test_many_held_calls_in_any_order(agent_of: AgentOf) -> None:
    """Every call gets its own decision, in whatever order the calls were proposed."""
    wishes = [("drop", {"q": str(number)}) for number in range(7)]
    two = Two(agent_of, *wishes)

    async def run() -> Outcome:
        keys = await two.asked()
        return await two.resume({key: number % 2 == 0 for number, key in enumerate(keys)})

    run_virtual(run())
    assert sorted(two.dropped) == ["0", "2", "4", "6"]


def _noted(names: list[str], name: str) -> str:
    names.append(name)
    return name


APART = (
    calls(("pay", {"q": "x", "task_id": "a"}), LOOK := ("look", {"q": "z", "task_id": "b"})),
    calls(("pay", {"q": "y", "task_id": "b"})),
)
TOGETHER = (calls(("pay", {"q": "x", "task_id": "a"}), ("pay", {"q": "y", "task_id": "a"}), LOOK),)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(("answers", "paid"), [((True, False), ["x"]), ((True, True), ["x", "y"])])
@pytest.mark.parametrize("steps", [APART, TOGETHER], ids=["apart", "together"])
def test_each_question_gets_its_own_answer(
    agent_of: AgentOf,
    frontend: Frontend,
    steps: Any,
    answers: Sequence[bool],
    paid: list[str],
    restarted: bool,
) -> None:
    """A call that is released and held after another one was approved is not approved with it."""
    paying: list[str] = []
    saver = InMemorySaver()

    def process(*steps: Any) -> Any:
        pay = scripted_tool("pay", lambda a: f"paid {_noted(paying, a['q'])}", args={"q": str})
        look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str})
        specs = [ToolSpec(name="pay", approval=True, reads=(), writes=("purse",)), pure("look")]
        return agent_of(
            ScriptedChatModel(script(*steps)), [pay, look], specs=specs, checkpointer=saver
        )

    agent = process(*steps, "I wait.")

    async def run() -> Outcome:
        nonlocal agent
        outcome = await agent.say(tasks=TASKS, thread="t")
        for answer in answers:
            (asked,) = outcome.interrupts
            assert len(asked["calls"]) == 1
            if restarted and frontend is Frontend.GRAPH:
                agent = process()
            outcome = await agent.resume(answer, "t")
        last: Outcome = outcome
        return last

    assert not run_virtual(run()).result.interrupts
    assert paying == paid


# -- answers that do not approve -------------------------------------------------------------------


def held(*names: tuple[str, str, int]) -> list[CallRecord]:
    """Records of held calls: task, tool and ordinal."""
    return [
        CallRecord(
            call=Call(
                key=f"key-{place}",
                sequence=place,
                task=task,
                tool=tool,
                ordinal=ordinal,
                arguments={},
                call_id=f"call-{place}",
                message_id="m",
                footprint=Footprint(reads=frozenset(), writes=frozenset()),
                fingerprint="",
            )
        )
        for place, (task, tool, ordinal) in enumerate(names)
    ]


HELD = held(("a", "pay", 1), ("a", "pay", 2), ("b", "pay", 1), ("b", "wipe", 1))
KEYS = [call["key"] for call in question(HELD)["calls"]]
LABELS = {"pay#2": "a/pay#2", "wipe#1": "b/wipe#1"}
"""Labels that one call has."""
YES = [True, {"approve": True}, {"approve": True, "reason": "go"}, {"reason": "", "approve": True}]
WORDS = st.sampled_from(
    ["approve", "reason", "True", "yes", "true", "pay#1", "pay", "a/pay", "*", "", *KEYS, *LABELS]
)
ALMOST = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.just(1.0) | WORDS | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.integers(0, 1), inner, max_size=4)
    ),
    max_leaves=8,
)


def says_yes(value: Any) -> bool:
    """Return True if a value is exactly a documented yes; 1 equals True and does not count."""
    return any(type(value) is type(yes) and value == yes for yes in YES) and not (
        isinstance(value, dict) and value["approve"] is not True
    )


@given(answer=ALMOST)
def test_only_a_documented_answer_approves(answer: Any) -> None:
    """Any other answer refuses the calls, with a reason, and never raises."""
    for key, (approved, told) in zip(KEYS, decisions(answer, HELD), strict=True):
        assert approved or told
        if not approved:
            continue
        if not isinstance(answer, dict):
            assert answer is True
            continue
        names = [name for name in answer if name == key or LABELS.get(name) == key]
        assert names
        for name in names:
            value = answer[name]
            assert value is True or (isinstance(value, dict) and value["approve"] is True)
            if isinstance(value, dict):
                assert value.keys() <= {"approve", "reason"}
                assert isinstance(value.get("reason", ""), str)


@given(
    chosen=st.dictionaries(st.sampled_from([*KEYS, *LABELS]), st.sampled_from([*YES, False, "no"]))
)
def test_a_documented_answer_approves_what_it_names(chosen: dict[str, Any]) -> None:
    """A call is approved that one entry names and none objects to."""
    for key, (approved, _) in zip(KEYS, decisions(chosen, HELD), strict=True):
        about = [value for name, value in chosen.items() if key in (name, LABELS.get(name))]
        assert approved is (bool(about) and all(map(says_yes, about)))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"approve": True}, "does not name 'a/pay#1'"),
        ({"pay#1": True}, "'pay#1' names 2 calls"),
        ({"c/pay#9": True}, "Calls that were asked: 'a/pay#1', 'a/pay#2', 'b/pay#1', 'b/wipe#1'."),
        ({}, "does not name 'a/pay#1'"),
        ([True], "is not True"),
        ({"a/pay#1": [True]}, "is not True"),
        ({"a/pay#1": {"approve": True, "until": "noon"}}, "is not True"),
        ({"a/pay#1": {"approve": True, "reason": ["x"]}}, "is not True"),
        ({"a/pay#1": {"a/pay#1": True}}, "is not True"),
        ({"a/pay#1": True, "pay#1": False}, "A person refused the call."),
        ({"approve": False, "reason": "too much"}, "A person refused the call: too much."),
    ],
    ids=str,
)
def test_what_is_no_approval_says_why(answer: Any, told: str) -> None:
    """The reason tells the model, and the log, what was wrong with the answer."""
    approved, why = decisions(answer, HELD)[0]
    assert not approved
    assert told in why


def test_a_name_that_is_one_calls_key_and_anothers_label_names_the_first() -> None:
    """A tool may have a task's name in its own; keys that are equal name nothing."""
    first, second = decisions({"a/pay#1": True}, held(("a", "pay", 1), ("x", "a/pay", 1)))
    assert (first[0], second[0]) == (True, False)
    assert not any(
        approved
        for approved, _ in decisions({"a/b/c#1": True}, held(("a/b", "c", 1), ("a", "b/c", 1)))
    )
