"""Replay: recorded conversations are read, played under guards in both front ends, and counted."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages import messages_to_dict as to_dicts
from langsmith import tracing_context
from langsmith.utils import tracing_is_enabled

from asyncguard import Details, GuardConfig, Limits, ToolSpec
from asyncguard.core import events as ev
from asyncguard.core.calls import Call
from asyncguard.core.footprints import Footprint
from asyncguard.runtime.executors.port import Job
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.replay.conversations import (
    Conversation,
    RecordedCall,
    Said,
    read_conversations,
)
from asyncguard_benchmark.harness.replay.knowledge import Need, literals_of, need_of, needs_of
from asyncguard_benchmark.harness.replay.play import (
    Setting,
    _out_of_order,
    _RecordedExecutor,
    play,
)
from asyncguard_benchmark.harness.replay.speaker import (
    MOST_TRIES,
    WAITING,
    Attempt,
    Book,
    Lane,
    Speaker,
)
from tests.support.examples import examples

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = EXAMPLES / "recorded_runs.jsonl"
TOOLS = EXAMPLES / "recorded_tools.json"
PLAYERS = ["graph", "middleware"]


def conversations() -> list[Conversation]:
    """The shipped examples, one in each form."""
    return [each for each in read_conversations(RUNS) if isinstance(each, Conversation)]


def setting(player: str = "graph", **changes: Any) -> Setting:
    """Settings with the tools of the examples."""
    tools = {each["function"]["name"]: each["function"] for each in json.loads(TOOLS.read_text())}
    return Setting(**{"player": player, "tools": tools, **changes})


def conversation(*calls: RecordedCall, user: str = "Go on.") -> Conversation:
    """A conversation with one call a message."""
    steps = [Said(text="", calls=(call,)) for call in calls]
    return Conversation(source="made", items=(user, *steps, Said(text="Done.")))


# -- reading -------------------------------------------------------


def call(**ids: str) -> dict[str, Any]:
    """A call in the form of OpenAI."""
    return {**ids, "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}


ASKED = {"role": "user", "content": "Look at x."}
ANSWER = {"role": "tool", "content": "seen"}
OPENAI = [
    ASKED,
    {"role": "assistant", "tool_calls": [call(id="1")]},
    {**ANSWER, "tool_call_id": "1"},
]
CALLS: list[Any] = [{"name": "look", "args": {"at": "x"}, "id": "1", "type": "tool_call"}]
LANGCHAIN = [
    HumanMessage("Look at x."),
    AIMessage("", tool_calls=CALLS),
    ToolMessage("seen", tool_call_id="1"),
]
CHUNKS = [LANGCHAIN[0], AIMessageChunk("", tool_calls=CALLS), LANGCHAIN[2]]


@pytest.mark.parametrize(
    "recorded",
    [
        OPENAI,
        {"messages": OPENAI, "reward": 1.0},
        [ASKED, {"role": "assistant", "content": None, "tool_calls": [call()]}, ANSWER],
        to_dicts(LANGCHAIN),
        {"messages": dumpd(LANGCHAIN)},
        dumpd(CHUNKS),
        to_dicts(CHUNKS),
    ],
    ids=["openai", "object", "no ids", "to_dict", "dumpd", "dumpd chunk", "to_dict chunk"],
)
def test_all_forms_say_the_same(recorded: Any, tmp_path: Path) -> None:
    """A conversation is read alike in OpenAI's form and LangChain's, with ids or without."""
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(recorded) + "\n")
    (read,) = read_conversations(path)
    assert isinstance(read, Conversation)
    seen = RecordedCall(tool="look", arguments={"at": "x"}, answer="seen")
    assert read.items == ("Look at x.", Said(text="", calls=(seen,)))


def test_answers_find_their_calls_by_id(tmp_path: Path) -> None:
    """Two calls of a message may be answered in another order; without ids, the order counts."""
    path = tmp_path / "runs.jsonl"
    for ids, answers in ((("1", "2"), ["b", "a"]), (("", ""), ["a", "b"])):
        told = [
            {"role": "tool", "content": "a", "tool_call_id": ids[1]},
            {"role": "tool", "content": "b", "tool_call_id": ids[0]},
        ]
        made = {"role": "assistant", "tool_calls": [call(id=each) for each in ids]}
        path.write_text(json.dumps([ASKED, made, *told]))
        (read,) = read_conversations(path)
        assert isinstance(read, Conversation)
        assert [each.answer for each in read.steps[0].calls] == answers


def test_a_json_file_holds_one_or_many(tmp_path: Path) -> None:
    """One conversation over many lines, or a list of them."""
    for value, expected in ((OPENAI, 1), ([OPENAI, {"messages": OPENAI}], 2)):
        path = tmp_path / "runs.json"
        path.write_text(json.dumps(value, indent=2))
        assert len([e for e in read_conversations(path) if isinstance(e, Conversation)]) == expected


SECRET = "my secret"


@pytest.mark.parametrize(
    ("line", "complaint", "kept"),
    [
        ('[{"role": "user", "content": "my se', "cut off", 0),
        ("7", "not a conversation", 0),
        ("{}", "not a conversation", 0),
        ("[]", "not a conversation", 0),
        ("[[1]]", "message 1: is not a message", 0),
        ('["my secret"]', "message 1: is not a message", 0),
        (json.dumps([ASKED, {"role": "my secret"}]), "message 2: is not a message", 1),
        (json.dumps([{"role": "assistant", "content": SECRET}]), "no message of a user", 0),
        (json.dumps(OPENAI[1:]), "a call before the first message", 0),
        (json.dumps(OPENAI[:2]), "message 2: 1 of 1 calls have no answer", 1),
        (json.dumps([ASKED, ANSWER]), "message 2: answers no call", 1),
        (json.dumps([*OPENAI, OPENAI[2]]), "message 4: answers no call", 2),
        (json.dumps([*OPENAI[:2], {**ANSWER, "tool_call_id": SECRET}]), "other ids", 1),
        (json.dumps([ASKED, {"role": "assistant", "tool_calls": 7}]), "not a list", 1),
        (json.dumps([ASKED, {"role": "assistant", "tool_calls": [{}]}]), "without a name", 1),
        (json.dumps(OPENAI).replace('{\\"at\\": \\"x\\"}', "my secret"), "not a JSON object", 1),
    ],
)
def test_what_cannot_be_read_is_named(line: str, complaint: str, kept: int, tmp_path: Path) -> None:
    """File, line and message are named and nothing is quoted; what comes before can be played."""
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{json.dumps(OPENAI)}\n\n{line}\n{json.dumps(OPENAI)}")
    first, *middle, last = read_conversations(path)
    assert isinstance(first, Conversation)
    assert isinstance(last, Conversation)
    problem = middle.pop()
    assert isinstance(problem, DataError)
    assert str(problem).startswith(f"{path}:3")
    assert complaint in str(problem)
    assert SECRET not in str(problem)
    assert [len(e.items) for e in middle if isinstance(e, Conversation)] == [kept] * bool(kept)


# -- what could be known -------------------------------------------


@pytest.mark.parametrize(
    ("value", "known", "pending", "need"),
    [
        ("R-204", "", '[{"room": "R-204"}]', Need.NEEDS),
        ("R-204", "take R-204", '[{"room": "R-204"}]', Need.KNOWN),
        ("R-204", "", "", Need.NOWHERE),
        ("2026-05-26", "on May 26th", "", Need.KNOWN),
        ("2026-05-26", "on 26 May", "", Need.KNOWN),
        ("2026-05-26", "on May 27", '{"date": "2026-05-26"}', Need.NEEDS),
        ("2026-05-26", "2026 05 26", "", Need.NOWHERE),
        (1250, "for $1,250", "", Need.KNOWN),
        ("158 + 141", "158", "141", Need.NEEDS),
        (True, "", "", Need.KNOWN),
        (None, "", "", Need.KNOWN),
        ([{"name": "Ada"}], "", "Ada Brandt", Need.NEEDS),
        (
            "I think that this is a long note which quotes nothing at all from 24 results",
            "",
            "24",
            Need.KNOWN,
        ),
    ],
)
def test_values_are_looked_up_as_people_write_them(
    value: Any, known: str, pending: str, need: Need
) -> None:
    """A value is known, needs the pending result, or stands in neither."""
    assert need_of({"value": value}, [known], [pending]) is need


def test_literals_of_a_schema_are_known() -> None:
    """Enums and defaults need no source."""
    schema = {"properties": {"cabin": {"enum": ["basic", "business"]}, "n": {"default": 3}}}
    assert need_of({"cabin": "business", "n": 3}, [literals_of(schema)], ["business"]) is Need.KNOWN


def test_results_of_earlier_steps_are_known() -> None:
    """Only the result of the step just before is pending; older ones, and arguments, are known."""
    talk = conversation(
        RecordedCall(tool="t", arguments={"a": "first"}, answer="second deep"),
        RecordedCall(tool="t", arguments={"a": "second"}, answer="third"),
        RecordedCall(tool="t", arguments={"a": "second", "b": "deep"}, answer=""),
        user="The first.",
    )
    assert needs_of(talk, "", {}) == [(Need.KNOWN,), (Need.NEEDS,), (Need.KNOWN,)]


# -- playing -------------------------------------------------------


@pytest.mark.parametrize("player", PLAYERS)
def test_alone_all_is_as_recorded(player: str) -> None:
    """Each call is made with its arguments in its order, in as many turns, and no guard speaks."""
    for each in conversations():
        outcome = play([each], setting(player))
        assert outcome.complete
        assert outcome.ended == "complete"
        assert (outcome.other_arguments, outcome.other_order, outcome.needless) == (0, 0, 0)
        assert outcome.turns == sum(isinstance(item, Said) for item in each.items)
        assert outcome.guards == {}


@pytest.mark.parametrize("player", PLAYERS)
def test_together_all_is_as_recorded(player: str) -> None:
    """As tasks of one run nothing is refused either; the task without a call is named once."""
    outcome = play(conversations(), setting(player))
    assert outcome.complete
    assert (outcome.made, outcome.other_arguments, outcome.other_order) == (10, 0, 0)
    assert outcome.guards == {"completion": {"nudge": 1}}
    assert outcome.nudges == 1
    assert outcome.needless > 0


@pytest.mark.parametrize("player", PLAYERS)
def test_a_recorded_argument_may_have_the_name_of_the_task_argument(player: str) -> None:
    """Its value is the tool's own, also where no schema tells of it."""
    runs = [
        conversation(
            RecordedCall(tool="find", arguments={"task_id": f"T{n}", "at": n}, answer="seen")
        )
        for n in range(3)
    ]
    outcome = play(runs, setting(player, tools={}))
    assert outcome.complete
    assert (outcome.made, outcome.other_arguments) == (3, 0)


@pytest.mark.parametrize("player", PLAYERS)
def test_early_calls_are_refused_where_needed_and_made_again(player: str) -> None:
    """A call that needs the pending result is refused, then made as recorded; both passes reach others."""
    passes = [play(conversations(), setting(player), early) for early in (0, 1)]
    for outcome in passes:
        assert outcome.complete
        assert outcome.lost == outcome.other_arguments == outcome.other_order == 0
        assert {what for what in outcome.early if what.startswith("needs")} <= {
            "needs/effect/grounding"
        }
        refused = outcome.guards.get("grounding", {})
        assert set(refused) <= {"reject needs"}
        assert sum(refused.values()) == outcome.early.get("needs/effect/grounding", 0)
    assert sum(outcome.pairs["needs"] for outcome in passes) == 4
    assert sum(sum(outcome.early.values()) for outcome in passes) > 0


@pytest.mark.parametrize("player", PLAYERS)
def test_without_guards_early_calls_go_through(player: str) -> None:
    """The same calls reach their tools before the results that they need, and are counted."""
    config = GuardConfig.none(ledger=True, waiting=True, completion=True)
    outcome = play(conversations(), setting(player, config=config), 1)
    assert outcome.early["needs/effect/admitted"] > 0
    assert set(outcome.guards) <= {"completion"}


@pytest.mark.parametrize("player", PLAYERS)
def test_in_shadow_guards_speak_and_change_nothing(player: str) -> None:
    """Alone, a shadow run makes the calls of the record; its objections are counted as such."""
    wrong = conversation(RecordedCall(tool="check_stock", arguments={"thing": 1}, answer="4"))
    outcome = play([wrong], setting(player, config=GuardConfig(shadow=True)))
    assert outcome.complete
    assert outcome.guards == {"arguments": {"shadow reject": 1}}


@pytest.mark.parametrize("player", PLAYERS)
def test_a_call_that_never_passes_is_lost(player: str) -> None:
    """It is made as often as `MOST_TRIES` says, counted once, and the rest goes on."""
    wrong = RecordedCall(tool="check_stock", arguments={"item": 5}, answer="4")
    right = RecordedCall(tool="check_stock", arguments={"item": "toner"}, answer="4")
    outcome = play([conversation(wrong, right, user="Count toner.")], setting(player))
    assert (outcome.made, outcome.recorded, outcome.lost) == (1, 2, 1)
    assert not outcome.complete
    assert outcome.guards == {"arguments": {"reject in turn": MOST_TRIES}}


def test_calls_of_a_stopped_task_are_lost() -> None:
    """A task that the runtime stops is left, and what it did not make is counted."""
    wrong = RecordedCall(tool="check_stock", arguments={"item": 5}, answer="4")
    right = RecordedCall(tool="check_stock", arguments={"item": "toner"}, answer="4")
    config = GuardConfig(limits=Limits(max_rejections=1))
    together = [conversation(wrong, right), conversation(right, user="Count toner.")]
    outcome = play(together, setting(config=config))
    assert (outcome.made, outcome.recorded, outcome.lost) == (1, 3, 2)


@pytest.mark.parametrize("player", PLAYERS)
def test_what_is_held_is_approved(player: str) -> None:
    """A call that waits for a person is counted and made."""
    specs = [ToolSpec(name="order", approval=True)]
    outcome = play([conversations()[1]], setting(player, specs=specs))
    assert outcome.complete
    assert outcome.guards == {"approval": {"hold": 1}}


def test_what_is_recorded_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing that the user has switched on for real runs is off here."""
    seen: list[Any] = []
    say = Speaker.say
    monkeypatch.setattr(
        Speaker, "say", lambda self, said: (seen.append(tracing_is_enabled()), say(self, said))[1]
    )
    with tracing_context(enabled=True):
        play([conversations()[1]], setting())
    assert seen == [False] * 4


def speaker_of(*talks: Conversation) -> tuple[Speaker, Callable[..., None]]:
    """A fake model with a task for each conversation, and a function that tells it an event."""
    lanes = [
        Lane(f"task-{number}", talk, [[Need.KNOWN] for _ in talk.steps])
        for number, talk in enumerate(talks)
    ]
    speaker = Speaker(lanes=lanes, book=Book(), task_argument="task_id")

    def tell(event: ev.Event) -> None:
        speaker.book(Details(event=event, thread="", run=""))

    return speaker, tell


def said(speaker: Speaker, tell: Callable[..., None]) -> tuple[Any, ...]:
    """What the fake model says next: the task and the number of its call, or its text."""
    message = speaker.say([])
    if not message.tool_calls:
        return (message.text,)
    (made,) = message.tool_calls
    task, number = made["args"]["task_id"], made["args"]["n"]
    proposed = Call(
        key=f"{task}/{number}",
        call_id=made["id"] or "",
        message_id="",
        tool="t",
        arguments={},
        task=task,
        sequence=0,
        ordinal=0,
        footprint=Footprint(reads=None, writes=None),
        fingerprint="",
    )
    tell(ev.CallProposed(n=0, at=0.0, call=proposed))
    return task, number


NUMBERED = [
    conversation(*(RecordedCall(tool="t", arguments={"n": n}) for n in numbers))
    for numbers in ([0, 1], [2, 3])
]


def test_a_squashed_call_is_made_again_once_its_reason_is_told() -> None:
    """Until the model was told the end of the calls that the reason names, the task waits."""
    speaker, tell = speaker_of(*NUMBERED)
    assert [said(speaker, tell), said(speaker, tell)] == [("task-0", 0), ("task-1", 2)]
    tell(ev.CallSquashed(n=0, at=0.0, key="task-1/2", reason="it failed", on=("task-0/0",)))
    tell(ev.CallsDelivered(n=0, at=0.0, keys=("task-1/2",)))
    assert said(speaker, tell) == (WAITING,)
    tell(ev.CallsDelivered(n=0, at=0.0, keys=("task-0/0",)))
    assert [said(speaker, tell), said(speaker, tell)] == [("task-0", 1), ("task-1", 2)]


def test_tasks_take_turns() -> None:
    """A task whose result is there at once does not keep the others waiting."""
    speaker, tell = speaker_of(*NUMBERED)
    order = []
    for _ in range(4):
        task, number = said(speaker, tell)
        order.append(number)
        tell(ev.CallsDelivered(n=0, at=0.0, keys=(f"{task}/{number}",)))
    assert order == [0, 2, 1, 3]


@pytest.mark.parametrize("player", PLAYERS)
def test_the_model_is_told_what_was_recorded(player: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its system message and the answers of its tools are those of the record."""
    told: list[str] = []
    say = Speaker.say

    def listen(self: Speaker, messages: list[BaseMessage]) -> AIMessage:
        assert talk.system in messages[0].text
        told[:] = [each.text for each in messages if isinstance(each, ToolMessage)]
        return say(self, messages)

    monkeypatch.setattr(Speaker, "say", listen)
    talk = conversations()[0]
    assert "2026-03-02" in talk.system
    play([talk], setting(player))
    assert told == [call.answer for step in talk.steps for call in step.calls]


def test_other_arguments_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that reaches its tool with something else than recorded is a difference."""
    start = _RecordedExecutor.start

    def garbled(self: _RecordedExecutor, job: Job, done: Any) -> None:
        start(self, replace(job, arguments={}), done)

    monkeypatch.setattr(_RecordedExecutor, "start", garbled)
    assert play([conversations()[0]], setting()).other_arguments == 4


def test_calls_in_another_order_are_counted() -> None:
    """A call that runs twice, or after a later one of its task, is out of order."""

    def attempt(step: int, task: str = "a") -> Attempt:
        made = RecordedCall(tool="t", arguments={})
        return Attempt(task=task, step=step, number=0, call=made, need=None)

    assert _out_of_order([attempt(0), attempt(1), attempt(0, "b"), attempt(2)]) == 0
    assert _out_of_order([attempt(1), attempt(0), attempt(2)]) == 1
    assert _out_of_order([attempt(0), attempt(0)]) == 1


def test_the_same_seed_gives_the_same_counts() -> None:
    """Times are drawn from the seed alone."""
    assert play(conversations(), setting(), 1) == play(conversations(), setting(), 1)


_CALLS = st.builds(
    RecordedCall,
    tool=st.sampled_from(["read", "write"]),
    arguments=st.dictionaries(
        st.sampled_from("ab"), st.integers(0, 3) | st.sampled_from(["x", "y"])
    ),
    answer=st.sampled_from(["x", "1 y", "2"]),
)
_TALKS = st.lists(_CALLS, max_size=4).map(lambda calls: conversation(*calls, user="Take 0 or x."))


@settings(max_examples=examples(25), deadline=None)
@given(
    talks=st.lists(_TALKS, min_size=2, max_size=3),
    early=st.sampled_from([None, 0, 1]),
    player=st.sampled_from(PLAYERS),
)
def test_nothing_is_made_up_or_lost(
    talks: list[Conversation], early: int | None, player: str
) -> None:
    """Whatever is recorded and however early: each call is made once, with its own arguments."""
    outcome = play(talks, setting(player, tools={}), early)
    assert outcome.ended == "complete"
    assert (outcome.lost, outcome.other_arguments, outcome.other_order) == (0, 0, 0)
    assert outcome.made == outcome.recorded == sum(len(talk.steps) for talk in talks)


# -- the command ---------------------------------------------------


def replay(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run the command; return its status and what it printed."""
    status = main(["replay", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_command_plays_both_front_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Without further options each conversation is played alone, in both."""
    status, out, _ = replay(capsys, RUNS, "--json")
    said = json.loads(out)
    assert status == 0
    assert [row["player"] for row in said["rows"]] == PLAYERS
    for row in said["rows"]:
        assert row["counts"]["made"] == row["counts"]["recorded"] == 10
        assert row["guards"] == {}
    assert said["problems"] == []


def test_equal_complaints_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file of another form is complained of once, with its places counted; JSON has all of them."""
    path = tmp_path / "trace.jsonl"
    path.write_text("{}\n" * 64 + "[[1]]\n")
    status, out, err = replay(capsys, path, "--json")
    assert status == 1
    alike, other = err.splitlines()
    assert f"{path}:1: is not a conversation" in alike
    assert alike.endswith(f"(and 63 more, the last at {path}:64)")
    assert f"{path}:65: message 1: is not a message" in other
    assert len(json.loads(out)["problems"]) == 65


def test_the_tables_tell_guards_and_early_calls(capsys: pytest.CaptureFixture[str]) -> None:
    """One table of runs, one of guards, one of early calls by class and outcome."""
    status, out, _ = replay(capsys, RUNS, "--tools", TOOLS, "--interleave", "4", "--early")
    assert status == 0
    assert "rejected, needed" in out
    assert "needs" in out
    assert "6 recorded calls follow another one of their task: 2 known, 4 needs, 0 nowhere." in out


def test_shadow_is_a_switch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With it the call that breaks its schema is made, and the objection is counted as such."""
    tools = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"at": {"type": "integer"}}}
    tools.write_text(json.dumps([{"name": "look", "parameters": schema}]))
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(OPENAI))
    for switch, made in (((), 0), (("--shadow",), 1)):
        row = json.loads(replay(capsys, path, "--tools", tools, "--json", *switch)[1])["rows"][0]
        assert row["counts"]["made"] == made
        assert any(name.startswith("shadow") for name in row["guards"]["arguments"]) == bool(made)


def test_a_file_that_is_not_whole_is_played_and_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The exit status says that something was left out."""
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(OPENAI) + '\n[{"role": "us')
    status, out, err = replay(capsys, path, tmp_path / "none.jsonl", "--json")
    assert status == 1
    assert json.loads(out)["rows"][0]["counts"]["made"] == 1
    assert f"{path}:2: is cut off" in err
    assert "none.jsonl: cannot be read" in err


def test_counts_are_kept_without_a_word_and_taken_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A second run plays only what is missing, also after a cut-off line; no text is in the file."""
    out_file = tmp_path / "counts.jsonl"
    arguments = (RUNS, "--players", "graph", "--out", out_file, "--json")
    first = replay(capsys, *arguments)
    text = out_file.read_text()
    assert not any(word in text for word in ("Ada", "toner", "R-204", "example.org"))
    out_file.write_text(text[:-20])
    second = replay(capsys, *arguments)
    assert "3 of 4 episodes are in" in second[2]
    assert second[1] == first[1]
    assert out_file.read_text() == text
    assert "4 of 4 episodes are in" in replay(capsys, *arguments)[2]
    assert "are in" not in replay(capsys, *arguments, "--seed", "1")[2]
    out_file.write_text("{}\n" + text)
    status, _, err = replay(capsys, *arguments)
    assert status == 1
    assert "counts.jsonl:1: is not a replayed episode" in err


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"orders": {}}, "orders: is not among the tools"),
        ({"order": {"efect": "pure"}}, "order: ToolSpec has no 'efect'; the fields are effect,"),
        ({"order": {"probe": "find_room"}}, "'probe' cannot be replayed"),
        ({"order": {"effect": "none"}}, "use one of pure"),
        ({"order": {"mode": "external"}}, "external calls cannot be replayed"),
        ({"order": 7}, "must be an object"),
        ({"order": {"effect": "keyed", "key_argument": "key"}}, "has no argument 'key'"),
        ([], "must hold a JSON object"),
    ],
)
def test_wrong_declarations_are_named(
    declared: Any, complaint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """File, tool and field are named, and nothing is played."""
    path = tmp_path / "declared.json"
    path.write_text(json.dumps(declared))
    status, _, err = replay(capsys, RUNS, "--tools", TOOLS, "--declare", path)
    assert status == 1
    assert complaint in err


def test_declarations_are_heeded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is declared pure is counted as such."""
    path = tmp_path / "declared.json"
    names = ("find_contact", "check_stock")
    path.write_text(json.dumps({name: {"effect": "pure", "reads": []} for name in names}))
    asked = ("--declare", path, "--interleave", "4", "--early", "--json", "--players", "graph")
    early = json.loads(replay(capsys, RUNS, *asked)[1])["rows"][0]["early"]
    assert any(what.startswith("known/pure/") for what in early)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--early",), "--early needs --interleave 2"),
        (("--arms", ","), "--arms names no arm"),
        (("--arms", "sham"), "cannot be replayed"),
        (("--arms", "bold"), "there is no arm 'bold'"),
        (("--tools", "missing.json"), "missing.json: cannot be read"),
        (("--tools", str(RUNS)), "is cut off, or not JSON"),
        (("--system", "missing.md"), "missing.md: cannot be read"),
    ],
)
def test_a_wrong_replay_is_explained(
    arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what does not fit."""
    status, _, err = replay(capsys, RUNS, *arguments)
    assert status == 1
    assert complaint in err


def test_an_episode_that_breaks_ends_no_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """More tasks than a run takes: the error is named without its text, and the status says so."""
    path = tmp_path / "runs.jsonl"
    path.write_text((json.dumps([ASKED, {"role": "assistant", "content": "No."}]) + "\n") * 258)
    status, out, err = replay(capsys, path, "--interleave", "257", "--players", "graph", "--json")
    ended: Mapping[str, int] = json.loads(out)["rows"][0]["ended"]
    assert status == 1
    assert ended == {"broken by CallerError": 1, "complete": 1}
    assert "broken by CallerError" in err


@pytest.mark.parametrize("seconds", ["x", "2-1", "-1", "0-9999"])
def test_times_are_checked(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A range of seconds that makes no sense is a wrong command line."""
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(RUNS), f"--seconds={seconds}"])
    assert ended.value.code == 2
    assert "must be seconds as in 0.02-0.08" in capsys.readouterr().err
