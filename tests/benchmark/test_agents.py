import asyncio
import copy
import json
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark import (
    Composition,
    Regime,
    Run,
    Surface,
    episode_to_json,
    run_episode,
    score,
    shipped_compositions,
    summarise,
)
from asyncguard_benchmark.harness.agents.guesses import guess
from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent, SerialAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.agents.transcript import read_transcript
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.pointers import covers, leaves, resolve
from asyncguard_benchmark.harness.protocol.surfaces import native_tools
from asyncguard_benchmark.harness.scoring.summary import Summary
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from tests.benchmark.builders import SUB_TASKS, compose
from tests.benchmark.guarded_loop import GuardedLoop

EVERY = shipped_compositions()
SOME = EVERY[::36]
"""Of every kind some; all of them take minutes."""
FEW = SOME[::3]
KINDS: tuple[type[SimulatedAgent], ...] = (OracleAgent, SerialAgent, EagerAgent)
PAIR = compose("fs-08", "tb-07")


@pytest.fixture(
    params=[pytest.param(FEW, id="few"), pytest.param(SOME, id="some", marks=pytest.mark.slow)]
)
def compositions(request: pytest.FixtureRequest) -> Sequence[Composition]:
    """A few compositions; more of them where time does not count."""
    chosen: Sequence[Composition] = request.param
    return chosen


def scores(
    compositions: Sequence[Composition],
    kind: type[SimulatedAgent],
    regime: Regime,
    surface: Surface,
) -> list[Score]:
    """Scores of an agent on some compositions."""
    return [
        score(run_episode(each, kind(plan=plan_of(each)), regime, surface)) for each in compositions
    ]


def overall(summary: Summary) -> float:
    """Overall accuracy in per cent."""
    assert summary.overall is not None
    return summary.overall.value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("surface", list(Surface))
@pytest.mark.parametrize("regime", list(Regime))
@pytest.mark.parametrize("kind", [OracleAgent, SerialAgent])
def test_careful_agents_score_100(
    compositions: Sequence[Composition],
    kind: type[SimulatedAgent],
    regime: Regime,
    surface: Surface,
) -> None:
    """In all regimes and on both surfaces, without idle waste: nothing is malformed, cut off or needed too early."""
    found = scores(compositions, kind, regime, surface)
    summary = summarise(found)
    assert overall(summary) == 100
    assert summary.premature_needed == 0
    for each in found:
        assert each.counters.format_errors == 0
        assert not each.counters.truncated
        assert each.counters.rounds == each.counters.ticks


@pytest.mark.parametrize("regime", [regime for regime in Regime if regime is not Regime.SYNC])
def test_interleaving_beats_one_task_after_the_other_in_rounds(
    compositions: Sequence[Composition], regime: Regime
) -> None:
    """Interleaving takes no more rounds on any composition and far fewer on the mean."""
    oracle, serial = (
        scores(compositions, kind, regime, Surface.TEXT) for kind in (OracleAgent, SerialAgent)
    )
    assert all(a.counters.rounds <= b.counters.rounds for a, b in zip(oracle, serial, strict=True))
    assert sum(a.counters.rounds for a in oracle) < 0.8 * sum(b.counters.rounds for b in serial)


def test_without_delay_every_agent_takes_one_round_a_call(
    compositions: Sequence[Composition],
) -> None:
    """Every agent takes one round a call, and one more to say that all is completed."""
    for kind in KINDS:
        found = scores(compositions, kind, Regime.SYNC, Surface.TEXT)
        for each, composition in zip(found, compositions, strict=True):
            assert each.overall
            assert each.counters.rounds == composition.gold_calls + 1


@pytest.mark.parametrize("surface", list(Surface))
def test_the_eager_agent_fails_where_results_are_late(surface: Surface) -> None:
    """At fixed1 overall is at most 40, because it calls ahead of values it needs."""
    summary = summarise(scores(SOME, EagerAgent, Regime.FIXED1, surface))
    assert overall(summary) <= 40
    assert summary.premature_needed > 50


@pytest.mark.parametrize("kind", KINDS)
def test_both_surfaces_lead_to_the_same_calls(
    compositions: Sequence[Composition], kind: type[SimulatedAgent]
) -> None:
    """An agent decides from what it is told, not from how."""
    for each in compositions:
        text, native = (
            run_episode(each, kind(plan=plan_of(each)), Regime.RANDOM12, surface, 7)
            for surface in Surface
        )
        assert text.trajectory == native.trajectory


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_trace(kind: type[SimulatedAgent]) -> None:
    """A trace is the same byte for byte, with one agent used twice, as it keeps nothing."""
    agent = kind(plan=plan_of(PAIR))
    first, second = (
        json.dumps(episode_to_json(run_episode(PAIR, agent, Regime.RANDOM01, Surface.NATIVE, 3)))
        for _ in range(2)
    )
    assert first == second


def test_the_seed_of_guesses_and_the_seed_of_delays_are_two() -> None:
    """Another guess leaves the delays alone."""
    one, other = (
        run_episode(
            PAIR, EagerAgent(plan=plan_of(PAIR), seed=seed), Regime.RANDOM12, Surface.TEXT, 3
        )
        for seed in (0, 1)
    )
    assert [r.due for r in one.trajectory] == [r.due for r in other.trajectory]
    assert one.trajectory != other.trajectory


def test_a_plan_holds_no_value_of_a_result() -> None:
    """A plan leaves out each value that the gold call takes from a result, in every composition."""
    for composition in EVERY:
        for task, planned in zip(composition.sub_tasks, plan_of(composition).tasks, strict=True):
            for call, step in zip(task.gold, planned.steps, strict=True):
                for place in step.operands:
                    assert resolve(step.arguments, place) is None
                rest = {place for place, _ in leaves(call.arguments)} - set(step.operands)
                for place in rest:
                    if not any(covers(operand, place) for operand in step.operands):
                        assert resolve(step.arguments, place) == resolve(call.arguments, place)
                assert {o.call for o in step.operands.values()} == call.needs()


def test_guesses_are_found_nowhere() -> None:
    """No guess of the eager agent is said by a query, a state, or a result of any shipped task."""
    world = json.dumps([[t.query, dict(t.initial_state)] for t in SUB_TASKS.values()])
    for each in SOME:
        for planned in plan_of(each).tasks:
            for position, step in enumerate(planned.steps):
                for place, operand in step.operands.items():
                    value = guess(
                        place[1:], operand.schema, (0, each.id, planned.task_id, position, 0, place)
                    )
                    # Of two words one is always said, and so are most of a few.
                    if operand.schema.get("type") != "boolean" and "enum" not in operand.schema:
                        assert json.dumps(value).strip('"') not in world


def test_guesses_fit_the_schema_and_depend_on_the_key_only() -> None:
    """They have the right type; the same key draws the same value."""
    for schema, kind in (
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "boolean"}, bool),
        ({"type": "string"}, str),
        ({"type": "array", "items": {"type": "string"}}, list),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, dict),
        ({}, str),
    ):
        assert type(guess("x", schema, (1,))) is kind
        assert guess("x", schema, (1,)) == guess("x", schema, (1,))
    assert guess("x", {"enum": ["only"]}, (1,)) == "only"
    assert guess("x", {"type": "integer"}, (1,)) != guess("x", {"type": "integer"}, (2,))


def test_the_oracle_may_call_for_several_tasks_at_once_if_told() -> None:
    """One message then holds a call of each sub-task, and fewer rounds do."""
    triple = SOME[-1]
    agent = OracleAgent(plan=plan_of(triple), parallel=True)
    run = Run(regime=Regime.FIXED1, surface=Surface.NATIVE, seed=0)
    together = play_plain(triple, agent, run, parallel_calls=True)
    alone = play_plain(triple, OracleAgent(plan=plan_of(triple)), run)
    assert score(together).overall
    assert len(together.messages[2]["tool_calls"]) == 3
    assert all(len(m["tool_calls"]) == 1 for m in alone.messages if "tool_calls" in m)
    assert together.counters.rounds < alone.counters.rounds


def test_parallel_calls_are_refused_where_one_is_allowed() -> None:
    """The paper's protocol has one function per message: nothing is made, and the agent gives up."""
    agent = OracleAgent(plan=plan_of(PAIR), parallel=True)
    episode = run_episode(PAIR, agent, Regime.FIXED1, Surface.NATIVE)
    assert episode.trajectory == ()
    assert episode.counters.format_errors == agent.most_refusals
    assert not score(episode).overall


@pytest.mark.parametrize("kind", KINDS)
def test_agents_can_be_copied_between_turns(kind: type[SimulatedAgent]) -> None:
    """A copy continues where the messages are: an agent holds nothing else."""
    episode = run_episode(PAIR, kind(plan=plan_of(PAIR)), Regime.FIXED1, Surface.TEXT)
    said = [AIMessage if m["role"] == "assistant" else HumanMessage for m in episode.messages]
    messages = [make(m["content"]) for make, m in zip(said, episode.messages, strict=True)]
    for position, message in enumerate(messages):
        if isinstance(message, AIMessage):
            clone = copy.deepcopy(kind(plan=plan_of(PAIR)))
            assert clone.invoke(messages[:position]).content == message.content


async def test_async_generation_says_the_same() -> None:
    """The asynchronous way gives the same message, without a thread."""
    agent = OracleAgent(plan=plan_of(PAIR))
    messages = [SystemMessage("x"), HumanMessage("y")]
    here = await agent.ainvoke(messages)
    assert here.content == agent.invoke(messages).content
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("regime", [Regime.FIXED1, Regime.RANDOM12])
def test_agents_work_behind_another_front_end(
    kind: type[SimulatedAgent], hold: bool, regime: Regime
) -> None:
    """With refusals, held calls, status lines and waits the careful agents still score 100.

    The eager one does when early calls are refused, because it asks again with real values; when they are held, its
    inventions are issued later all the same.
    """
    run = Run(regime=regime, surface=Surface.NATIVE, seed=0)
    summary = summarise(
        score(
            GuardedLoop(composition=each, agent=kind(plan=plan_of(each)), run=run, hold=hold).play()
        )
        for each in FEW
    )
    assert overall(summary) == 100 if kind is not EagerAgent or not hold else overall(summary) <= 40
    assert summary.premature_needed == 0 or hold


def test_runtime_waits_are_ticks_and_no_rounds() -> None:
    """The stand-in waits without model turns, so the serial agent needs fewer rounds than ticks."""
    run = Run(regime=Regime.FIXED2, surface=Surface.NATIVE, seed=0)
    episode = GuardedLoop(
        composition=PAIR, agent=SerialAgent(plan=plan_of(PAIR)), run=run, hold=True
    ).play()
    assert score(episode).overall
    assert episode.counters.rounds < episode.counters.ticks


def test_a_step_that_is_always_refused_is_given_up() -> None:
    """No agent asks for ever: after its limit it ends."""
    opening = [SystemMessage("x"), HumanMessage("y")]
    for kind in KINDS:
        model = kind(plan=plan_of(PAIR), most_refusals=3).bind_tools(native_tools(PAIR))
        messages = list(opening)
        for _ in range(20):
            message = model.invoke(messages)
            messages.append(message)
            if not message.tool_calls:
                break
            messages += [
                ToolMessage("No.", tool_call_id=call["id"], status="error")
                for call in message.tool_calls
            ]
        assert messages[-1].text == "ALL COMPLETED"
        assert len([m for m in messages if isinstance(m, AIMessage)]) == 2 * 3 + 1


def test_tools_without_the_task_argument_get_none() -> None:
    """An adapter with one task need not ask which."""
    plain = native_tools(PAIR)
    for tool in plain:
        tool["function"]["parameters"]["properties"].pop("task_id")
        tool["function"]["parameters"]["required"].remove("task_id")
    message = OracleAgent(plan=plan_of(PAIR)).bind_tools(plain).invoke([HumanMessage("y")])
    assert message.tool_calls[0]["args"] == {"file": "start_here.txt"}


def test_a_renamed_task_argument_is_used() -> None:
    """An adapter may call it otherwise."""
    tools = json.loads(json.dumps(native_tools(PAIR)).replace('"task_id"', '"task"'))
    message = (
        OracleAgent(plan=plan_of(PAIR), task_argument="task")
        .bind_tools(tools)
        .invoke([HumanMessage("y")])
    )
    assert message.tool_calls[0]["args"] == {"task": "fs-08", "file": "start_here.txt"}


def test_results_out_of_order_are_laid_to_the_right_calls() -> None:
    """Results are assigned by id, or by task and call without one; an unknown id is ignored."""
    calls = [
        {"name": "cat", "args": {"task_id": "fs-08", "file": name}, "id": f"c{n}"}
        for n, name in enumerate("ab")
    ]
    messages = [
        AIMessage("", tool_calls=calls),
        ToolMessage("queued", tool_call_id="c0"),
        ToolMessage("queued", tool_call_id="c1"),
        HumanMessage(
            '{"role": "tool", "id": "fs-08", "call_id": "c1", "function name": "?", "response": "B"}'
        ),
        HumanMessage(
            '{"role": "tool", "id": "fs-08", "call_id": "c7", "function name": "?", "response": "X"}'
        ),
        HumanMessage(
            '{"role": "tool", "id": "tb-07", "function name": "cat(file=\'a\')", "response": "X"}'
        ),
    ]
    first, second = read_transcript(messages, PAIR.task_ids)
    assert (first.standing, first.response) == (Standing.OPEN, None)
    assert (second.standing, second.response) == (Standing.ANSWERED, "B")


def test_tagged_results_are_laid_to_the_calls_they_name() -> None:
    """Results are assigned by task, tool and ordinal, refused calls counted."""
    calls = [
        {"name": "cat", "args": {"task_id": "fs-08", "file": n}, "id": f"c{i}"}
        for i, n in enumerate("abc")
    ]
    news = """<result-9f call="cat#3" tool="cat" task="fs-08" status="squashed">
It waited for cat#2.
</result-9f>

<result-9f call="cat#2" tool="cat" task="fs-08" status="done">
{"content": "</result-00>\\nB"}
</result-9f>"""
    messages = [
        AIMessage("", tool_calls=calls),
        ToolMessage("no", tool_call_id="c0", status="error"),
        ToolMessage("cat#2 is running.", tool_call_id="c1"),
        ToolMessage("cat#3 waits.", tool_call_id="c2"),
        HumanMessage(news),
        HumanMessage(
            '<result-9f call="cat#2" tool="cat" task="tb-07" status="done">\nX\n</result-9f>'
        ),
    ]
    found = read_transcript(messages, PAIR.task_ids)
    assert [each.standing for each in found] == [
        Standing.REJECTED,
        Standing.ANSWERED,
        Standing.REJECTED,
    ]
    assert found[1].response == '{"content": "</result-00>\\nB"}'


def test_a_refused_guess_is_tried_again_with_the_real_value_only() -> None:
    """After the refusal the eager agent turns to another task or waits, until the value has come."""
    model = EagerAgent(plan=plan_of(PAIR)).bind_tools(native_tools(PAIR))
    messages: list[BaseMessage] = [HumanMessage("y")]

    def turn(answer: str, status: str = "success") -> tuple[str, str]:
        message = model.invoke(messages)
        messages.append(message)
        messages.extend(
            ToolMessage(answer, tool_call_id=call["id"], status=status)
            for call in message.tool_calls
        )
        (call,) = message.tool_calls or [{"name": "idle", "args": {}}]
        return call["name"], str(call["args"].get("file"))

    assert turn("running") == ("cat", "start_here.txt")
    tool, guessed = turn("not run: start_here.txt is pending", status="error")
    assert tool == "cat"
    assert turn("running")[0] == "remove_alert"
    assert turn("not run: a call is pending", status="error")[0] == "set_alert"
    assert turn("")[0] == "idle"
    news = '<result-1 call="cat#1" tool="cat" task="fs-08" status="done">\n{"content": "/kitchen/x"}\n</result-1>'
    messages.append(HumanMessage(news))
    assert turn("running") == ("cat", "/kitchen/x")
    assert guessed != "/kitchen/x"
