"""The ledger under random histories, legal and illegal, against the slow reading of its records."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, CallState, fingerprint
from asyncguard.core.event_codec import from_json, to_json
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import CALL_TRANSITIONS, Move, TaskState
from asyncguard.errors import IllegalTransitionError, UnknownCallError
from tests.core.builders import UNKNOWN, Scene, footprint
from tests.core.ledger_model import (
    check_counts,
    check_lookups,
    check_task_views,
    contents,
    is_open,
    keys,
)

TASKS = ("t1", "t2", "t3")
FOOTPRINTS = (
    UNKNOWN,
    footprint("a"),
    footprint("", "a"),
    footprint("b", "a*"),
    footprint(None, ""),
    footprint("ab"),
)
MOVES = list(Move)
OUTCOMES = {
    Move.SUCCEED: ev.Outcome.DONE,
    Move.FAIL: ev.Outcome.FAILED,
    Move.DOUBT: ev.Outcome.IN_DOUBT,
}
picks = st.integers(min_value=0, max_value=10_000)


class LedgerMachine(RuleBasedStateMachine):
    """Random histories of three tasks."""

    @initialize()
    def begin(self) -> None:
        self.ledger = Ledger()
        self.events: list[ev.Event] = []
        self.states: dict[str, CallState] = {}
        self.told: set[str] = set()
        self.announced: set[str] = set()
        self.answered: set[str] = set()
        for task in TASKS[:2]:
            self.happen(ev.TaskOpened, task=task, goal="Do it.")

    def make(self, kind: type[ev.Event], /, **values: Any) -> ev.Event:
        n = len(self.events) + 1
        return kind(n=n, at=n / 2, **values)

    def happen(self, kind: type[ev.Event], /, **values: Any) -> None:
        event = self.make(kind, **values)
        self.ledger.apply(event)
        self.events.append(event)

    def refuse(self, expected: type[Exception], kind: type[ev.Event], /, **values: Any) -> None:
        before = contents(self.ledger)
        with pytest.raises(expected):
            self.ledger.apply(self.make(kind, **values))
        assert contents(self.ledger) == before

    def pick(self, number: int) -> str:
        return list(self.states)[number % len(self.states)]

    # Few calls, so that each of them moves often and they wait for each other.
    @precondition(lambda self: len(self.states) < 6)
    @rule(
        task=st.sampled_from(TASKS),
        tool=st.sampled_from(("a", "b")),
        value=st.integers(0, 1),
        resources=st.sampled_from(FOOTPRINTS),
        together=st.booleans(),
    )
    def propose(self, task: str, tool: str, value: int, resources: Any, together: bool) -> None:
        sequence = len(self.states) + 1
        last = list(self.ledger.calls())[-1].call.message_id if self.states else ""
        arguments = {"value": value}
        call = Call(
            key=f"k{sequence}",
            sequence=sequence,
            task=task,
            tool=tool,
            ordinal=self.ledger.next_ordinal(task, tool),
            arguments=arguments,
            call_id=f"id{sequence}",
            message_id=last if together and last else f"m{sequence}",
            footprint=resources,
            fingerprint=fingerprint(tool, arguments),
        )
        self.happen(ev.CallProposed, call=call)
        self.states[call.key] = CallState.PROPOSED

    def event_of(self, move: Move, key: str, other: str) -> tuple[type[ev.Event], dict[str, Any]]:
        told: dict[str, Any] = {"guard": "g", "reason": "r"}
        match move:
            case Move.ADMIT:
                return ev.CallAdmitted, {"approved": True, "arguments": {"value": 7}}
            case Move.DEFER:
                return ev.CallDeferred, {
                    **told,
                    "on": tuple(dict.fromkeys((other, self.pick(int(other[1:]))))),
                }
            case Move.HOLD:
                return ev.CallHeld, told
            case Move.REJECT:
                return ev.CallRejected, {**told, "on": (other,)}
            case Move.EDIT:
                call = self.ledger.record(key).call
                number = (
                    call.ordinal if call.tool == "b" else self.ledger.next_ordinal(call.task, "b")
                )
                arguments = {"value": 1}
                written = replace(
                    call,
                    tool="b",
                    ordinal=number,
                    arguments=arguments,
                    footprint=FOOTPRINTS[0],
                    fingerprint=fingerprint("b", arguments),
                )
                return ev.CallEdited, {"call": written}
            case Move.START:
                return ev.CallStarted, {
                    "attempt": self.ledger.record(key).attempts + 1,
                    "tool": "a",
                    "epoch": "e",
                }
            case Move.RECOVER:
                values = {
                    "action": ev.RecoveryAction.FALLBACK,
                    "attempt": 1,
                    "error": "OSError",
                    "reason": "r",
                }
                return ev.CallRecovered, {**values, "tool": "b"}
            case Move.SQUASH:
                return ev.CallSquashed, {"reason": "r", "on": (other,)}
            case Move.CANCEL:
                return ev.CallCancelled, {"reason": "r"}
            case _:
                return ev.CallRetired, {"outcome": OUTCOMES[move], "content": {"id": 1}, "size": 8}

    @precondition(lambda self: self.states)
    @rule(number=picks, other=picks, choice=picks)
    def move_legally(self, number: int, other: int, choice: int) -> None:
        key = self.pick(number)
        legal = [move for move in MOVES if (self.states[key], move) in CALL_TRANSITIONS]
        if legal:
            self.move(key, legal[choice % len(legal)], self.pick(other))

    @precondition(lambda self: self.states)
    @rule(number=picks, move=st.sampled_from(MOVES), other=picks)
    def move_somehow(self, number: int, move: Move, other: int) -> None:
        key = self.pick(number)
        if (self.states[key], move) in CALL_TRANSITIONS:
            self.move(key, move, self.pick(other))
        else:
            kind, values = self.event_of(move, key, self.pick(other))
            self.refuse(IllegalTransitionError, kind, key=key, **values)

    def move(self, key: str, move: Move, other: str) -> None:
        kind, values = self.event_of(move, key, other)
        self.happen(kind, key=key, **values)
        if self.states[key] is CallState.IN_DOUBT and key in self.answered:
            self.announced.add(key)
            self.told.discard(key)
        self.states[key] = CALL_TRANSITIONS[self.states[key], move]

    @precondition(lambda self: self.states)
    @rule(number=picks, move=st.sampled_from((Move.DEFER, Move.REJECT, Move.SQUASH)))
    def name_a_stranger(self, number: int, move: Move) -> None:
        key = self.pick(number)
        kind, values = self.event_of(move, key, key)
        error = UnknownCallError if (self.states[key], move) in CALL_TRANSITIONS else Exception
        self.refuse(error, kind, key=key, **{**values, "on": (key, "stranger")})
        self.refuse(UnknownCallError, kind, key="stranger", **values)
        self.refuse(UnknownCallError, ev.CallsDelivered, keys=(key, "stranger"))
        self.refuse(UnknownCallError, ev.CallProposed, call=self.ledger.record(key).call)

    @precondition(lambda self: self.states)
    @rule(number=picks)
    def deliver(self, number: int) -> None:
        key = self.pick(number)
        if is_open(self.ledger.record(key)):
            if key not in self.answered:
                self.happen(ev.CallsDelivered, keys=(), placeholders=(key,))
                self.announced.add(key)
        else:
            self.happen(ev.CallsDelivered, keys=(key,))
            self.told.add(key)
        self.answered.add(key)

    @rule(task=st.sampled_from(TASKS), state=st.sampled_from(TaskState))
    def move_task(self, task: str, state: TaskState) -> None:
        known = self.ledger.task(task)
        if state is TaskState.OPEN:
            self.happen(ev.TaskOpened, task=task, goal="Do more.")
        elif known is None:
            self.refuse(UnknownCallError, ev.TaskEnded, task=task, state=state)
        elif known.state is TaskState.OPEN:
            self.happen(ev.TaskEnded, task=task, state=state)
        else:
            self.refuse(IllegalTransitionError, ev.TaskEnded, task=task, state=state)

    @rule(number=picks)
    def run_event(self, number: int) -> None:
        names = tuple(task.task.id for task in self.ledger.tasks())
        verdict = list(ev.CompletionVerdict)[number % 3]
        happenings: tuple[tuple[type[ev.Event], dict[str, Any]], ...] = (
            (ev.RunStarted, {"run": f"r{number}", "epoch": "e"}),
            (
                ev.TurnTaken,
                {"turn": number, "message_id": "m", "calls": 0, "passed_over": names[:1]},
            ),
            (ev.CompletionJudged, {"verdict": verdict, "reason": "r", "tasks": names}),
            (ev.RunParked, {"keys": tuple(self.states)}),
            (ev.RunEnded, {"reason": "complete", "turns": number}),
        )
        kind, values = happenings[number % len(happenings)]
        self.happen(kind, **values)
        strange = (*names, "stranger")
        self.refuse(
            UnknownCallError, ev.TurnTaken, turn=99, message_id="x", calls=0, passed_over=strange
        )
        self.refuse(
            UnknownCallError, ev.CompletionJudged, verdict=verdict, reason="r", tasks=strange
        )

    @invariant()
    def views_agree_with_the_records(self) -> None:
        assert {key: self.ledger.record(key).state for key in self.states} == self.states
        check_counts(self.ledger)
        check_task_views(self.ledger)
        check_lookups(self.ledger)

    @invariant()
    def the_conversation_is_known(self) -> None:
        ended = {key for key in self.states if not is_open(self.ledger.record(key))}
        assert set(keys(self.ledger.news())) == (ended & self.announced) - self.told
        assert set(keys(self.ledger.unanswered())) == set(self.states) - self.answered
        assert not set(keys(self.ledger.news())) & set(
            keys(self.ledger.unanswered())
        )  # nothing is shown twice

    def teardown(self) -> None:
        """The events of a file fold to the same ledger, with the same order in every view."""
        events = getattr(self, "events", [])
        again = Ledger()
        for event in events:
            data = json.loads(json.dumps(to_json(event)))
            assert from_json(data) == event
            again.apply(from_json(data))
        if events:
            assert contents(again) == contents(self.ledger)
            assert keys(again.news()) == keys(self.ledger.news())
            assert all(keys(again.in_state(s)) == keys(self.ledger.in_state(s)) for s in CallState)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=25, stateful_step_count=50, deadline=None)


@pytest.mark.full
class TestLedgerAtLength(LedgerMachine.TestCase):
    """The same over many more histories."""

    settings = settings(max_examples=300, stateful_step_count=50, deadline=None)


def test_every_event_is_known() -> None:
    """The ledger says of each kind of event what it changes."""
    assert set(Ledger._FOLDS) == set(ev.EVENT_TYPES)


def test_a_call_that_is_made_again_is_before_those_that_wait_for_it_and_in_its_place() -> None:
    """A call in doubt that is made again precedes its dependants, and stays at its place."""
    scene = Scene()
    key = scene.start("pay", {"n": 1})
    waiting, equal = (scene.propose("pay", {"n": n}).call for n in (2, 1))
    scene.apply(ev.CallDeferred, key=waiting.key, guard="dependency", reason="waits", on=(key,))
    scene.end(key, ev.Outcome.IN_DOUBT)
    assert keys(scene.ledger.ready()) == [waiting.key]
    again = {
        "action": ev.RecoveryAction.RETRY,
        "attempt": 1,
        "error": "OSError",
        "reason": "it did not happen",
    }
    scene.apply(ev.CallRecovered, key=key, **again)
    assert keys(scene.ledger.ready()) == []
    assert keys(scene.ledger.same_fingerprint("t1", equal.fingerprint)) == [key, equal.key]
    scene.run(key)
    scene.end(key)
    assert keys(scene.ledger.ready()) == [waiting.key]
