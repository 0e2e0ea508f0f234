"""Agents that make calls early or many at once: `parallel`, `heeding`, `batch` and `eager-batch`."""

import json
from collections.abc import Sequence
from itertools import product

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark import Composition, Regime, Surface, score
from asyncguard_benchmark.commands import options, run
from asyncguard_benchmark.harness.agents.plan import PlanStep, plan_of
from asyncguard_benchmark.harness.agents.schedulers import BatchAgent, HeedingAgent, ParallelAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.protocol.entries import EXECUTING, executing
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, native_tools
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerBatchAgent
from asyncguard_benchmark.suites.asynctool.dataset import compositions
from tests.benchmark.builders import LITE, compose

PAIR = compose("tb-04", "tb-02")
"""get_account, deposit (card of the account), place_order (no value of a result); get_watchlist, two that need it."""
WAIT = '{"wait": "The current function is being executed."}'
FURTHER = "Further calls of this task wait for this result."


def said(agent: SimulatedAgent, *replies: Sequence[BaseMessage]) -> list[tuple[str, ...]]:
    """The tools of each of an agent's messages, which are answered by the replies in turn."""
    speaker = agent.bind_tools(native_tools(PAIR))
    messages: list[BaseMessage] = NativeSpeech(PAIR).opening()
    found = []
    for reply in (*replies, ()):
        message = speaker.invoke(messages)
        found.append(tuple(call["name"] for call in message.tool_calls))
        messages += [message, *reply]
    return found


def answer(number: int, content: object) -> ToolMessage:
    """The answer to a call, by the call's number over the whole conversation."""
    text = content if isinstance(content, str) else json.dumps(content)
    return ToolMessage(text, tool_call_id=f"call_{number}")


def refusal(number: int) -> ToolMessage:
    """A refusal."""
    return ToolMessage("No.", tool_call_id=f"call_{number}", status="error")


ACCOUNT = {"balance": 1204.6, "card_number": "4563-9917"}
WATCHED = {"symbols": ["KLVN", "KLVR"]}


def test_the_parallel_agent_goes_on_with_the_first_task_that_it_can() -> None:
    """It makes the call that needs no open result while another is open, and turns to a task that is told late."""
    replies = (
        [answer(1, WAIT)],  # get_account
        [answer(2, WAIT)],  # get_watchlist: the deposit needs the account
        [HumanMessage(told("tb-04", 1, ACCOUNT))],
        [answer(3, WAIT)],
    )
    assert said(ParallelAgent(plan=plan_of(PAIR)), *replies) == [
        ("get_account",),
        ("get_watchlist",),
        (),
        ("deposit",),
        ("place_order",),
    ]


def told(task: str, number: int, content: object) -> str:
    """A late result, as the native surface tells it."""
    entry = {
        "role": "tool",
        "id": task,
        "call_id": f"call_{number}",
        "function name": "",
        "response": json.dumps(content),
    }
    return json.dumps(entry)


def early(kind: type[SimulatedAgent], *third: str) -> list[tuple[str, ...]]:
    """What an agent says once the deposit runs: the order needs no value of it."""
    replies = (
        [answer(1, ACCOUNT)],
        [answer(2, third[0] if third else WAIT)],
        *([refusal(3)] if each == "refused" else [answer(3, WAIT)] for each in third[1:]),
    )
    return said(kind(plan=plan_of(PAIR)), *replies)[2:]


def test_the_parallel_agent_does_not_learn_from_a_refusal() -> None:
    """It makes the refused call again when the task is at rest, and goes on with another task until then."""
    assert early(ParallelAgent) == [("place_order",)]
    assert early(ParallelAgent, WAIT, "refused") == [("place_order",), ("get_watchlist",)]


def test_the_heeding_agent_makes_early_calls_until_it_is_told() -> None:
    """A placeholder that speaks of further calls is enough: it turns to the other task at once."""
    assert early(HeedingAgent) == [("place_order",)]
    hint = json.dumps({"wait": f"{EXECUTING} {FURTHER}"})
    assert early(HeedingAgent, hint) == [("get_watchlist",)]
    assert early(ParallelAgent, hint) == [("place_order",)]


def test_the_heeding_agent_waits_in_every_task_once_it_was_refused() -> None:
    """One refusal teaches it for the rest of the run; without guards it is the parallel agent."""
    chosen = compositions("independent")[::7]
    for each in chosen:
        parallel, heeding, bare, free = (
            played(each, kind, arm=arm, regime=Regime.FIXED1)
            for kind, arm in (
                ("parallel", "all"),
                ("heeding", "all"),
                ("parallel", "none"),
                ("heeding", "none"),
            )
        )
        assert bare.trajectory == free.trajectory
        assert heeding.counters.rounds <= parallel.counters.rounds + 1
    both = chosen[0]
    tasks = [task.task_id for task in plan_of(both).tasks]
    first, second = (task.steps[0] for task in plan_of(both).tasks[:2])
    early = plan_of(both).tasks[0].steps[1]
    messages = [
        *NativeSpeech(both).opening(),
        call(1, tasks[0], first),
        answer(1, WAIT),
        call(2, tasks[0], early),
        refusal(2),
        call(3, tasks[1], second),
        answer(3, WAIT),
    ]
    for kind, expected in ((ParallelAgent, 1), (HeedingAgent, 0)):
        speaker = kind(plan=plan_of(both)).bind_tools(native_tools(both))
        assert len(speaker.invoke(messages).tool_calls) == expected


def call(number: int, task: str, step: PlanStep) -> AIMessage:
    """A message of an agent with one call."""
    arguments = {"task_id": task, **step.arguments}
    return AIMessage(
        "", tool_calls=[{"name": step.tool, "args": arguments, "id": f"call_{number}"}]
    )


def test_the_batch_agent_makes_all_independent_calls_in_one_message() -> None:
    """Of both tasks, up to the first call that needs a result; the rest when the results are there."""
    replies = (
        [answer(1, WAIT), answer(2, WATCHED)],
        [answer(3, WAIT)],
        [HumanMessage(told("tb-04", 1, ACCOUNT))],
    )
    assert said(BatchAgent(plan=plan_of(PAIR)), *replies) == [
        ("get_account", "get_watchlist"),
        ("remove_from_watchlist",),
        (),
        ("deposit", "place_order"),
    ]


def test_the_eager_batch_agent_guesses_within_a_message() -> None:
    """All of one task at once; what was refused, and what follows, comes again with real values."""
    agent = EagerBatchAgent(plan=plan_of(PAIR))
    replies = ([answer(1, ACCOUNT), refusal(2), refusal(3)], [answer(4, {}), answer(5, {})])
    assert said(agent, *replies) == [
        ("get_account", "deposit", "place_order"),
        ("deposit", "place_order"),
        ("get_watchlist", "remove_from_watchlist", "set_alert"),
    ]


def batch_said(task: str, replies: Sequence[BaseMessage]) -> list[dict[str, object]]:
    """The calls of the batch agent for a task of the independent set, after its first message was answered so."""
    both = next(each for each in compositions("independent") if task in each.task_ids)
    speaker = BatchAgent(plan=plan_of(both)).bind_tools(native_tools(both))
    opening: list[BaseMessage] = NativeSpeech(both).opening()
    first = speaker.invoke(opening)
    own = [call for call in first.tool_calls if call["args"]["task_id"] == task]
    named = [
        reply.model_copy(update={"tool_call_id": call["id"]})
        for call, reply in zip(own, replies, strict=True)
    ]
    said = speaker.invoke([*opening, first, *named]).tool_calls
    return [call["args"] for call in said if call["args"]["task_id"] == task]


def test_a_refusal_of_one_call_of_a_tool_belongs_to_its_step() -> None:
    """The second of three quotes was refused: it is the one that is asked for again, not the third."""
    (again,) = batch_said("in-01", [answer(1, {}), refusal(2), answer(3, {})])
    assert again["symbol"] == "BRIO"


def test_the_batch_agent_goes_on_when_all_results_of_a_task_are_there() -> None:
    """The hotel is known, but the rate of exchange is not: the room is booked after it."""
    hotels = {"hotels": [{"hotel_id": "HT-15"}]}
    assert batch_said("in-13", [answer(1, hotels), answer(2, WAIT), answer(3, {})]) == []
    (room,) = batch_said("in-13", [answer(1, hotels), answer(2, {}), answer(3, {})])
    assert room["hotel_id"] == "HT-15"


# Several calls in a message are left out for the middleware: LangChain runs them side by side, and which of them lets
# the benchmark's clock go on is not determined there.
@pytest.mark.parametrize(
    ("player", "kind"),
    [
        *product(("plain", "graph"), ("parallel", "heeding", "batch", "eager-batch")),
        *product(("middleware",), ("parallel", "heeding")),
    ],
)
def test_the_same_seed_gives_the_same_episode(player: str, kind: str) -> None:
    """Message for message, also with several calls in a message."""
    first, second = (played(LITE[3], kind, player) for _ in range(2))
    assert first.messages == second.messages
    assert first.trajectory == second.trajectory


def played(composition: Composition, kind: str, player: str = "graph", **more: object) -> Episode:
    """An episode on the native surface under random delays."""
    settings = {"regime": Regime.RANDOM12, "surface": Surface.NATIVE, **more}
    condition = Condition(agent=AgentSpec(kind=kind), player=player, **settings)  # type: ignore[arg-type]
    return play(Cell(composition=composition, condition=condition)).episode


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("turn", "kind", "player", "arm"),
    [
        (turn, *each)
        for turn, each in enumerate(
            product(["parallel", "heeding", "batch"], ["graph", "middleware"], ["none", "all"])
        )
    ],
)
def test_legitimate_early_calls_are_scored_100(
    turn: int, kind: str, player: str, arm: str, share: int
) -> None:
    """Guards cost them rounds at most; each condition plays its third of the compositions, or all (`full`)."""
    for each in LITE[::20][turn % share :: share]:
        assert score(played(each, kind, player, arm=arm)).overall, each.id


def test_a_batch_is_read_as_several_calls() -> None:
    """The player lets the agents that make several calls, and those alone: the first message makes more than one."""
    assert len(played(PAIR, "batch", "plain").trajectory) == 6
    first = [each for each in played(PAIR, "batch", "plain").trajectory if each.issued == 1]
    assert [each.tool for each in first] == ["get_account", "get_watchlist"]
    assert played(PAIR, "batch").settings["parallel_calls"]
    assert not played(PAIR, "parallel").settings["parallel_calls"]


def test_rates_of_distractors_are_swept_by_one_command() -> None:
    """Each rate is an agent of its own, for all agents that guess and for no other."""
    asked = options.parser().parse_args(
        ["run", "--agents", "eager,eager-batch,batch", "--distractor-rate", "0,.25,0.5,1"]
    )
    labels = [each.label for kind in asked.agents for each in run.agents_of(kind, asked)]
    shares = ("0", "0.25", "0.5", "1")
    assert labels == [
        *(f"eager,distractor_rate={share}" for share in shares),
        *(f"eager-batch,distractor_rate={share}" for share in shares),
        "batch",
    ]


def test_what_a_placeholder_says_of_further_calls_reaches_the_agent() -> None:
    """The sentence is passed on, and the rest of the runtime's words is not."""
    assert executing("cat#1 is running. Its result arrives later.") == EXECUTING
    assert executing(f"cat#1 is running. {FURTHER} Go on.") == f"{EXECUTING} {FURTHER}"
