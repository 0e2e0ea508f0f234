"""Players under faults: one world for all, and what runtime and agent see of a fault."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard import Details, GuardConfig, Mode
from asyncguard.core import events as ev
from asyncguard.core.calls import Call
from asyncguard.core.footprints import EffectClass, Footprint
from asyncguard.core.records import CallRecord as RuntimeRecord
from asyncguard.core.results import Failure, Success
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard_benchmark import Composition, Episode, Regime, Run, Surface
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.environment import CallRecord, Environment
from asyncguard_benchmark.harness.faults import Failpoint, Fault, Hazard, Profile
from asyncguard_benchmark.harness.players.answers import AnswerBook
from asyncguard_benchmark.harness.players.declarations import specs_of
from asyncguard_benchmark.harness.players.guarded import (
    UNGUARDED,
    Setting,
    play_graph,
    play_middleware,
)
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.players.ticks import TickClock, TickExecutor
from asyncguard_benchmark.harness.players.translation import Translation
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, TextSpeech
from asyncguard_benchmark.harness.scenario import Kind
from asyncguard_benchmark.services.common_tools import DESCRIBE, SUBMIT
from asyncguard_benchmark.suites.hazards.agents.simple import NaiveAgent, RetryHappyAgent
from asyncguard_benchmark.suites.hazards.tasks import alone
from tests.benchmark.builders import SUB_TASKS
from tests.benchmark.builders_hazards import TASKS, fault_on, tool_of

PLAYERS: tuple[Callable[..., Episode], ...] = (play_graph, play_middleware)
TASK = TASKS[0]
PURE = next(call for call in TASK.sub_task.gold if not tool_of(TASK, call.tool).writes)
ABSENT = dict.fromkeys(PURE.arguments, "INV-0000")


def injected(mode: str, **more: Any) -> Composition:
    """The task with one fault on its first call without effect."""
    return alone(TASK, fault_on(TASK, mode, PURE.tool, **more))


def mixed() -> Composition:
    """A hazard task and one of the twelve categories, with a fault on each."""
    other = SUB_TASKS["tb-07"]
    broken = Fault(
        task=other.id,
        hazard=Hazard.EXECUTION,
        mode="server_error",
        tool=other.gold[0].tool,
        failpoint=Failpoint.BEFORE_EXTERNAL_CALL,
    )
    faults = (fault_on(TASK, "unit_wrapped", PURE.tool, profile=Profile.GUIDED), broken)
    return Composition(id="mixed", kind=Kind.C2, sub_tasks=(TASK.sub_task, other), faults=faults)


FAULTY = {
    "clean": alone(TASK),
    "timeout": injected("timeout", severity=2),
    "guided": injected("truncated", profile=Profile.GUIDED),
    "labelled": injected("labelled_text", severity=2),
    "refused": injected("argument_renamed"),
    "mixed": mixed(),
}


@pytest.mark.parametrize(
    ("name", "kind", "regime", "surface"),
    [
        ("timeout", RetryHappyAgent, Regime.RANDOM12, Surface.NATIVE),
        ("guided", NaiveAgent, Regime.SYNC, Surface.NATIVE),
        ("labelled", NaiveAgent, Regime.FIXED1, Surface.TEXT),
        ("mixed", RetryHappyAgent, Regime.RANDOM01, Surface.TEXT),
    ],
)
def test_with_all_off_faults_look_the_same_to_every_agent(
    name: str, kind: type[SimulatedAgent], regime: Regime, surface: Surface
) -> None:
    """Message for message, call for call and firing for firing."""
    assert_same_world(FAULTY[name], kind, Run(regime=regime, surface=surface, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FAULTY))
@pytest.mark.parametrize("kind", [OracleAgent, NaiveAgent, RetryHappyAgent])
def test_with_all_off_faults_look_the_same_everywhere(
    name: str, kind: type[SimulatedAgent]
) -> None:
    """Faults look the same at all regimes and to more agents."""
    for regime in Regime:
        for surface in Surface:
            assert_same_world(FAULTY[name], kind, Run(regime=regime, surface=surface, seed=2))


def assert_same_world(composition: Composition, kind: type[SimulatedAgent], run: Run) -> None:
    """Both guarded players with everything off do what the plain one does."""
    plain = play_plain(composition, kind(plan=plan_of(composition)), run)
    assert bool(plain.firings) == bool(composition.faults)
    for play in PLAYERS:
        other = play(composition, kind(plan=plan_of(composition)), run, Setting(config=UNGUARDED))
        assert other.messages == plain.messages
        assert other.trajectory == plain.trajectory
        assert other.counters == plain.counters
        assert other.firings == plain.firings


@pytest.mark.parametrize("play", PLAYERS)
def test_a_single_task_is_played_in_the_background(play: Callable[..., Episode]) -> None:
    """A task alone is solved behind all guards, and no tool gets the task argument."""
    composition = alone(TASK)
    run = Run(regime=Regime.FIXED1, surface=Surface.NATIVE, seed=0)
    episode = play(composition, OracleAgent(plan=plan_of(composition)), run, Setting())
    assert [record.tool for record in episode.trajectory] == [
        call.tool for call in TASK.sub_task.gold
    ]
    assert json.loads(episode.trajectory[-1].response) == {"received": True}
    assert all(record.due > record.issued for record in episode.trajectory)


# -- what the runtime is handed --------------------------------------------------------------------------------------


def handed(composition: Composition, arguments: Any = None) -> Any:
    """Return the runtime's result of the first gold call without effect, or of a similar call."""
    executor = TickExecutor(Environment(composition, Regime.SYNC, 0))
    record = executor.environment.issue(
        TASK.id, PURE.tool, PURE.arguments if arguments is None else arguments
    )
    return executor.result(record), record


@pytest.mark.parametrize(
    ("mode", "error", "status", "builtin"),
    [
        ("timeout", "timeout", None, "builtins.TimeoutError"),
        ("connection_reset", "ConnectionResetError", None, "builtins.ConnectionError"),
        ("os_error", "OSError", None, "builtins.OSError"),
        ("rate_limited", "HTTPStatusError", 429, "builtins.Exception"),
        ("argument_renamed", "HTTPStatusError", 422, "builtins.Exception"),
        ("argument_dropped", "HTTPStatusError", 422, "builtins.Exception"),
    ],
)
def test_an_exception_is_handed_on_as_what_can_be_seen_of_it(
    mode: str, error: str, status: int | None, builtin: str
) -> None:
    """Class, ancestors and status; nothing says whether the effect has begun. The agent reads the same words."""
    result, record = handed(injected(mode))
    assert isinstance(result, Failure)
    symptom = result.symptom
    assert (symptom.error, symptom.status, symptom.transient, symptom.answered) == (
        error,
        status,
        None,
        False,
    )
    assert symptom.started
    assert builtin in symptom.mro
    assert (symptom.retry_after is not None) == (status == 429)
    assert json.loads(record.response) == {"error": symptom.message}


def test_a_request_that_was_not_sent_says_so() -> None:
    """The client knows it, and so does the runtime: the one failure after which an effect may be tried again."""
    result, record = handed(injected("not_sent"))
    assert isinstance(result, Failure)
    assert (result.symptom.started, result.symptom.transient) == (False, True)
    assert json.loads(record.response) == {"error": result.symptom.message}


def test_a_tool_that_says_no_has_answered() -> None:
    """A refusal is an answer with a known outcome, not an exception."""
    result, record = handed(alone(TASK), ABSENT)
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.answered) == ("tool_error", True)
    assert json.loads(record.response) == {"error": result.symptom.message}


def test_a_drifted_answer_is_a_success() -> None:
    """A drifted answer is a success, so that the runtime has to find the drift itself."""
    result, record = handed(injected("truncated"))
    assert result == Success(content=record.response)


def test_errors_of_the_categories_stay_texts() -> None:
    """An error of a category's tool is a result, not an exception."""
    composition = mixed()
    task = composition.sub_tasks[1]
    executor = TickExecutor(Environment(composition, Regime.SYNC, 0))
    record = executor.environment.issue(task.id, task.gold[1].tool, {"nonsense": 1})
    assert executor.result(record) == Success(content=record.response)
    assert "Invalid arguments" in record.response


def test_tools_declare_what_recovery_may_use() -> None:
    """In the runtime's terms; only what all tasks that have the tool may call."""
    composition = alone(TASK)
    specs = {spec.name: spec for spec in specs_of(composition, declared=True)}
    for name, spec in specs.items():
        remedies = tool_of(TASK, name).remedies
        assert _unwrapped(spec.result_schema) == remedies.returns
        assert spec.invariants == remedies.invariants
        assert {other.tool for other in spec.sources} == {
            other.tool for other in remedies.sources
        } & set(specs)
        assert {other.tool for other in spec.fallbacks} == {
            other.tool for other in remedies.fallbacks
        } & set(specs)
        assert spec.contract == (None if name == DESCRIBE else DESCRIBE)
        assert (spec.effect is EffectClass.PROBED) == (spec.probe is not None)
    assert any(spec.sources for spec in specs.values())
    fields = [
        field
        for spec in specs.values()
        for field in (spec.result_schema or {}).get("properties", {}).values()
    ]
    assert any("wrappers" in field for field in fields)
    bare = {spec.name: spec for spec in specs_of(composition, declared=False)}
    assert not any(spec.result_schema or spec.sources or spec.contract for spec in bare.values())
    unclosed = replace(
        TASK.sub_task, tools=tuple(name for name in TASK.sub_task.tools if name != DESCRIBE)
    )
    pair = Composition(
        id="two", kind=Kind.S2, sub_tasks=(TASK.sub_task, replace(unclosed, id="other"))
    )
    assert {spec.contract for spec in specs_of(pair, declared=True)} == {None}
    assert {spec.mode for spec in specs_of(pair, declared=True)} == {Mode.AUTO}


def _unwrapped(schema: Any) -> Any:
    """A schema without the wrappers that a player declares beside what the suite does."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: item for key, item in schema.items() if key != "wrappers"}
    if "properties" in kept:
        kept["properties"] = {name: _unwrapped(field) for name, field in kept["properties"].items()}
    return kept


# -- attempts on the message clock -----------------------------------------------------------------------------------


def job(*, tool: str = PURE.tool, attempt: int = 1, delay: float = 0.0, about: str = "") -> Job:
    """One attempt of a call, or a look at the contract of a tool on its behalf."""

    async def unused() -> Success:
        raise AssertionError("the environment makes the calls")

    return Job(
        key="k",
        attempt=attempt,
        tool=tool,
        task=TASK.id,
        call_id="id-k",
        arguments={"tool": about} if about else dict(PURE.arguments),
        run=unused,
        delay=delay,
    )


@pytest.mark.parametrize(("delay", "ticks"), [(0.0, 0), (0.2, 1), (1.0, 1), (1.3, 2), (30.0, 2)])
def test_a_back_off_lasts_a_tick_a_second_and_two_at_most(delay: float, ticks: int) -> None:
    """The call is made when it is over, and counts as pending meanwhile; the clock lets it pass."""
    executor = TickExecutor(Environment(alone(TASK), Regime.SYNC, 0))
    done: list[Completion] = []
    executor.start(job(delay=delay), done.append)
    assert list(executor.pending()) == ["k"]
    event = asyncio.Event()

    async def wait() -> None:
        clock = TickClock(executor.environment, executor)
        executor.poll()
        if done:
            event.set()
        while not done:
            await asyncio.wait_for(clock.wait(_Ended(done), None), 60)

    asyncio.run(wait())
    assert executor.environment.tick == ticks
    assert [record.issued for record in executor.environment.trajectory] == [ticks]
    assert list(executor.pending()) == []


class _Ended(asyncio.Event):
    """Set as soon as a completion is there."""

    def __init__(self, done: list[Completion]) -> None:
        super().__init__()
        self._ended = done

    def is_set(self) -> bool:
        return bool(self._ended)


# -- what the agent is told ------------------------------------------------------------------------------------------


def retired(book: AnswerBook, content: str, *, mark: str = "", error: str | None = None) -> None:
    """The end of a call, as the runtime reports it."""
    call = Call(
        key="k",
        sequence=0,
        task=TASK.id,
        tool=PURE.tool,
        ordinal=1,
        arguments=dict(PURE.arguments),
        call_id="id-k",
        message_id="m",
        footprint=Footprint(reads=None, writes=None),
        fingerprint="f",
    )
    outcome = ev.Outcome.DONE if error is None else ev.Outcome.FAILED
    event = ev.CallRetired(
        n=1,
        at=0.0,
        key="k",
        outcome=outcome,
        content=content,
        size=len(content),
        error=error,
        mark=mark,
    )
    book(Details(event=event, thread="t", run="r", record=RuntimeRecord(call=call)))


def book_of(composition: Composition, *jobs: Job) -> AnswerBook:
    """The book of an episode in which these attempts were made and answered."""
    executor = TickExecutor(Environment(composition, Regime.SYNC, 0))
    for each in jobs:
        executor.start(each, lambda completion: None)
        executor.poll()
    return AnswerBook(executor)


def told(book: AnswerBook) -> CallRecord:
    """Return the record of the call, as the agent sees it."""
    record = book.told("k")
    assert record is not None
    return record


def test_the_agent_sees_its_own_call_with_what_the_runtime_says() -> None:
    """The agent sees one answer in its own call's form, with marks, whatever attempts were made."""
    book = book_of(alone(TASK), job(), job(attempt=2, tool=DESCRIBE, about=PURE.tool))
    retired(book, '{"mended": 1}', mark="Brought into the declared form.")
    record = told(book)
    assert (record.tool, record.arguments, record.number) == (PURE.tool, PURE.arguments, 0)
    assert (record.response, record.note) == ('{"mended": 1}', "Brought into the declared form.")
    assert book.call_id(record.number) == "id-k"
    assert book.told("id-k") == record


def test_a_hint_is_told_with_the_answer_that_it_came_with() -> None:
    """A hint is shown with its answer only, not if another answer replaced that one."""
    composition = injected("truncated", profile=Profile.GUIDED)
    same, other = book_of(composition, job()), book_of(composition, job())
    retired(same, same.executor.attempts("k")[0].response)
    retired(other, '{"mended": 1}')
    assert told(same).note.startswith("Hint: ")
    assert told(other).note == ""


def test_a_failure_is_told_as_an_error() -> None:
    """In the words of the runtime, also if no attempt was made at all."""
    made, unmade = book_of(injected("timeout"), job()), book_of(alone(TASK))
    retired(made, "TimeoutError: too late", error="timeout")
    retired(unmade, "The tool rests.", error="circuit_open")
    assert json.loads(told(made).response) == {"error": "TimeoutError: too late"}
    assert json.loads(told(unmade).response) == {"error": "The tool rests."}
    assert told(unmade).number < 0
    assert (made.made("k"), unmade.made("k")) == (True, False)


def translation_of(surface: Surface, book: AnswerBook) -> Translation:
    """A translation for an agent with one task."""
    composition = alone(TASK)
    speech = NativeSpeech(composition) if surface is Surface.NATIVE else TextSpeech(composition)
    return Translation(
        composition=composition,
        surface=surface,
        speech=speech,
        book=book,
        idle_is_text=lambda: False,
        unknown_tools_pass=False,
    )


def calling() -> AIMessage:
    """The call of an agent, as the runtime has it."""
    call = {"name": PURE.tool, "args": dict(PURE.arguments), "id": "id-k", "type": "tool_call"}
    return AIMessage(
        content="",
        tool_calls=[call],
        additional_kwargs={"said": {"content": "", "tool_calls": [call]}},
    )


def heard(surface: Surface, book: AnswerBook, *messages: BaseMessage) -> str:
    """The last message that an agent is sent after a call and what the runtime says to it."""
    return str(translation_of(surface, book).to_agent([calling(), *messages])[-1].text)


@pytest.mark.parametrize("surface", list(Surface))
def test_a_turn_is_rendered_again_if_the_outcome_of_its_call_has_changed(surface: Surface) -> None:
    """The same messages show a result as soon as the call has one, and the same message object until then."""
    book = book_of(alone(TASK), job())
    translation, said = translation_of(surface, book), calling()
    history = [said, ToolMessage("Executing.", tool_call_id="id-k")]
    first, second = translation.to_agent(history)[-1], translation.to_agent(history)[-1]
    retired(book, '{"mended": 1}')
    third = translation.to_agent(history)[-1]
    assert second is first
    assert ("mended" in str(first.text), "mended" in str(third.text)) == (False, True)


@pytest.mark.parametrize("surface", list(Surface))
def test_a_turn_is_rendered_again_if_more_is_said_to_it(surface: Surface) -> None:
    """Words that come later stand in the reply; a turn before another one is never without a reply."""
    translation, said = translation_of(surface, book_of(alone(TASK), job())), calling()
    history: list[BaseMessage] = [said]
    before = translation.to_agent(history)
    assert len(translation.to_agent([said, calling()])) == len(before) + 2
    history.append(HumanMessage("Go on."))
    assert str(translation.to_agent(history)[-1].text) == "Go on."
    assert translation.to_agent([said, calling()])[-2] != before[-1]


@pytest.mark.parametrize("surface", list(Surface))
def test_a_mark_stands_beside_the_response(surface: Surface) -> None:
    """A mark is shown as a note, on both surfaces."""
    book = book_of(alone(TASK), job())
    retired(book, '{"mended": 1}', mark="Doubtful.")
    entry = json.loads(heard(surface, book, ToolMessage("shown", tool_call_id="id-k")))
    assert (entry["response"], entry["note"]) == ('{"mended": 1}', "Doubtful.")


@pytest.mark.parametrize("surface", list(Surface))
def test_news_of_a_call_that_was_not_made_are_heard_among_results(surface: Surface) -> None:
    """The result as an entry, and in the runtime's own words what was not run; nothing twice."""
    book = book_of(alone(TASK), job())
    retired(book, '{"mended": 1}')
    blocks = [
        f'<result-x tool="{name}">\n{words}\n</result-x>'
        for name, words in (("a", "shown"), ("b", "Not run."))
    ]
    data = {"kind": "results", "calls": ["k", "squashed"]}
    news = HumanMessage("\n\n".join(blocks), additional_kwargs={"lc_data": data})
    placeholder = ToolMessage(
        "wait", tool_call_id="id-k", additional_kwargs={"lc_data": {"kind": "placeholder"}}
    )
    entries, squashed, _ = heard(surface, book, placeholder, news).partition(blocks[1])
    assert squashed
    assert "shown" not in entries
    assert json.loads(entries.strip().splitlines()[-1])["response"] == '{"mended": 1}'


@pytest.mark.parametrize("play", PLAYERS)
def test_a_retry_is_not_seen_by_the_agent(play: Callable[..., Episode]) -> None:
    """The runtime makes another attempt; the agent hears one answer to one call, and the world counts two."""
    composition = injected("server_error")
    run = Run(regime=Regime.SYNC, surface=Surface.TEXT, seed=0)
    setting = Setting(config=GuardConfig.none(retry=True, ledger=True, waiting=True))
    episode = play(composition, NaiveAgent(plan=plan_of(composition)), run, setting)
    assert len(episode.firings) == 1
    assert [record.tool for record in episode.trajectory].count(PURE.tool) == 1 + [
        call.tool for call in TASK.sub_task.gold
    ].count(PURE.tool)
    assert "Server error" not in json.dumps(episode.messages)
    assert episode.trajectory[-1].tool == SUBMIT
