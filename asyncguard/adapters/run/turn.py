"""Turn of the model: propose the calls of its message, or judge whether the run may end with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from asyncguard.adapters.messages.markers import mark, note_for_model
from asyncguard.adapters.messages.parse import parse_calls, parse_edit
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.ui_events import QuestionEvent, TextEvent, question_event, text_event
from asyncguard.core import events as ev
from asyncguard.core.records import CallRecord
from asyncguard.guards import asked_tasks
from asyncguard.runtime import proposals


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Consequence of a model message."""

    messages: Sequence[AnyMessage]
    """Messages to write: the model's own, or its replacement."""
    verdict: ev.CompletionVerdict | None
    """Verdict on a message without calls; ``None`` if it made calls."""
    event: TextEvent | QuestionEvent | None = None
    """What user interfaces are told of the message's text, ``None`` if it may be shown as it is."""
    asks: tuple[str, ...] = ()
    """Tasks that wait for the user's answer, if the message ends the run with a question."""


def on_model_message(
    run: Run, message: AIMessage, task_argument: str, *, structured: bool = False
) -> Turn:
    """Propose the calls of a model message, or judge whether the run may end with it.

    Args:
        run: The run.
        message: With usable ids.
        task_argument: Name of the task argument.
        structured: See :func:`judge_end`.
    """
    if propose(run, message, task_argument):
        return Turn(messages=[message], verdict=None)
    return judge_end(run, message, structured=structured)


def propose(run: Run, message: AIMessage, task_argument: str) -> bool:
    """Count the turn of a model message and judge its calls; return False if it has none."""
    calls = parse_calls(message, run.board, task_argument)
    proposals.propose_calls(run.session, str(message.id), calls)
    return bool(calls)


def on_unfit_answer(run: Run, message: AIMessage) -> None:
    """Count the turn of a message that gave an unusable structured answer and no calls."""
    proposals.propose_calls(run.session, str(message.id), [])


def edit_call(
    run: Run, record: CallRecord, tool: str, arguments: Mapping[str, Any], task_argument: str
) -> None:
    """Have the call judged that a person wrote in place of one that was not issued.

    Args:
        run: The run.
        record: The call.
        tool: Its tool now.
        arguments: Its arguments now.
        task_argument: Name of the task argument, which is stripped from them.
    """
    parsed = parse_edit(record, tool, arguments, task_argument)
    same = (record.call.tool, record.call.arguments) == (parsed.tool, parsed.arguments)
    if not same:  # else it was judged before: the wrapper is executed again
        proposals.edit_call(run.session, record, parsed)


def judge_end(run: Run, message: AIMessage, *, structured: bool = False) -> Turn:
    """Judge whether the run may end with a message that has no calls.

    Args:
        run: The run.
        message: Of the newest turn.
        structured: True if the message held a structured answer, which counts for its caller:
            a premature one is taken out, while a text stays and is marked.
    """
    completion = proposals.judge_end(run.session, text_of(message.content))
    if run.board.config.shadow:
        return Turn(messages=[message], verdict=ev.CompletionVerdict.END)
    if completion.verdict is ev.CompletionVerdict.NUDGE:
        # Same id: the reason stands in the history where "all done" stood.
        nudge = note_for_model(completion.reason, "nudge", message_id=message.id)
        event = text_event(str(message.id), "replaced", ())
        return Turn(messages=[nudge], verdict=completion.verdict, event=event)
    if completion.verdict is ev.CompletionVerdict.WAIT:
        return _interim(run, message, structured=structured)
    return _final(run, message, structured=structured)


def judge_left(run: Run, message: AIMessage) -> Turn | None:
    """Return the consequence of a text whose run ended before it was judged, if it has one."""
    return _interim(run, message, structured=False) if _waits(run) else None


def holds_text(run: Run) -> bool:
    """Return True if the coming message is held back unless it makes calls: the run waits."""
    return run.board.config.hold_text and _waits(run)


def _waits(run: Run) -> bool:
    """Return True if a text of the model can be interim only."""
    config, ledger = run.board.config, run.ledger
    judged = config.completion and config.ledger and not config.shadow
    return judged and (ledger.any_open() or bool(ledger.news()))


def _final(run: Run, message: AIMessage, *, structured: bool) -> Turn:
    """Return the consequence of a message that ends the run; a question is marked as one."""
    end = ev.CompletionVerdict.END
    asks = () if structured else asked_tasks(run.board, text_of(message.content))
    if not asks:
        return Turn(messages=[message], verdict=end)
    kept = {**message.additional_kwargs, **mark("question", tasks=list(asks))}
    marked = message.model_copy(update={"additional_kwargs": kept})
    event = question_event(str(message.id), asks)
    return Turn(messages=[marked], verdict=end, event=event, asks=asks)


def _interim(run: Run, message: AIMessage, *, structured: bool) -> Turn:
    """Return the consequence of a message that claims an end while the run waits for calls."""
    ledger = run.ledger
    waiting = [*(record for record in ledger.calls() if record.open), *ledger.news()]
    verdict = ev.CompletionVerdict.WAIT
    if structured:
        event = text_event(str(message.id), "replaced", waiting)
        return Turn(messages=[], verdict=verdict, event=event)
    if run.board.config.hold_text:
        return Turn(messages=[], verdict=verdict)  # nothing was streamed, see `holds_text`
    event = text_event(str(message.id), "interim", waiting)
    marker = mark("interim", tool_call_ids=event["tool_call_ids"])
    kept = {**message.additional_kwargs, **marker}
    marked = message.model_copy(update={"additional_kwargs": kept})
    return Turn(messages=[marked], verdict=verdict, event=event)
