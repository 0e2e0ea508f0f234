"""Premature: calls that rest on results which the model has not seen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.config import GuardConfig, Siblings
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT, Reject
from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.errors import CallerError, DeclarationError
from asyncguard.guards import enabled, premature
from tests.core.builders import Scene, pure, rejection

SEARCH = pure("search", city="string")
BOOK = ToolSpec(name="book")
"""It may take from any tool."""
PAY = ToolSpec(name="pay", takes_from=("book",))
NOTE = ToolSpec(name="note", takes_from=())
TOOLS = (SEARCH, BOOK, PAY, NOTE)


def scene(*more: ToolSpec, **config: Any) -> Scene:
    """Two tasks and four tools."""
    return Scene(*TOOLS, *more, config=GuardConfig(**config))


def test_a_plausible_guess_is_refused_too() -> None:
    """The value stands in the messages, the result it should come from was not told; what to do is said."""
    found = scene()
    found.board.evidence.add_common("Book flight F1, or whatever is cheapest.")
    key = found.start("search", {"city": "Rome"})
    verdict = rejection(found.judge(premature.judge, "book", {"flight": "F1"}), "premature")
    assert verdict.on == (key,)
    assert "search#1" in verdict.reason


@pytest.mark.parametrize("end", [ev.Outcome.DONE, ev.Outcome.FAILED, ev.Outcome.IN_DOUBT])
def test_a_result_that_is_there_but_untold_is_awaited(end: ev.Outcome) -> None:
    """Results held back, or found after a restart, are unknown to the model; told, they are not."""
    found = scene()
    key = found.start("search")
    found.end(key, end)
    early = found.propose("book")
    assert rejection(premature.judge(early, found.board), "premature").on == (key,)
    found.apply(ev.CallRejected, key=early.call.key, guard="premature", reason="r", on=(key,))
    found.apply(ev.CallsDelivered, keys=(key,))
    assert found.judge(premature.judge, "book") == ADMIT


def test_a_doubt_that_ended_is_awaited_again() -> None:
    """The model knows the doubt and not how it ended."""
    found = scene()
    key = found.start("search")
    found.end(key, ev.Outcome.IN_DOUBT)
    found.apply(ev.CallsDelivered, keys=(key,))
    found.end(key)
    assert rejection(found.judge(premature.judge, "book"), "premature").on == (key,)


@pytest.mark.parametrize("state", ["rejected", "squashed", "other task", "told"])
def test_what_has_no_result_to_tell_is_not_awaited(state: str) -> None:
    """Refused and squashed calls, another task's, and told ones."""
    found = scene()
    if state == "rejected":
        found.reject("search")
    elif state == "squashed":
        key = found.defer("search", ())
        found.apply(ev.CallSquashed, key=key, reason="no")
    elif state == "other task":
        found.start("search", task="t2")
    else:
        found.finished("search")
    assert found.judge(premature.judge, "book") == ADMIT


@pytest.mark.parametrize("state", ["deferred", "held"])
def test_calls_that_did_not_run_yet_are_awaited(state: str) -> None:
    """Their results are as unknown as that of a running call."""
    found = scene()
    other = found.start("search", task="t2")
    if state == "deferred":
        key = found.defer("search", (other,))
    else:
        key = found.propose("search").call.key
        found.apply(ev.CallHeld, key=key, guard="approval", reason="Ask.")
    assert rejection(found.judge(premature.judge, "book"), "premature").on == (key,)


@pytest.mark.parametrize(("tool", "refused"), [("note", False), ("pay", False), ("book", True)])
def test_takes_from_leaves_out(tool: str, refused: bool) -> None:
    """``()`` rests on nothing, ``("book",)`` not on a search, ``None`` on anything."""
    found = scene()
    found.start("search")
    assert isinstance(found.judge(premature.judge, tool), Reject) is refused


def test_takes_from_names_its_source() -> None:
    """A payment rests on the booking: the search is not awaited, the booking is."""
    found = scene()
    found.start("search")
    key = found.start("book")
    assert rejection(found.judge(premature.judge, "pay"), "premature").on == (key,)


def test_a_refused_source_stands_for_what_it_waits_for() -> None:
    """Search pending, book refused and told, pay: the booking was never made, so its number is a guess."""
    found = scene()
    key = found.start("search")
    found.reject("book", guard="premature", on=(key,))
    assert rejection(found.judge(premature.judge, "pay"), "premature").on == (key,)
    found.end(key)
    found.apply(ev.CallsDelivered, keys=(key,))
    assert found.judge(premature.judge, "pay") == ADMIT


def test_an_operand_reference_is_no_guess() -> None:
    """The named call is left out, others are awaited all the same; the reason offers what is allowed."""
    found = scene()
    found.start("search", {"city": "Rome"})
    by_name = {"city": {"from_call": "search#1", "pointer": "/city"}}
    named = found.propose("search", by_name)
    assert premature.judge(named, found.board) == ADMIT
    other = found.start("note")
    verdict = rejection(found.judge(premature.judge, "search", by_name), "premature")
    assert verdict.on == (named.call.key, other)
    assert "by reference" in verdict.reason
    effect = rejection(found.judge(premature.judge, "book"), "premature")
    assert "by reference" not in effect.reason


def test_a_chain_of_references_is_no_guess() -> None:
    """The call at its end names the first one through the second."""
    found = scene(ToolSpec(name="count"))
    first = {"city": {"from_call": "search#1", "pointer": "/city"}}
    second = {"text": {"from_call": "search#2", "pointer": "/text"}}
    chain = [("search", {}), ("search", first), ("count", second), ("count", {"text": "guess"})]
    assert judge_message(found, *chain) == [False, False, False, True]


def test_a_call_is_judged_once() -> None:
    """At its release or after an approval older calls may be open; the model's knowledge is that of its message."""
    found = scene()
    other = found.start("search", task="t2")
    deferred = found.defer("book", (other,))
    held = found.propose("book").call.key
    found.apply(ev.CallHeld, key=held, guard="approval", reason="Ask.")
    found.start("search")
    assert premature.judge(found.again(deferred), found.board) == ADMIT
    assert premature.judge(found.again(held, approved=True), found.board) == ADMIT


# -- one message -----------------------------------------------------------------------------------


def judge_message(
    found: Scene, *calls: tuple[str, dict[str, Any]], message: str = "m"
) -> list[bool]:
    """Propose the calls of one message, judge them in order as a run does; True for the refused."""
    proposals = [found.propose(tool, given, message=message) for tool, given in calls]
    refused = []
    for proposal in proposals:
        verdict = premature.judge(proposal, found.board)
        key = proposal.call.key
        if isinstance(verdict, Reject):
            found.apply(
                ev.CallRejected, key=key, guard="premature", reason=verdict.reason, on=verdict.on
            )
        else:
            found.apply(ev.CallAdmitted, key=key)
            found.run(key)
        refused.append(isinstance(verdict, Reject))
    return refused


def tell_all(found: Scene) -> None:
    """End the running calls and tell the model every end."""
    for record in list(found.ledger.calls()):
        if record.open:
            found.end(record.key)
    found.apply(
        ev.CallsDelivered, keys=tuple(r.key for r in found.ledger.calls() if not r.delivered)
    )


def test_declared_siblings_are_refused_and_their_dependants_with_them() -> None:
    """[book, pay, pay]: both payments rest on the booking; a note and a second search do not."""
    calls = [("search", {}), ("search", {"city": "Rome"}), ("note", {}), ("book", {}), ("pay", {})]
    assert judge_message(scene(siblings="declared"), *calls) == [False, False, False, False, True]


def test_a_refused_call_takes_its_younger_dependants_with_it() -> None:
    """The second search stands after a refused booking, which it may rest on; it waits for the first search."""
    found = scene(ToolSpec(name="look", takes_from=("book",)))
    calls = [("search", {}), ("book", {}), ("search", {"city": "Rome"}), ("look", {})]
    assert judge_message(found, *calls) == [False, True, True, True]
    first, *refused = found.ledger.of_message("m")
    assert {record.blocked_by for record in refused} == {(first.key,)}


def test_what_must_not_overtake_a_refused_call_goes_with_it() -> None:
    """The engine is started after its fault was cleared, whatever that call returns; the radio is another thing."""
    car = {"reads": (), "takes_from": ()}
    found = scene(
        ToolSpec(name="clear", reads=(), writes=("engine",), takes_from=("search",)),
        ToolSpec(name="start", writes=("engine",), **car),
        ToolSpec(name="radio", writes=("radio",), **car),
    )
    calls = [("search", {}), ("clear", {"fault": "F1"}), ("start", {}), ("radio", {})]
    assert judge_message(found, *calls) == [False, True, True, False]
    tell_all(found)
    again = [("clear", {"fault": "F2"}), ("start", {})]
    assert judge_message(found, *again, message="again") == [False, False]


@pytest.mark.parametrize("guard", ["clarification", "arguments", "scope", "duplicate"])
def test_an_effect_does_not_overtake_a_refused_one_on_its_resource(guard: str) -> None:
    """[move, close] of one account; reads, other accounts and undeclared tools are left alone."""
    car = {"reads": (), "takes_from": ()}
    found = scene(
        ToolSpec(name="move", writes=("account:{account}",), **car),
        ToolSpec(name="close", writes=("account:{account}",), **car),
        ToolSpec(name="read", effect="pure", reads=("account:{account}",), takes_from=()),
        ToolSpec(name="mail", takes_from=()),
    )
    move = found.propose("move", {"account": "1"}, message="m").call
    found.apply(ev.CallRejected, key=move.key, guard=guard, reason="No.", on=())
    rest = [("close", {"account": "1"}), ("close", {"account": "2"}), ("read", {"account": "1"})]
    refused = judge_message(found, *rest, ("mail", {"account": "1"}))
    assert refused == [guard != "duplicate", False, False, False]
    assert judge_message(found, ("close", {"account": "1"}), message="n") == [False]


def test_calls_of_one_tool_are_no_source_for_each_other() -> None:
    """A batch of one tool is unrefused, unless its declaration names the tool itself."""
    assert judge_message(scene(), ("book", {"n": 1}), ("book", {"n": 2})) == [False, False]
    chain = ToolSpec(name="next_page", takes_from=("next_page",))
    assert judge_message(scene(chain), ("next_page", {}), ("next_page", {"at": 2})) == [False, True]


def test_with_one_task_undeclared_siblings_are_left_alone() -> None:
    """As without guards; what is declared counts."""
    for tasks, refused in ((("t1",), False), (("t1", "t2"), True)):
        found = Scene(*TOOLS, tasks=tasks)
        assert judge_message(found, ("search", {}), ("book", {})) == [False, refused]
        assert judge_message(found, ("pay", {}), ("book", {}), ("pay", {}), message="n")[2]


def test_other_tasks_are_no_siblings() -> None:
    """One message may begin each task."""
    found = scene()
    for tool, task in (("search", "t1"), ("book", "t2")):
        proposal = found.propose(tool, task=task, message="m")
        assert premature.judge(proposal, found.board) == ADMIT


@pytest.mark.parametrize(
    ("siblings", "first", "again"),
    [("declared", [0, 0, 0], None), ("once", [0, 1, 1], [0, 0]), ("every", [0, 1, 1], [0, 1])],
)
def test_the_rule_for_undeclared_siblings(
    siblings: str, first: list[int], again: list[int] | None
) -> None:
    """The batch passes, passes if it is repeated unchanged, or goes on tool by tool."""
    found = scene(siblings=siblings)
    batch = [("search", {}), ("book", {"n": 1}), ("look", {"n": 2})]
    assert judge_message(found, *batch) == first
    if again is not None:
        tell_all(found)
        assert judge_message(found, *batch[1:], message="again") == again


def test_only_an_unchanged_call_counts_as_repeated() -> None:
    """Another value is another guess; so is a call that was refused for a call of an earlier message."""
    found = scene()
    assert judge_message(found, ("search", {}), ("book", {"n": 1})) == [False, True]
    tell_all(found)
    assert judge_message(found, ("search", {}), ("book", {"n": 2}), message="n") == [False, True]
    assert judge_message(found, ("look", {"n": 1}), message="o") == [True]
    tell_all(found)
    assert judge_message(found, ("search", {}), ("look", {"n": 1}), message="p") == [False, True]


def test_siblings_take_a_name_or_are_refused() -> None:
    """Names become members; others are listed."""
    assert GuardConfig(siblings="every").siblings is Siblings.EVERY  # type: ignore[arg-type]
    with pytest.raises(CallerError, match="siblings"):
        GuardConfig(siblings="never")  # type: ignore[arg-type]


# -- around it -------------------------------------------------------------------------------------


def test_a_read_beside_external_work_may_be_asked_for_by_the_user() -> None:
    """An order runs for days; the user's next message may ask for something else. Effects wait."""
    found = scene(ToolSpec(name="order", mode=Mode.EXTERNAL))
    found.start("order")
    early = found.propose("search")
    assert rejection(premature.judge(early, found.board), "premature")
    found.apply(ev.CallRejected, key=early.call.key, guard="premature", reason="r")
    found.apply(ev.RunStarted, run="r2", epoch="e1", said=True)
    assert found.judge(premature.judge, "search") == ADMIT
    assert rejection(found.judge(premature.judge, "book"), "premature")


def test_early_calls_count_once_for_each_awaited_message() -> None:
    """The limit of rejections is for a model that learns nothing, and it was told nothing yet."""
    found = scene()
    key = found.start("search")
    for _ in range(20):
        found.reject("book", guard="premature", on=(key,))
    assert found.ledger.task("t1").rejections == 1
    found.reject("book", guard="premature", on=(found.start("search"),))
    found.reject("book", guard="grounding", on=(key,))
    found.reject("book", guard="premature")
    assert found.ledger.task("t1").rejections == 4


@pytest.mark.parametrize("given_value", ["search", 7, ("search", 7)])
def test_takes_from_is_a_list_of_names(given_value: Any) -> None:
    """A single name is a slip that would be read letter by letter."""
    with pytest.raises(DeclarationError, match="takes_from"):
        ToolSpec(name="book", takes_from=given_value)


@pytest.mark.parametrize("switch", ["premature", "ledger"])
def test_the_switch(switch: str) -> None:
    """Off, or without the ledger, early calls pass."""
    for on in (True, False):
        config = GuardConfig.none(premature=True, ledger=True).with_switches({switch: on})
        found = Scene(*TOOLS, config=config)
        found.start("search")
        verdict = found.admit(found.propose("book"), enabled(config))
        assert (verdict == ADMIT) is not on


tools = st.sampled_from(["search", "book", "pay", "note", "think"])
messages = st.lists(
    st.tuples(
        st.lists(st.tuples(tools, st.sampled_from(["t1", "t2"])), min_size=1, max_size=4),
        st.lists(st.integers(0, 3), max_size=3),
    ),
    max_size=6,
)


@given(messages)
def test_no_call_is_issued_before_what_it_may_rest_on_was_told(
    program: list[tuple[list[tuple[str, str]], list[int]]],
) -> None:
    """Whatever is proposed, and whenever results come: no possible source in an earlier message is untold."""
    found = scene(ToolSpec(name="think", effect=EffectClass.PURE, takes_from=("search", "pay")))
    for number, (calls, told) in enumerate(program):
        proposals = [
            found.propose(tool, {"n": number}, task=task, message=f"m{number}")
            for tool, task in calls
        ]
        for proposal in proposals:
            untold = [
                other.call.tool
                for other in found.ledger.calls()
                if other.call.task == proposal.call.task
                and other.call.message_id != f"m{number}"
                and other.state.value != "rejected"
                and not other.delivered
            ]
            sources = found.board.spec(proposal.call.tool).takes_from
            verdict = premature.judge(proposal, found.board)
            if isinstance(verdict, Reject):
                found.apply(
                    ev.CallRejected, key=proposal.call.key, guard="g", reason="r", on=verdict.on
                )
            else:
                assert not [tool for tool in untold if sources is None or tool in sources]
                found.apply(ev.CallAdmitted, key=proposal.call.key)
                found.run(proposal.call.key)
        running = [r.key for r in found.ledger.calls() if r.open]
        for choice in told:
            if running:
                key = running.pop(choice % len(running))
                found.end(key)
                if choice:
                    found.apply(ev.CallsDelivered, keys=(key,))
