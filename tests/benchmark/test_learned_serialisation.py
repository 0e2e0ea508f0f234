import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark.harness.agents.speaking import Garbled
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.learned.notation import NotationError, compact, read_compact
from asyncguard_benchmark.learned.serialisation import conversation, decision

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OPENING = [
    SystemMessage("contract"),
    HumanMessage("{id:'dm-01', question:'Which quay?'}\n{id:'sm-02', question:'Mask it.'}"),
]
CALLED = AIMessage(
    "",
    tool_calls=[{"id": "call_1", "name": "find", "args": {"task_id": "sm-02", "name": "a b"}}],
)


@given(JSON)
def test_compact_notation_round_trip(value: object) -> None:
    """Every JSON value comes back from compact notation as it was."""
    assert read_compact(compact(value)) == value


@given(st.text())
def test_other_texts_are_refused_or_read_to_the_end(text: str) -> None:
    """Any text that cannot be read as a value raises `NotationError` and nothing else."""
    try:
        read_compact(text)
    except NotationError:
        return


@given(st.dictionaries(st.text(min_size=1), JSON, max_size=4))
def test_a_call_round_trip(arguments: dict[str, object]) -> None:
    """A call that the model says as it read one is that call."""
    said = AIMessage(
        "", tool_calls=[{"id": "1", "name": "find", "args": {**arguments, "task_id": "sm-02"}}]
    )
    segments, task_ids = conversation([*OPENING, said])
    wanted = {name: value for name, value in arguments.items() if name != "task_id"}
    assert decision(segments[-1].marks, segments[-1].text, task_ids) == (
        CallAction(task_id="sm-02", tool="find", arguments=wanted),
    )


def test_a_late_result_bears_task_and_tool() -> None:
    """A placeholder is a note of its task; the result that comes later names task and tool."""
    late = {"role": "tool", "id": "sm-02", "call_id": "call_1", "function name": "find(name='a b')"}
    segments, _ = conversation(
        [
            *OPENING,
            CALLED,
            ToolMessage('{"wait": "Be patient."}', tool_call_id="call_1"),
            HumanMessage(json.dumps({**late, "response": '{"x": ["1", 2]}'}) + "\nA word more."),
        ]
    )
    told = [(each.marks, each.text, each.own) for each in segments[2:]]
    assert told == [
        (("<call>", "<B>"), "find{name:a b}", True),
        (("<note>", "<B>"), "Be patient.", False),
        (("<result>", "<B>"), 'find={x:["1",2]}', False),
        (("<note>", "<?>"), "A word more.", False),
    ]


def test_a_refusal_is_a_note_and_no_result() -> None:
    """The words of a refusal reach the model, marked as something that is not a result."""
    refused = ToolMessage('{"error": "find#1 was not run."}', tool_call_id="call_1", status="error")
    segments, _ = conversation([*OPENING, CALLED, refused])
    assert (segments[-1].marks, segments[-1].text) == (("<note>", "<B>"), "find#1 was not run.")


@pytest.mark.parametrize(
    ("marks", "text", "meant"),
    [
        (["<done>"], "", Completed()),
        (["<say>"], "hm", Idle()),
        ([], "find{name:x}", Idle()),
        (["<call>", "<A>"], "find{name:x}", (CallAction(task_id="dm-01", tool="find", arguments={"name": "x"}),)),
        (["<call>", "<C>"], "find{}", (CallAction(task_id="C", tool="find", arguments={}),)),
    ],
)  # fmt: skip
def test_decisions(marks: list[str], text: str, meant: object) -> None:
    """The model's statements are taken as they are: a task that is not there stays one."""
    assert decision(marks, text, ["dm-01", "sm-02"]) == meant


@pytest.mark.parametrize("text", ["find{name:x", "find", "{name:x}", "find{name}", "find[1]"])
def test_a_broken_call_stays_broken(text: str) -> None:
    """What the model says wrongly is not mended."""
    assert isinstance(decision(["<call>", "<A>"], text, ["dm-01"]), Garbled)
