import json

import hypothesis.strategies as st
import pytest
from hypothesis import given
from langchain_core.messages import AIMessage

from asyncguard_benchmark.harness.protocol.actions import (
    CallAction,
    Completed,
    Idle,
    Malformed,
    first_object,
    read_native,
    read_text,
)

IDS = ("fs-01", "tb-01")
CALL = '{"id": "fs-01", "func_name": "cat", "params": {"file": "a}b{.txt"}}'
READ = CallAction(task_id="fs-01", tool="cat", arguments={"file": "a}b{.txt"})


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I will read it now: {CALL} and then wait.",
        f"{{thinking}} {CALL}",
        f'{CALL} {{"note": "that was all"}}',
    ],
)
def test_the_first_balanced_object_counts(text: str) -> None:
    """Fences, prose, braces in strings and braces that are not JSON do not matter."""
    assert read_text(text, IDS) == READ


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("ALL COMPLETED", "no JSON"),
        ("[1, 2]", "no JSON"),
        (CALL[:-1], "lacks"),
        ("{'id': 'fs-01'}", "no JSON"),
        ('{"id": "fs-01", "params": {}}', "func_name"),
        ('{"id": "fs-01", "func_name": "cat"}', "params"),
        ('{"func_name": "cat", "params": {}}', "id"),
        ('{"id": "fs-02", "func_name": "cat", "params": {}}', "fs-02"),
        ('{"id": 1, "func_name": "cat", "params": {}}', "id"),
        ('{"id": ["fs-01"], "func_name": "cat", "params": {}}', "id"),
        ('{"id": "fs-01", "func_name": "cat", "params": []}', "params"),
        ('{"id": "fs-01", "func_name": 3, "params": {}}', "func_name"),
        ('{"id": "fs-01", "func_name": "cat", "params": {"x": NaN}}', "no JSON"),
        (f"{CALL}\n{CALL}", "one function"),
        (f'{{"content": "I wait."}}\n{CALL}', "not called"),
        (f'{{"content": "ALL COMPLETED"}} {CALL}', "not called"),
        (f"[{CALL}, {CALL}]", "one function"),
        ('{"content": 5}', "content"),
        ('{"a": ' * 10_000, "no JSON"),
        (
            '{"id": "fs-01", "func_name": "cat", "params": ' + '{"a": ' * 100 + "1" + "}" * 101,
            "deep",
        ),
    ],
)
def test_what_cannot_be_read_is_malformed(text: str, reason: str) -> None:
    """Each defect is reported, and none is taken for an action."""
    action = read_text(text, IDS)
    assert isinstance(action, Malformed)
    assert reason in action.reason


def test_the_end_and_idle_turns() -> None:
    """Only the exact words end a run; any other content lets a turn pass."""
    assert read_text('{"content": "ALL COMPLETED"}', IDS) == Completed()
    assert read_text('{"content": " ALL COMPLETED\\n"}', IDS) == Completed()
    assert read_text('{"content": "not ALL COMPLETED yet"}', IDS) == Idle()
    assert read_text('{"content": ""}', IDS) == Idle()


FINITE = (
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "params", "x"]), inner)
    ),
    max_leaves=8,
)


@given(st.text(alphabet='{}[]",: idparamsfunc_nacontent1\\n') | JSON.map(json.dumps))
def test_no_text_raises(text: str) -> None:
    """Any text of a model is read as an action, and as a call only if its task is known."""
    action = read_text(text, IDS)
    assert not isinstance(action, CallAction) or action.task_id in IDS


@given(
    st.text(alphabet="ab {", max_size=10), st.dictionaries(st.text(max_size=3), FINITE, max_size=3)
)
def test_an_object_is_found_wherever_it_starts(before: str, value: dict[str, object]) -> None:
    """Text before an object, open braces included, does not hide it."""
    written = json.dumps(value)
    assert first_object(f"{before}\n{written} rest") == (json.loads(written), " rest")


def native(*calls: tuple[str, dict[str, object]], text: str = "") -> AIMessage:
    """A message with these calls, numbered."""
    return AIMessage(
        text,
        tool_calls=[
            {"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(calls)
        ],
    )


def test_a_native_call_loses_its_task_argument() -> None:
    """The tool never sees which sub-task it works for."""
    message = native(("cat", {"task_id": "fs-01", "file": "a}b{.txt"}))
    expected = CallAction(task_id="fs-01", tool="cat", arguments={"file": "a}b{.txt"}, call_id="c0")
    assert read_native(message, IDS, parallel=False) == (expected,)


def test_two_native_calls_need_permission() -> None:
    """Without it neither is made and both are answered; with it both are made."""
    message = native(("ls", {"task_id": "fs-01"}), ("get_account", {"task_id": "tb-01"}))
    (refused,) = read_native(message, IDS, parallel=False)
    assert isinstance(refused, Malformed)
    assert refused.call_ids == ("c0", "c1")
    allowed = read_native(message, IDS, parallel=True)
    assert [action.task_id for action in allowed if isinstance(action, CallAction)] == [
        "fs-01",
        "tb-01",
    ]


@pytest.mark.parametrize(
    "args", [{}, {"task_id": "fs-02"}, {"task_id": None}, {"task_id": ["fs-01"]}]
)
def test_a_native_call_without_a_known_task_is_malformed(args: dict[str, object]) -> None:
    """The error answers the call's id."""
    (action,) = read_native(native(("ls", args)), IDS, parallel=False)
    assert isinstance(action, Malformed)
    assert action.call_ids == ("c0",)


def test_unreadable_native_arguments_are_malformed() -> None:
    """Arguments that the provider could not parse are answered, too."""
    message = AIMessage(
        "", invalid_tool_calls=[{"name": "ls", "args": "{", "id": "c9", "error": "broken"}]
    )
    (action,) = read_native(message, IDS, parallel=False)
    assert isinstance(action, Malformed)
    assert action.call_ids == ("c9",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALL COMPLETED", Completed()),
        ('{"content": "ALL COMPLETED"}', Completed()),
        ("Waiting.", Idle()),
        ("", Idle()),
    ],
)
def test_native_prose(text: str, expected: object) -> None:
    """Prose passes the turn unless it ends the run."""
    assert read_native(AIMessage(text), IDS, parallel=False) == (expected,)
