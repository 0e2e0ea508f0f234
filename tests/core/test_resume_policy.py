"""The fate table against a second statement of what docs/reliability.md promises (P1-P6), over the product of facts.

:func:`promised` is written from the promises and not from the table: for each reason to ask it goes by what is known of
the call, without rows that hide others. Both have to say the same in every cell. No row can be left out without a
cell that tells; two rows that change places either change a cell, which tells, or decide the same everywhere.
"""

import ast
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core import resume_policy, resume_terms
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.resume_policy import RULES, decide
from asyncguard.core.resume_terms import (
    Effect,
    Facts,
    Fate,
    Here,
    History,
    Journal,
    Open,
    Tool,
    Why,
)

HELD_BACK = (Open.DEFERRED, Open.HELD)
REPEATABLE = (Effect.PURE, Effect.IDEMPOTENT, Effect.KEYED)
ANY = (False, True)

# Which facts are gathered for which reason; the others have their defaults.
ASKED: dict[Why, dict[str, tuple[Any, ...]]] = {
    Why.RUN_BEGINS: {
        "state": (*HELD_BACK, Open.QUEUED),
        "effect": tuple(Effect),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
        "history": (History.NOTHING, History.PLACEHOLDER),
        "tool": tuple(Tool),
    },
    Why.OVERTAKEN: {
        "state": (*HELD_BACK, Open.QUEUED),
        "effect": tuple(Effect),
        "begun": ANY,
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.IN_HAND, Here.LATER),
    },
    Why.NEW_MESSAGE: {
        "state": tuple(Open),
        "undecided": ANY,
        "effect": tuple(Effect),
        "effectful": ANY,
        "wanted_again": ANY,
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.IN_HAND, Here.LATER),
        "begun": ANY,
        "asked": ANY,
    },
    Why.CANCELLED: {
        "state": tuple(Open),
        "undecided": ANY,
        "effect": tuple(Effect),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.IN_HAND, Here.LATER),
        "asked": ANY,
        "outside": ANY,
        "harmless": ANY,
    },
    Why.RELEASED: {
        "state": (Open.DEFERRED,),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
        "blocker_failed": ANY,
    },
    Why.APPROVED: {
        "state": (Open.HELD,),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
    },
    Why.REFUSED: {
        "state": (Open.HELD,),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
    },
    Why.WRAPPERS_RETURNED: {
        "state": (*HELD_BACK, Open.QUEUED),
        "effect": tuple(Effect),
        "side_query": ANY,
        "wanted_again": ANY,
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
        "tool": tuple(Tool),
        "begun": ANY,
        "harmless": ANY,
    },
    Why.WRAPPER_MISSING: {
        "state": (Open.QUEUED,),
        "effect": tuple(Effect),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
        "history": (History.NOTHING, History.ANSWER),
        "tool": tuple(Tool),
        "harmless": ANY,
    },
    Why.ANSWERED: {
        "state": tuple(Open),
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
        "history": (History.ANSWER, History.DECISION),
    },
    Why.ISSUED: {
        "state": (Open.QUEUED,),
        "effect": tuple(Effect),
        "side_query": ANY,
        "edited": ANY,
        "unapproved": ANY,
        "begun": ANY,
        "harmless": ANY,
        "journal": tuple(Journal),
        "here": (Here.NOTHING, Here.LATER),
    },
    Why.REPORTED_LOST: {"state": (Open.PENDING,), "edited": ANY},
    Why.RECOVERY_ENDS: {"state": (Open.PENDING,), "journal": tuple(Journal)},
}


ALWAYS: dict[str, tuple[Any, ...]] = {
    "effect": tuple(Effect),
    "history": tuple(History),
    "tool": tuple(Tool),
}
JOURNALS = (
    (Journal.SILENT, False),
    (Journal.BEHIND, False),
    *itertools.product((Journal.COMPLETE, Journal.LATER), ANY),
)
RESUMED: tuple[dict[str, tuple[Any, ...]], ...] = (
    ALWAYS | {"state": HELD_BACK, "here": (Here.NOTHING, Here.LATER), "said": ANY},
    ALWAYS
    | {
        "state": (Open.QUEUED,),
        "here": (Here.NOTHING, Here.IN_HAND, Here.LATER),
        "replayable": ANY,
        "helped": ANY,
        "side_query": ANY,
        "wanted_again": ANY,
        "begun": ANY,
        "harmless": ANY,
    },
    ALWAYS
    | {
        "state": (Open.PENDING,),
        "here": tuple(Here),
        "replayable": ANY,
        "helped": ANY,
        "side_query": ANY,
        "wanted_again": ANY,
        "attempt_ended": ANY,
    },
)
"""The facts of a loss, by the state of the call; those that cannot be of a state are left out."""


def cells(why: Why) -> Iterator[Facts]:
    """Yield all combinations of the facts that are gathered for a reason."""
    if why is not Why.RESUMED:
        for values in itertools.product(*ASKED[why].values()):
            yield Facts(
                why=why,
                **{"effect": Effect.AT_MOST_ONCE, **dict(zip(ASKED[why], values, strict=True))},
            )
        return
    for asked in RESUMED:
        for (journal, outside), *values in itertools.product(JOURNALS, *asked.values()):
            facts = Facts(
                why=why, journal=journal, outside=outside, **dict(zip(asked, values, strict=True))
            )
            # The journal holds no side queries; only of a pending call it is asked whether it knows the attempt.
            behind = facts.journal is Journal.BEHIND and facts.state is not Open.PENDING
            if not behind and not (facts.side_query and facts.journaled):
                yield facts


# -- the promises --------------------------------------------------------------------------------------------------


def promised(f: Facts) -> Fate:
    """Return what docs/reliability.md promises for a call."""
    return PROMISES[f.why](f)


def answered(f: Facts) -> Fate:
    """P3: one end. What ran ends with its answer, what did not run ends without one."""
    ran = f.state is Open.PENDING or (later(f) and f.history is History.ANSWER)
    return Fate.ACCEPT_ANSWER if ran else Fate.CANCEL


def issued(f: Facts) -> Fate:
    """P2 and P6, but for questions, which have no effect."""
    if f.side_query:
        return Fate.KEEP
    if f.edited:
        return Fate.REFUSE
    if f.unapproved and not later(f):  # P5, and P4 if it may have had an effect
        unharmed = f.harmless or not f.begun or f.effect in (Effect.PURE, Effect.IDEMPOTENT)
        return Fate.CANCEL if unharmed else Fate.ABANDON
    return Fate.TAKE_OVER if f.here is Here.LATER else Fate.KEEP


def reported_lost(f: Facts) -> Fate:
    """P4: its process died; P6: a probe would be asked about another call."""
    return Fate.ABANDON if f.edited else Fate.IN_DOUBT


def recovery_ends(f: Facts) -> Fate:
    """P1: the later attempt may have a result."""
    return Fate.FOLLOW if f.journal is Journal.LATER else Fate.KEEP


def later(f: Facts) -> bool:
    """Return True if an attempt is known to have begun that the state does not show."""
    return Journal.LATER is f.journal or Here.LATER is f.here


def resumed(f: Facts) -> Fate:
    """P1 to P6 after a crash, on a fork, after a takeover."""
    if f.history in (History.ANSWER, History.DECISION) and answer_counts(f):
        # P3: it did not run. P1: it ran, or may have.
        return Fate.CANCEL if answered_unrun(f) else Fate.ACCEPT_ANSWER
    if waits(f):
        return Fate.WAIT  # P4: no doubt before it is known what can be done about it
    if f.state in HELD_BACK:
        return resumed_held_back(f)
    if f.state is Open.QUEUED:
        return resumed_queued(f)
    if f.here is Here.IN_HAND:
        return Fate.KEEP
    if f.here is Here.CURRENT and not f.side_query:
        return Fate.TAKE_OVER  # P1, P2
    if f.journal is not Journal.SILENT:
        return Fate.AWAIT if f.outside else Fate.REPLAY  # P1, P2: the journal has the last word
    if f.attempt_ended:
        return Fate.RECONSIDER  # P1
    return Fate.REQUEUE if f.replayable else Fate.IN_DOUBT  # P2, P4


def answered_unrun(f: Facts) -> bool:
    """Return True if an answer is that of a person or program which kept the call from running."""
    if f.state is Open.PENDING or later(f):
        return False
    return f.history is History.DECISION or f.journal is not Journal.SILENT


def answer_counts(f: Facts) -> bool:
    """Return True if an answer in the history counts as the end of the call."""
    if f.state is Open.PENDING or answered_unrun(f):
        return True
    if f.tool is not Tool.AT_HAND:
        return True
    return f.state is Open.QUEUED and (later(f) or f.effect is Effect.PURE)


def waits(f: Facts) -> bool:
    """Return True if the call's fate depends on tools that the process has yet to meet."""
    if f.tool is Tool.UNDECLARED:
        return not (f.said and f.state in HELD_BACK)
    if f.tool is not Tool.UNMET or f.outside:
        return False
    if f.state in HELD_BACK:
        return f.effect in REPEATABLE
    if f.effect is not Effect.AT_MOST_ONCE or f.helped or f.side_query or f.wanted_again:
        return True
    # P4: the attempt that it waits for is made here; no process has begun it, so none can be in doubt about it.
    return f.journal is Journal.BEHIND and f.here is Here.NOTHING


def resumed_held_back(f: Facts) -> Fate:
    """A deferred or held call stays held back with its wrapper, or where it needs none (P5)."""
    placeholder = f.history is History.PLACEHOLDER
    if f.tool is Tool.AT_HAND:
        return Fate.KEEP
    if later(f):
        return (
            Fate.ADOPT if placeholder else Fate.KEEP
        )  # without one its wrapper comes again, and asks the journal
    if placeholder and f.tool is Tool.KNOWN and f.effect is Effect.PURE:
        return Fate.RUN_ALONE
    safe = f.effect in REPEATABLE or f.journal is not Journal.SILENT
    if placeholder:
        if f.effect is Effect.KEYED and f.journal is Journal.SILENT:
            # P2, P4: it may have been released, and a new call would have another key
            alone = f.tool is Tool.KNOWN and f.begun
            return Fate.RUN_ALONE if alone else Fate.IN_DOUBT
        return Fate.SQUASH if safe else Fate.IN_DOUBT  # P2, P4: it may have been released
    return Fate.IN_DOUBT if f.state is Open.DEFERRED and not safe else Fate.KEEP


def resumed_queued(f: Facts) -> Fate:
    """An admitted call: it may have been issued before the end of its process."""
    if f.tool is Tool.AT_HAND or f.history is not History.PLACEHOLDER:
        if f.here is Here.IN_HAND or f.journal is not Journal.SILENT or later(f):
            return Fate.KEEP
        return Fate.EXPECT if f.replayable else Fate.IN_DOUBT
    if later(f):
        return Fate.ADOPT
    if f.here is Here.IN_HAND:  # nothing is lost, and no wrapper will come for it
        return without_wrappers(replace(f, why=Why.WRAPPERS_RETURNED))
    alone = f.tool is Tool.KNOWN and (
        f.effect is Effect.PURE or (f.effect in REPEATABLE and f.begun)
    )
    if alone and (f.journal is not Journal.SILENT or f.replayable):
        return Fate.RUN_ALONE
    if f.journal is not Journal.SILENT:  # never begun, and no wrapper will come for it
        if f.wanted_again:
            return Fate.RUN_ALONE
        return Fate.CANCEL if f.harmless else Fate.ABANDON
    if not f.replayable:
        return Fate.IN_DOUBT
    if f.wanted_again or f.side_query or (f.tool is Tool.KNOWN and f.effect in REPEATABLE):
        return Fate.RUN_ALONE
    return Fate.CANCEL if f.effect in (Effect.PURE, Effect.IDEMPOTENT) else Fate.ABANDON


def run_begins(f: Facts) -> Fate:
    """No wrapper of an earlier run comes again."""
    if later(f):
        return Fate.ADOPT
    unsafe = f.effect not in (Effect.PURE, Effect.IDEMPOTENT) and f.journal is Journal.SILENT
    asked = (
        f.state is Open.HELD and f.history is not History.PLACEHOLDER
    )  # its wrapper may have been answered
    return Fate.IN_DOUBT if unsafe and asked and f.tool is not Tool.AT_HAND else Fate.KEEP


def overtaken(f: Facts) -> Fate:
    """P3 and P5: no person answered whether it may run, and none will."""
    if later(f):
        return Fate.KEEP
    if f.state in HELD_BACK:
        return Fate.SQUASH
    certain = f.here is Here.IN_HAND and not f.begun
    return Fate.CANCEL if certain or f.effect is Effect.PURE else Fate.KEEP


def new_message(f: Facts) -> Fate:
    """The user spoke: what has not begun and has an effect does not begin."""
    if f.state not in HELD_BACK:
        waits = f.state is Open.QUEUED and f.here is Here.IN_HAND and not f.begun
        ended = (waits and not later(f)) or stopped_at_question(f)
        if ended and f.effectful and not f.wanted_again:
            return Fate.CANCEL
        return Fate.STOP if f.effectful and not f.wanted_again else Fate.KEEP
    if f.effect is Effect.PURE:
        return Fate.KEEP
    if later(f):
        return Fate.TAKE_UP
    return Fate.IN_DOUBT if perhaps_released(f) else Fate.SQUASH


def perhaps_released(f: Facts) -> bool:
    """P2, P4: an ended process may have made it, and a new call would have another key."""
    renewable = f.effect in (Effect.PURE, Effect.IDEMPOTENT)
    return f.undecided and f.journal is Journal.SILENT and not renewable


def stopped_at_question(f: Facts) -> bool:
    """Return True if the tool is known to have stopped at its question, and to have got no answer (P4)."""
    known = f.here is Here.IN_HAND or f.journal is not Journal.SILENT
    return f.state is Open.QUEUED and f.asked and known and f.here is not Here.LATER


def cancelled(f: Facts) -> Fate:
    """The user cancelled the task."""
    if f.state is Open.PENDING:
        return Fate.ABANDON if f.outside else Fate.INTERRUPT
    if later(f) and not stopped_at_question(f):
        # Only its delivery can end it, for which a cancelled task does not wait.
        return Fate.ABANDON if f.outside else Fate.STOP_AFTER
    if f.state in HELD_BACK:
        return Fate.ABANDON if perhaps_released(f) else Fate.SQUASH
    # P4: an earlier process may have begun it
    known = f.here is Here.IN_HAND or f.journal is not Journal.SILENT
    renewable = f.effect in (Effect.PURE, Effect.IDEMPOTENT)
    harmless = f.harmless and (known or renewable)
    return Fate.CANCEL if harmless or stopped_at_question(f) else Fate.ABANDON


def decided_by_people_or_blockers(f: Facts) -> Fate:
    """P5, and P1 where it is too late for a decision."""
    if later(f):
        return Fate.STOP_AFTER if f.why is Why.REFUSED else Fate.TAKE_UP
    if f.why is Why.REFUSED:
        return Fate.REJECT
    return Fate.SQUASH if f.blocker_failed else Fate.JUDGE


def without_wrappers(f: Facts) -> Fate:
    """P3: a call that cannot be run ends. P5: one that has its wrapper stays held back."""
    if f.history is History.ANSWER and answered_unrun(f):
        return Fate.CANCEL  # P1: its end is stored
    if f.tool is Tool.AT_HAND:
        return Fate.KEEP
    if later(f):
        return Fate.ADOPT
    if f.why is Why.WRAPPER_MISSING:
        alone = f.tool is Tool.KNOWN and f.effect in REPEATABLE
    else:
        known = f.tool is Tool.KNOWN and (
            f.effect is Effect.PURE or (f.effect in REPEATABLE and f.begun)
        )
        alone = known or f.wanted_again or f.side_query
    if alone:
        return Fate.RUN_ALONE
    if f.state in HELD_BACK:
        return Fate.SQUASH
    return Fate.CANCEL if f.harmless else Fate.ABANDON


PROMISES: dict[Why, Callable[[Facts], Fate]] = {
    Why.RESUMED: resumed,
    Why.RUN_BEGINS: run_begins,
    Why.OVERTAKEN: overtaken,
    Why.NEW_MESSAGE: new_message,
    Why.CANCELLED: cancelled,
    Why.RELEASED: decided_by_people_or_blockers,
    Why.APPROVED: decided_by_people_or_blockers,
    Why.REFUSED: decided_by_people_or_blockers,
    Why.WRAPPERS_RETURNED: without_wrappers,
    Why.WRAPPER_MISSING: without_wrappers,
    Why.ANSWERED: answered,
    Why.ISSUED: issued,
    Why.REPORTED_LOST: reported_lost,
    Why.RECOVERY_ENDS: recovery_ends,
}


# -- the tests -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("why", list(Why))
def test_the_table_says_what_is_promised_in_every_cell(why: Why) -> None:
    """Each combination of facts has the promised fate, and no row can be left out."""
    rows = [rule for rule in RULES if why in rule.whys]
    needed = set()
    for facts in cells(why):
        hits = [index for index, rule in enumerate(rows) if rule.applies(facts)]
        fates = [*(rows[index].fate for index in hits), Fate.KEEP, Fate.KEEP]
        expected = promised(facts)
        assert fates[0] is expected, facts
        check_principles(facts, expected)
        if hits and fates[1] is not expected:
            needed.add(hits[0])
    assert [row.name for index, row in enumerate(rows) if index not in needed] == []


def check_principles(facts: Facts, fate: Fate) -> None:
    """Check what has to hold whatever the statement above says."""
    if facts.why is not Why.RESUMED:
        return
    if facts.effect is Effect.AT_MOST_ONCE and not facts.replayable:  # P2
        runs = fate in (Fate.REQUEUE, Fate.EXPECT, Fate.RUN_ALONE)
        found_not_happened = facts.journaled and facts.wanted_again
        assert not runs or found_not_happened or facts.here is Here.IN_HAND, facts
    if fate is Fate.IN_DOUBT:  # P4
        assert not facts.journaled, facts
        assert not facts.repeatable or not facts.replayable, facts


def test_the_decision_is_that_of_the_first_row() -> None:
    """``decide`` tells the fate, the reason and the row."""
    for why in Why:
        for facts in itertools.islice(cells(why), 200):
            row = next((rule for rule in RULES if why in rule.whys and rule.applies(facts)), None)
            decision = decide(facts)
            assert decision.rule == ("" if row is None else row.name)
            assert decision.fate is (Fate.KEEP if row is None else row.fate)
            assert decision.reason == ("" if row is None else row.reason)


def test_names_of_rows_are_unique() -> None:
    """The row that decided can be told from the others."""
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


def test_states_and_effects_are_those_of_the_ledger() -> None:
    """The values that the table reads are those of the core's enums; it may not import them."""
    assert {item.value for item in Open} == {
        state.value for state in OPEN_STATES - {CallState.PROPOSED}
    }
    assert {item.value for item in Effect} == {effect.value for effect in EffectClass}


def test_the_table_imports_the_standard_library_alone() -> None:
    """The rules and their terms can be read and tested without anything else."""
    trees = [
        ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for module in (resume_policy, resume_terms)
    ]
    imported = {
        name
        for node in itertools.chain.from_iterable(map(ast.walk, trees))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - sys.stdlib_module_names == {"collections.abc", resume_terms.__name__}
