"""The protocol, byte for byte."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark.harness.environment import Environment
from asyncguard_benchmark.harness.players.plain import take
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, TextSpeech, native_tools
from asyncguard_benchmark.harness.scenario import Regime
from tests.benchmark.builders import compose

PAIR = compose("fs-07", "tb-07")
WAIT = '{"role": "tool", "content": "{\\"wait\\": \\"The current function is being executed.\\"}"}'
NOTHING = '{"role": "tool", "content": "{\\"wait\\": \\"No new results.\\"}"}'
DIFF = {
    "id": "fs-07",
    "func_name": "diff",
    "params": {"first": "spring.txt", "second": "spring_fixed.txt"},
}
DIFF_LINE = (
    '{"role": "tool", "id": "fs-07", "function name": "diff(first=\'spring.txt\', second=\'spring_fixed.txt\')", '
    '"response": "{\\"only_in_first\\": [], \\"only_in_second\\": [\\"Leif Aasen\\"]}"}'
)
TOUCH = {"id": "fs-07", "func_name": "touch", "params": {"file": "new.txt"}}
TOUCH_LINE = '{"role": "tool", "id": "fs-07", "function name": "touch(file=\'new.txt\')", "response": "None"}'


def talk(regime: Regime, *texts: str) -> list[str]:
    """Return the environment's answers to messages on the text surface."""
    environment, speech = Environment(PAIR, regime, 0), TextSpeech(PAIR)
    answers = []
    for text in texts:
        environment.begin_round()
        steps = [take(environment, action) for action in speech.read(AIMessage(text))]
        (reply,) = speech.reply(steps, environment.due())
        assert isinstance(reply, HumanMessage)
        answers.append(str(reply.text))
    return answers


def test_sync_results_come_without_a_placeholder() -> None:
    """At delay 0 the answer is the result alone; None is the text None."""
    assert talk(Regime.SYNC, json.dumps(DIFF), json.dumps(TOUCH)) == [DIFF_LINE, TOUCH_LINE]


def test_the_placeholder_stands_before_the_results_that_are_due() -> None:
    """One user message a turn, a line for each entry."""
    answers = talk(
        Regime.FIXED1, json.dumps(DIFF), json.dumps(TOUCH), '{"content": "hm"}', '{"content": "hm"}'
    )
    assert answers == [WAIT, f"{WAIT}\n{DIFF_LINE}", TOUCH_LINE, NOTHING]


def test_a_malformed_turn_passes_and_is_answered_at_once() -> None:
    """The error stands first; results that are due come with it."""
    _, answer = talk(Regime.FIXED1, json.dumps(DIFF), "what?")
    error, line = answer.splitlines()
    assert json.loads(json.loads(error)["content"]) == {
        "error": "The response holds no JSON object."
    }
    assert line == DIFF_LINE


def test_the_opening_of_the_text_surface() -> None:
    """Contract with the API list, then the tasks; no state, no tool twice, no tool of other tasks."""
    system, tasks = TextSpeech(PAIR).opening()
    assert isinstance(system, SystemMessage)
    listed = json.loads(str(system.text).split("Functions:\n")[1])
    names = [tool["name"] for tool in listed]
    assert sorted(names) == sorted(set(PAIR.sub_tasks[0].tools) | set(PAIR.sub_tasks[1].tools))
    assert '"func_name"' in str(system.text)
    assert '{"content": "ALL COMPLETED"}' in str(system.text)
    assert "Leif Aasen" not in str(system.text) + str(tasks.text)
    assert str(tasks.text).splitlines() == [
        f"{{id:'{t.id}', question:'{t.query}'}}" for t in PAIR.sub_tasks
    ]


def test_shared_tools_are_listed_once() -> None:
    """The API list is a union."""
    system, _ = TextSpeech(compose("fs-01", "fs-05")).opening()
    names = [tool["name"] for tool in json.loads(str(system.text).split("Functions:\n")[1])]
    assert len(names) == len(set(names))


def test_an_example_is_part_of_the_system_prompt() -> None:
    """The few-shot arm changes nothing else."""
    with_example, plain = (
        TextSpeech(PAIR, example="Once upon").opening(),
        TextSpeech(PAIR).opening(),
    )
    assert "Once upon" in str(with_example[0].text)
    assert with_example[1] == plain[1]


def native_talk(regime: Regime, *messages: AIMessage, parallel: bool = False) -> list[list[object]]:
    """Return the environment's answers to messages on the native surface."""
    environment, speech = Environment(PAIR, regime, 0), NativeSpeech(PAIR, parallel=parallel)
    answers = []
    for message in messages:
        environment.begin_round()
        steps = [take(environment, action) for action in speech.read(message)]
        answers.append([*speech.reply(steps, environment.due())])
    return answers


def call(call_id: str, task_id: str, tool: str, **arguments: str) -> dict[str, object]:
    """One native call."""
    return {"name": tool, "args": {"task_id": task_id, **arguments}, "id": call_id}


def test_native_calls_are_answered_at_once_and_results_follow() -> None:
    """The tool message holds the place; the result comes in a user message that names the call."""
    first, second = native_talk(
        Regime.FIXED1,
        AIMessage("", tool_calls=[call("a", "fs-07", "touch", file="new.txt")]),
        AIMessage("hm"),
    )
    assert first == [
        ToolMessage('{"wait": "The current function is being executed."}', tool_call_id="a")
    ]
    line = TOUCH_LINE.replace('"id": "fs-07", ', '"id": "fs-07", "call_id": "a", ')
    assert second == [HumanMessage(line)]


def test_native_sync_results_are_the_tool_message() -> None:
    """At delay 0 nothing is shown twice."""
    (answer,) = native_talk(
        Regime.SYNC, AIMessage("", tool_calls=[call("a", "fs-07", "touch", file="new.txt")])
    )
    assert answer == [ToolMessage("None", tool_call_id="a")]


def test_every_parallel_call_has_its_own_answer() -> None:
    """Calls and answers stay in order, an unreadable one included."""
    calls = [
        call("a", "fs-07", "touch", file="x"),
        call("b", "nowhere", "touch"),
        call("c", "tb-07", "get_watchlist"),
    ]
    (answer,) = native_talk(Regime.SYNC, AIMessage("", tool_calls=calls), parallel=True)
    assert [(m.tool_call_id, m.status) for m in answer if isinstance(m, ToolMessage)] == [
        ("a", "success"),
        ("b", "error"),
        ("c", "success"),
    ]


def test_native_tools_take_the_task_argument() -> None:
    """Every tool names its task by an enum, and keeps its own arguments."""
    for tool in native_tools(PAIR):
        parameters = tool["function"]["parameters"]
        assert parameters["properties"]["task_id"]["enum"] == ["fs-07", "tb-07"]
        assert parameters["required"][0] == "task_id"


@pytest.mark.parametrize("regime", list(Regime))
def test_an_idle_turn_is_always_answered(regime: Regime) -> None:
    """Two assistant messages never follow each other."""
    assert talk(regime, '{"content": "hm"}') == [NOTHING]
    assert native_talk(regime, AIMessage("hm")) == [[HumanMessage(NOTHING)]]
