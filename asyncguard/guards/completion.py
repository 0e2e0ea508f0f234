"""Completion: a message without calls ends the run if nothing is outstanding.

While calls are open or results are undelivered, the answer can only be interim: the run waits. A
task without any call, or whose latest call had no result and was not replaced, is named to the
model once a run; its next answer is final. A model may be right that a task needs no tool: the task
view tells how to say so beforehand, and the message how to insist. Only these words count. That an
untouched task was spoken of does not mean that it needed no tool: a model often asks back where it
should have acted.
"""

import re
from dataclasses import dataclass

from asyncguard.core.calls import CallState
from asyncguard.core.events import CompletionVerdict
from asyncguard.core.footprints import EffectClass
from asyncguard.core.lifecycle import SOLE_TASK
from asyncguard.core.records import TaskRecord
from asyncguard.core.resume_policy import ANSWERED, SUPERSEDED, UNANSWERED
from asyncguard.core.scoreboard import NEEDS_NO_TOOL, Scoreboard
from asyncguard.core.wording import asks
from asyncguard.schema.excerpts import clipped, listed

_ABANDONED = frozenset({CallState.REJECTED, CallState.SQUASHED, CallState.CANCELLED})
_PERSONAL = frozenset({"approval", "clarification", "provenance", "trust"})
"""Guards whose rejection leaves the next step to a person."""
_MAX_REASON = 200
_ASKED_FOR = frozenset({"clarification", "provenance"})
"""Guards that advise the model to ask the user."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """Verdict on a model message without calls."""

    verdict: CompletionVerdict
    """End, wait or nudge."""
    reason: str
    """Reason of the verdict; for a nudge, the message to the model."""
    tasks: tuple[str, ...] = ()
    """Unfinished tasks that are named to the model now, or were earlier in this run."""


def judge_completion(board: Scoreboard, said: str = "") -> Completion:
    """Judge a model message without calls, which claims that all is done.

    Args:
        board: State of the run.
        said: Text of the message; a task that it declares to need no tool is not missed.
    """
    if not board.config.completion:
        return Completion(verdict=CompletionVerdict.END, reason="The completion guard is off.")
    if board.config.ledger and (waiting := _outstanding(board)):
        return Completion(
            verdict=CompletionVerdict.WAIT, reason=f"Results are outstanding: {waiting}."
        )
    gaps = {
        task.task.id: gap for task in board.ledger.open_tasks() if (gap := _gap(task, board, said))
    }
    nudged = {record.task.id for record in board.ledger.tasks() if record.nudged}
    new = tuple(name for name in gaps if name not in nudged)
    if new:
        lines = "\n".join(f"- {clipped(name)}: {gaps[name]}" for name in new)
        message = (
            f"You are about to finish, but not every task looks finished:\n{lines}\n"
            "Go on with these tasks now. If one needs no tool, or no more can be done for it, "
            "repeat your complete answer and say so."
        )
        return Completion(verdict=CompletionVerdict.NUDGE, reason=message, tasks=new)
    if gaps:
        reason = f"The model was reminded of unfinished tasks and left them open: {listed(gaps)}."
        return Completion(verdict=CompletionVerdict.END, reason=reason, tasks=tuple(gaps))
    return Completion(verdict=CompletionVerdict.END, reason="Nothing is outstanding.")


def asked_tasks(board: Scoreboard, said: str) -> tuple[str, ...]:
    """Return the open tasks that go on only with the user's answer to a model's last message.

    The message ends with a paragraph that holds a question, and either the last call of the task
    was refused with the advice to ask, or the model has made no call for it since the user spoke. A
    question after finished work ("Anything else?") holds up nothing.
    """
    if not asks(said):
        return ()
    return tuple(
        task.task.id for task in board.ledger.open_tasks() if _waits_for_answer(task, board)
    )


def _waits_for_answer(task: TaskRecord, board: Scoreboard) -> bool:
    last = board.ledger.find(task.last_call) if task.last_call is not None else None
    if last is None or last.said < board.ledger.said:
        return True
    return last.state is CallState.REJECTED and last.guard in _ASKED_FOR


def _outstanding(board: Scoreboard) -> str:
    ledger = board.ledger
    open_calls = (record for task in ledger.tasks() for record in ledger.open_of(task.task.id))
    named = [f"{record.call.task} {record.call.label}" for record in (*open_calls, *ledger.news())]
    # A model may name a task that was never given; its call is open all the same.
    return listed(named) or ("calls of unknown tasks" if ledger.any_open() else "")


def _gap(task: TaskRecord, board: Scoreboard, said: str) -> str:
    """Return what is missing in an open task as half a sentence; empty if nothing is."""
    if task.dropped:
        # The model was told to do nothing more for it. A later message may mean it, and may not.
        return ""
    last = board.ledger.find(task.last_call) if task.last_call is not None else None
    if last is None:
        # The sole task is a plain conversation, which may need no tool at all.
        untouched = task.issued == 0 and task.task.id != SOLE_TASK
        return "no tool was called for it" if untouched and not _toolless(task, said) else ""
    # A person decides next where the model was advised to ask, or a person refused. What a guard of
    # the user's own refuses need not become right in another form either.
    final = _PERSONAL.union(rule.name for rule in board.config.extra)
    persons_turn = last.state is CallState.REJECTED and last.guard in final and not last.blocked_by
    # The call that a duplicate repeats still answers the task; and once the result that an early
    # read was to wait for is told, the model may see that it does not need the read. An effect that
    # was refused is asked about: the model may believe that it has happened.
    needless = last.guard == "duplicate" or (
        last.guard == "premature"
        and last.state is CallState.REJECTED
        and board.spec(last.call.tool).effect is EffectClass.PURE
        and not any(board.ledger.untold(key) for key in last.blocked_by)
    )
    # Its words follow in the reason. And what a new message of the user has ended, the model has
    # read before it answered that message.
    elsewhere = last.state is CallState.CANCELLED and last.reason.startswith(ANSWERED)
    overtaken = last.state is not CallState.REJECTED and last.reason in (SUPERSEDED, UNANSWERED)
    answered = last.state not in _ABANDONED or needless or elsewhere or overtaken
    if not board.config.ledger or answered or persons_turn:
        return ""
    why = f" ({clipped(last.reason, _MAX_REASON)})" if last.reason else ""
    return f"its last call {last.call.label} was {last.state.value} and nothing came after it{why}"


def _toolless(task: TaskRecord, said: str) -> bool:
    """Return True if a line says that the task needs no tool, as the task view asks for."""
    # Marks of lists and emphasis may stand around the words; a longer id must not match.
    line = rf"^[^\w\n]*{re.escape(task.task.id)}[^\w\n:]*:[^\w\n]*{NEEDS_NO_TOOL}\b"
    return re.search(line, said, re.IGNORECASE | re.MULTILINE) is not None
