"""Recovery of effects across processes, cancelled runs and branches: nothing that may have begun is begun again."""

import asyncio
import random
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import EffectClass, GuardConfig, Timing
from asyncguard.testing import ScriptedChatModel, calls, run_virtual
from tests.adapters.harness import Agent, AgentOf, Outcome, script
from tests.adapters.world import Check, Pay, World, specs

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0))
TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look up y."}]
ALONE = calls(("pay", {"item": "x"}))
BESIDE = calls(("pay", {"item": "x", "task_id": "a"}), ("look", {"item": "y", "task_id": "b"}))


def process(
    agent_of: AgentOf,
    world: World,
    saver: Any,
    effect: EffectClass,
    prefix: str,
    *steps: Any,
    sibling: bool = False,
) -> Agent:
    """An agent of its own on the world and the saver."""
    model = ScriptedChatModel(script(*steps), id_prefix=prefix)
    declared = specs(effect, sibling=sibling)
    return agent_of(model, world.tools(), specs=declared, config=CONFIG, checkpointer=saver)


async def killed(agent: Agent, payload: Any, at: float) -> Outcome | None:
    """A run that is cancelled after some seconds; its outcome if it ended before."""
    running = asyncio.create_task(agent.go(payload, "t"))
    await asyncio.wait([running], timeout=at)
    if running.done():
        return running.result()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return None


def go_through(
    agent_of: AgentOf,
    world: World,
    effect: EffectClass,
    kills: list[float],
    *,
    several: bool,
    sibling: bool = False,
) -> Outcome:
    """A run that is killed again and again, each time taken up by another process."""
    saver = InMemorySaver()
    agent = process(
        agent_of, world, saver, effect, "p0", BESIDE if several else ALONE, sibling=sibling
    )
    payload = agent.input(None, TASKS) if several else agent.input("Pay x.", None)
    for number, at in enumerate(kills, start=1):
        if (outcome := run_virtual(killed(agent, payload, at)).result) is not None:
            return outcome
        agent, payload = (
            process(agent_of, world, saver, effect, f"p{number}", sibling=sibling),
            None,
        )
    return run_virtual(agent.go(payload, "t")).result


SEEDS = range(40)


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True], ids=["alone", "beside another task"])
@pytest.mark.parametrize(
    "effect", [EffectClass.PROBED, EffectClass.AT_MOST_ONCE], ids=lambda e: e.value
)
def test_no_kill_repeats_an_effect(effect: EffectClass, several: bool, agent_of: AgentOf) -> None:
    """No effect is repeated, whatever the service answers and wherever the processes die."""
    for seed in SEEDS:
        dice = random.Random(seed)
        world = World(
            pays=dice.choices(list(Pay), k=4),
            checks=dice.choices(list(Check), weights=(6, 1, 1, 1), k=4),
        )
        kills = [dice.choice([0.5, 1.5, 2.5, 3.5, 4.5]) for _ in range(dice.randrange(4))]
        plan = f"seed {seed}: {world.pays}, {world.checks}, killed at {kills}"
        outcome = go_through(
            agent_of, world, effect, kills, several=several, sibling=dice.random() < 0.3
        )
        assert not world.harm, plan
        assert '"happened"' not in outcome.text, plan
        if world.payments:
            assert "pay#1 was not run" not in outcome.text, plan


@pytest.mark.parametrize("at", [0.5, 1.5], ids=["while it pays", "while the probe is asked"])
def test_another_process_asks_the_probe_and_not_the_effect(at: float, agent_of: AgentOf) -> None:
    """It knows the tools by their names, also before it has asked its model; the probe says that it happened."""
    world = World(pays=[Pay.LOST])
    outcome = go_through(agent_of, world, EffectClass.PROBED, [at], several=False)
    assert (world.attempts, world.harm) == (1, [])
    assert '{"state": "paid"}' in outcome.answer("p0_1_1")
    assert "check says that its effect happened" in outcome.answer("p0_1_1")


@pytest.mark.parametrize(
    "at", [4.5, 5.5, 6.5], ids=["while it pays", "while the probe is asked", "after that"]
)
def test_a_late_effect_whose_process_died_is_never_called_not_run(
    at: float, agent_of: AgentOf
) -> None:
    """It was announced as running; its wrapper is gone, where there was one, and the effect may have begun."""
    world = World(pays=[Pay.LOST], latency=5.0)
    outcome = go_through(agent_of, world, EffectClass.PROBED, [at], several=True)
    assert (world.attempts, world.harm) == (1, [])
    assert "pay#1 was not run" not in outcome.text
    assert outcome.states("a") in ({"done": 1}, {"in_doubt": 1})


@pytest.mark.parametrize("at", [0.5, 1.5, 2.5, 3.5, 4.5, 5.5], ids=str)
def test_a_cancelled_recovery_goes_on_in_its_process(at: float, agent_of: AgentOf) -> None:
    """Attempts, what the probe said and what is being asked are known as they were."""
    world = World(pays=[Pay.RESET, Pay.RESET])
    agent = process(agent_of, world, InMemorySaver(), EffectClass.PROBED, "p0", ALONE)

    async def main() -> Outcome:
        await killed(agent, agent.input("Pay x.", None), at)
        return await agent.go(None, "t")

    outcome = run_virtual(main()).result
    assert (world.payments, world.attempts, world.harm) == (1, 3, [])
    assert '"happened"' not in outcome.text
    assert '{"state": "paid"}' in outcome.text


@pytest.mark.parametrize("at", [0.5, 1.5, 2.5, 3.5, 4.5, 5.5], ids=str)
def test_the_user_stops_a_recovery(at: float, agent_of: AgentOf) -> None:
    """Calls that have begun continue and are supervised; after the message no attempt begins."""
    world = World(pays=[Pay.RESET, Pay.RESET, Pay.RESET])
    agent = process(agent_of, world, InMemorySaver(), EffectClass.PROBED, "p0", ALONE, sibling=True)

    async def main() -> tuple[int, Outcome]:
        await killed(agent, agent.input("Pay x.", None), at)
        return world.attempts, await agent.say("Stop, do not pay.", thread="t")

    begun, outcome = run_virtual(main()).result
    assert (world.attempts, world.payments, world.harm) == (begun, 0, [])
    assert "The user sent a new message before it was tried again" in outcome.text
    assert outcome.states("main") == {"failed": 1}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "effect", [EffectClass.PROBED, EffectClass.AT_MOST_ONCE], ids=lambda e: e.value
)
def test_no_branch_repeats_an_effect(effect: EffectClass, agent_of: AgentOf) -> None:
    """The call was refused, then made again: continuing from any point makes no third."""
    for pays in ([Pay.REFUSED], [Pay.BUSY, Pay.LOST], [Pay.RESET], [Pay.STRANGE], [Pay.LOST]):
        world = World(pays=list(pays))
        agent = process(agent_of, world, InMemorySaver(), effect, "p0", ALONE)

        async def main(agent: Agent = agent) -> None:
            await agent.say("Pay x.", thread="t")
            place: Any = {"configurable": {"thread_id": "t"}}
            for snapshot in [each async for each in agent.graph.aget_state_history(place)]:
                await agent.graph.ainvoke(None, snapshot.config)

        run_virtual(main())
        assert not world.harm, pays
        assert world.payments <= 1, pays


@pytest.mark.sampled(2)
@pytest.mark.parametrize("at", [0.5, 1.5, 2.5, 3.5, 4.5], ids=str)
@pytest.mark.parametrize("latest", [False, True], ids=["earliest", "latest"])
def test_a_branch_taken_up_in_the_middle_of_a_recovery_knows_all_of_it(
    at: float, latest: bool, agent_of: AgentOf
) -> None:
    """Each attempt is told with its aim, so that no answer of a probe is taken for the answer of the effect."""
    world = World(pays=[Pay.RESET, Pay.LOST])
    agent = process(agent_of, world, InMemorySaver(), EffectClass.PROBED, "p0", BESIDE)

    async def main() -> Any:
        await killed(agent, agent.input(None, TASKS), at)
        place: Any = {"configurable": {"thread_id": "t"}}
        states = [
            each
            async for each in agent.graph.aget_state_history(place)
            if "pay" in str(each.values)
        ]
        return await agent.graph.ainvoke(None, states[0 if latest else -1].config)

    state = run_virtual(main()).result
    told = str(state["messages"])
    assert (world.payments, world.attempts, world.harm) == (1, 2, [])
    assert "happened" not in told.replace("its effect happened", "")
    assert '{"state": "paid"}' in told


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "effect", [EffectClass.PROBED, EffectClass.AT_MOST_ONCE], ids=lambda e: e.value
)
def test_another_process_goes_on_after_any_super_step(
    effect: EffectClass, agent_of: AgentOf
) -> None:
    """Whatever was decided and not carried out, or carried out and not stored, is decided again or in doubt."""

    async def steps(agent: Agent, count: int) -> bool:
        place: Any = {"configurable": {"thread_id": "t"}}
        running = agent.graph.astream(agent.input(None, TASKS), place, stream_mode="updates")
        seen = 0
        async for _ in running:
            seen += 1
            if seen == count:
                await running.aclose()
                return True
        return False

    for count in range(1, 40):
        world, saver = World(pays=[Pay.BUSY, Pay.LOST]), InMemorySaver()
        if not run_virtual(
            steps(process(agent_of, world, saver, effect, "p0", BESIDE), count)
        ).result:
            break
        agent = process(agent_of, world, saver, effect, "p1", "There is nothing to do.")
        outcome = run_virtual(agent.go(None, "t")).result
        assert not world.harm, count
        assert world.payments <= 1, count
        assert "pay#1 was not run" not in outcome.text or not world.payments, count
    assert count > 3
