"""A tool's own wait and stop strategies, as users of tenacity write them."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from tenacity import (
    RetryCallState,
    stop_after_attempt,
    stop_after_delay,
    stop_before_delay,
    stop_never,
    wait_chain,
    wait_exponential,
    wait_fixed,
    wait_incrementing,
    wait_random,
)

from asyncguard import (
    DeclarationError,
    Fallback,
    GuardConfig,
    Limits,
    Ports,
    Retry,
    Timing,
    ToolFault,
    ToolSpec,
    guarded,
)
from asyncguard.core.events import CallRecovered
from asyncguard.observability.observer import Details
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure

EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0))
RESET = ConnectionResetError("reset")


def asked(
    agent_of: AgentOf,
    *outcomes: Any,
    config: GuardConfig = EXACT,
    observers: Any = (),
    **declared: Any,
) -> tuple[Outcome, list[float]]:
    """Call a pure tool with scripted outcomes; return the times at which its attempts began."""
    look = scripted_tool("look", list(outcomes), args={"q": str})
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    agent = agent_of(
        model,
        [look],
        specs=[pure("look", **declared)],
        config=config,
        ports=Ports(observers=list(observers)),
    )
    outcome = agent.run("Go.")
    return outcome, [call.started for call in look.calls]


def pauses(starts: list[float]) -> list[float]:
    """Return the waits between attempts, in seconds."""
    return [round(later - start, 3) for start, later in pairwise(starts)]


@pytest.mark.parametrize(
    ("wait", "waits"),
    [
        (wait_fixed(7), [7.0, 7.0, 7.0]),
        (wait_incrementing(start=1, increment=2), [1.0, 3.0, 5.0]),
        (wait_exponential(multiplier=3, max=8), [3.0, 6.0, 8.0]),
        (wait_chain(wait_fixed(1), wait_fixed(4)), [1.0, 4.0, 4.0]),
        (wait_fixed(1) + wait_fixed(0.5), [1.5, 1.5, 1.5]),
        (lambda state: 2 * state.attempt_number, [2.0, 4.0, 6.0]),
    ],
    ids=["fixed", "incrementing", "exponential", "chain", "sum", "function"],
)
def test_a_wait_strategy_sets_the_pauses(
    wait: Callable[[RetryCallState], float], waits: list[float], agent_of: AgentOf
) -> None:
    """Each strategy of tenacity waits as it does in tenacity."""
    outcome, starts = asked(agent_of, RESET, RESET, RESET, "found", retry=Retry(wait=wait))
    assert pauses(starts) == waits
    assert "found" in outcome.text


def test_a_random_wait_stays_in_its_range(agent_of: AgentOf) -> None:
    """The wait that is drawn is the one that is waited."""
    _, starts = asked(agent_of, RESET, RESET, "found", retry=Retry(wait=wait_random(3, 4)))
    assert all(3.0 <= pause <= 4.0 for pause in pauses(starts))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("stop", "attempts"),
    [
        (stop_after_attempt(1), 1),
        (stop_after_attempt(2), 2),
        (stop_after_attempt(8), 8),
        (stop_never, 10),
        (stop_after_delay(4), 3),
        (stop_before_delay(4), 2),
        (stop_after_attempt(8) | stop_after_delay(4), 3),
        (stop_after_attempt(4) & stop_after_delay(4), 4),
        (lambda state: state.attempt_number >= 3 or None, 3),
    ],
    ids=["1", "2", "8", "never", "after 4 s", "before 4 s", "any", "all", "truthy"],
)
def test_a_stop_strategy_ends_the_retries(
    stop: Callable[[RetryCallState], bool], attempts: int, agent_of: AgentOf
) -> None:
    """It replaces ``max_attempts`` in both directions; ``max_recoveries`` still holds."""
    config = GuardConfig(timing=EXACT.timing, limits=Limits(max_recoveries=9, breaker_failures=99))
    retry = Retry(wait=wait_fixed(2), stop=stop)
    _, starts = asked(agent_of, *[RESET] * 20, config=config, retry=retry)
    assert len(starts) == attempts


def test_a_strategy_sees_what_tenacity_shows(agent_of: AgentOf) -> None:
    """The state holds attempts, elapsed seconds, waits and the failure."""
    seen: list[tuple[int, float | None, float, Any]] = []

    def wait(state: RetryCallState) -> float:
        assert state.outcome is not None
        fault = state.outcome.exception()
        assert isinstance(fault, ToolFault)
        seen.append((state.attempt_number, state.seconds_since_start, state.idle_for, fault.status))
        return 3.0

    faults = [ToolFault("busy", transient=True, status=status) for status in (503, 429)]
    asked(agent_of, *faults, "found", retry=Retry(wait=wait))
    assert seen == [(1, 0.0, 0.0, 503), (2, 3.0, 3.0, 429)]


def test_a_failure_that_is_retried_is_transient(agent_of: AgentOf) -> None:
    """The fault says what the runtime made of the exception, and names its class."""
    seen: list[tuple[bool, Any]] = []

    def stop(state: RetryCallState) -> bool:
        assert state.outcome is not None
        fault = state.outcome.exception()
        assert isinstance(fault, ToolFault)
        seen.append((fault.transient, fault.data["error"]))
        return False

    asked(agent_of, RESET, "found", retry=Retry(stop=stop))
    assert seen == [(True, "ConnectionResetError")]


def test_an_unreadable_answer_is_tried_as_often_as_the_strategies_say(agent_of: AgentOf) -> None:
    """Without strategies it is tried again once; a failure before it changes nothing."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    answers = (RESET, "{broken", "{broken", {"n": 1})
    retry = Retry(wait=wait_fixed(1), stop=stop_after_attempt(9))
    outcome, starts = asked(agent_of, *answers, result_schema=schema, retry=retry)
    assert pauses(starts) == [1.0, 1.0, 1.0]
    assert '"n":1' in outcome.text.replace(" ", "")
    _, starts = asked(agent_of, "{broken", "{broken", {"n": 1}, result_schema=schema)
    assert len(starts) == 2


@pytest.mark.parametrize(
    ("stop", "starts"),
    [
        (stop_after_attempt(8), [0.0, 1.0, 2.0, 3.0, 4.0, 34.0, 64.0, 94.0]),
        (stop_before_delay(10), [0.0, 1.0, 2.0, 3.0, 4.0]),
        (stop_after_delay(4.5), [0.0, 1.0, 2.0, 3.0, 4.0]),
        (lambda state: state.attempt_number == 6, [0.0, 1.0, 2.0, 3.0, 4.0, 34.0]),
    ],
    ids=["attempts", "before 10 s", "after 4.5 s", "sixth"],
)
def test_a_refusal_by_an_open_circuit_is_no_attempt(
    stop: Callable[[RetryCallState], bool], starts: list[float], agent_of: AgentOf
) -> None:
    """It opens after five failures and rests for 30 s; the wait strategy is not asked meanwhile."""
    retry = Retry(wait=wait_fixed(1), stop=stop)
    _, made = asked(agent_of, *[RESET] * 20, retry=retry)
    assert made == starts


def test_a_limit_of_attempts_does_not_count_refusals_by_a_circuit(agent_of: AgentOf) -> None:
    """``max_attempts`` counts attempts that were made."""
    config = GuardConfig(timing=EXACT.timing, limits=Limits(max_attempts=7))
    _, made = asked(agent_of, *[RESET] * 20, config=config)
    assert len(made) == 7


def test_the_default_that_ends_the_retries_says_why(agent_of: AgentOf) -> None:
    """The last reason names the strategy that failed, too."""
    reasons: list[str] = []

    def observe(details: Details) -> None:
        if isinstance(details.event, CallRecovered):
            reasons.append(details.event.reason)

    config = GuardConfig(timing=EXACT.timing, limits=Limits(max_attempts=2))
    asked(agent_of, *[RESET] * 9, config=config, retry=Retry(stop=_raise), observers=[observe])
    complaint = "the tool's stop strategy failed with RuntimeError"
    assert reasons == [
        f"transient; {complaint}",
        f"nothing more can be done here; {complaint}",
    ]


@pytest.mark.parametrize(
    ("stop", "attempts"),
    [(None, 3), (stop_after_attempt(2), 2), (stop_after_delay(4), 3), (stop_before_delay(4), 2)],
    ids=["default", "attempts", "after 4 s", "before 4 s"],
)
def test_a_question_is_no_attempt(
    stop: Callable[[RetryCallState], bool] | None, attempts: int, agent_of: AgentOf
) -> None:
    """A tool runs once more for each showing of its question: only what follows the answer counts."""
    failed: list[float] = []
    states: list[tuple[int, float]] = []

    def act(_: Any) -> str:
        interrupt("Sure?")
        failed.append(asyncio.get_running_loop().time())
        raise ConnectionResetError("reset")

    def stops(state: RetryCallState) -> bool:
        assert stop is not None
        states.append((state.attempt_number, state.idle_for))
        return stop(state)

    agent = agent_of(
        ScriptedChatModel([calls(("look", {"q": "x"})), "done"]),
        [scripted_tool("look", act, args={"q": str})],
        specs=[pure("look", interrupts=True, retry=stop and Retry(wait=wait_fixed(2), stop=stops))],
        config=GuardConfig(timing=EXACT.timing, limits=Limits(max_attempts=3)),
        checkpointer=InMemorySaver(),
    )

    async def ask_and_fail() -> Outcome:
        outcome = await agent.say("Go.", thread="t")
        for _ in range(4):
            await agent.go(None, "t")
        await asyncio.sleep(3600)
        while outcome.interrupts:
            outcome = await agent.resume("yes", "t")
        return outcome

    assert "reset" in run_virtual(ask_and_fail()).result.text
    assert pauses(failed) == ([1.0, 2.0] if stop is None else [2.0] * (attempts - 1))
    assert states == ([] if stop is None else [(n, 2.0 * (n - 1)) for n in range(1, attempts + 1)])


def test_an_unreadable_answer_is_a_result_for_the_strategy(agent_of: AgentOf) -> None:
    """The state holds the answer, and ``stop_after_attempt(1)`` forbids the second attempt."""
    results: list[Any] = []

    def stop(state: RetryCallState) -> bool:
        assert state.outcome is not None
        results.append(state.outcome.result())
        return True

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    _, starts = asked(agent_of, "{broken", {"n": 1}, result_schema=schema, retry=Retry(stop=stop))
    assert results == ["{broken"]
    assert len(starts) == 1


def test_a_server_may_ask_for_a_longer_wait(agent_of: AgentOf) -> None:
    """A strategy never comes back earlier than the server asked."""
    fault = ToolFault("busy", transient=True, retry_after=5.0)
    for own, pause in ((1, 5.0), (9, 9.0)):
        _, starts = asked(agent_of, fault, "found", retry=Retry(wait=wait_fixed(own)))
        assert pauses(starts) == [pause]


def test_a_sibling_has_its_own_strategies(agent_of: AgentOf) -> None:
    """Attempts of the tool that failed before do not count for it."""
    look = scripted_tool("look", [RESET] * 3, args={"q": str})
    other = scripted_tool("other", [RESET] * 9, args={"q": str})
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    specs = [
        pure("look", fallbacks=(Fallback(tool="other"),), retry=Retry(stop=stop_after_attempt(3))),
        pure("other", retry=Retry(wait=wait_fixed(2), stop=stop_after_attempt(2))),
    ]
    agent_of(model, [look, other], specs=specs, config=EXACT).run("Go.")
    assert (len(look.calls), len(other.calls)) == (3, 2)
    assert pauses([call.started for call in other.calls]) == [2.0]


def test_no_strategy_repeats_what_may_have_happened(agent_of: AgentOf) -> None:
    """An effect that must happen at most once is not made again, however eager the strategy."""
    pay = scripted_tool("pay", [RESET, "paid"], args={"q": str})
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), "done"])
    specs = [ToolSpec(name="pay", retry=Retry(wait=wait_fixed(0), stop=stop_never))]
    agent_of(model, [pay], specs=specs, config=EXACT).run("Go.")
    assert len(pay.calls) == 1


class _Undecided:
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


def _raise(_: RetryCallState) -> float:
    raise RuntimeError("secret")


@pytest.mark.parametrize(
    ("retry", "complaint"),
    [
        (Retry(wait=_raise), "the tool's wait strategy failed with RuntimeError"),
        (Retry(wait=lambda _: -1.0), "the tool's wait strategy answered with -1.0"),
        (Retry(wait=lambda _: float("nan")), "the tool's wait strategy answered with nan"),
        (Retry(wait=lambda _: 10**400), "the tool's wait strategy failed with OverflowError"),
        (Retry(stop=lambda _: _Undecided()), "the tool's stop strategy failed with RuntimeError"),  # type: ignore[arg-type,return-value]
        (Retry(wait=lambda _: "2"), "the tool's wait strategy answered with str"),  # type: ignore[arg-type,return-value]
        (Retry(stop=_raise), "the tool's stop strategy failed with RuntimeError"),
    ],
    ids=["raises", "negative", "nan", "huge", "undecided", "text", "stop raises"],
)
def test_a_broken_strategy_gives_way_to_the_default(
    retry: Retry, complaint: str, agent_of: AgentOf
) -> None:
    """The run goes on with the default, and the recovery's reason says so without the message."""
    reasons: list[str] = []

    def observe(details: Details) -> None:
        if isinstance(details.event, CallRecovered):
            reasons.append(details.event.reason)

    outcome, starts = asked(agent_of, RESET, RESET, "found", retry=retry, observers=[observe])
    assert pauses(starts) == [1.0, 2.0]
    assert reasons == [f"transient; {complaint}"] * 2
    assert "found" in outcome.text


async def _later(_: RetryCallState) -> float:
    return 1.0


class _Later:
    async def __call__(self, _: RetryCallState) -> bool:
        return True


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Retry(wait=3), "Retry.wait must be"),
        (lambda: Retry(stop=3), "Retry.stop must be"),
        (lambda: Retry(wait=wait_fixed), "Retry.wait must be a strategy, not its class"),
        (lambda: Retry(wait=_later), "Retry.wait must be a plain function"),
        (lambda: Retry(stop=_Later()), "Retry.stop must be a plain function"),
        (lambda: ToolSpec(name="look", retry=stop_after_attempt(3)), "retry must be a Retry"),
        (lambda: guarded(effect="pure", retry=3), "retry must be a Retry"),
    ],
    ids=[
        "number",
        "stop number",
        "class",
        "coroutine",
        "coroutine object",
        "bare strategy",
        "decorator",
    ],
)
def test_what_is_not_a_strategy_is_refused_when_it_is_declared(
    make: Callable[[], Any], message: str
) -> None:
    """The message names the field."""
    with pytest.raises(DeclarationError, match=message):
        make()
