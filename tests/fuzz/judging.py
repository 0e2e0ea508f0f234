"""Invariants of every run, judged without the code under test where that is possible."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from pydantic import BaseModel, ValidationError

from asyncguard.core.calls import CallState
from asyncguard.core.event_codec import from_json, to_json
from asyncguard.core.ledger import Ledger
from asyncguard.testing import Provider, history_violations
from tests.fuzz.agents import LIMITS, SCHEMAS, Outcome
from tests.fuzz.malformed import TASKS

_ABOUT_IDS = frozenset({"ids_are_short"})
"""Rules about ids, which the provider that makes the ids does not apply to its own."""


def check(outcome: Outcome, *, tasks: int) -> None:
    """Check every invariant of a run."""
    ledger = refolded(outcome.state["ledger"])
    check_end(outcome, ledger)
    for sent in [*outcome.tape.asked, outcome.state["messages"]]:
        check_sendable(sent)
    check_effects(outcome, ledger)
    check_calls(outcome, ledger, tasks=tasks)


def refolded(stored: Sequence[Mapping[str, Any]]) -> Ledger:
    """Fold the stored events again, by way of strict JSON text."""
    text = json.dumps(stored, allow_nan=False)
    text.encode("utf-8")
    again = json.loads(text)
    assert again == stored
    ledger = Ledger()
    for data in again:
        event = from_json(data)
        ledger.apply(event)
        assert to_json(event) == data
    return ledger


def check_end(outcome: Outcome, ledger: Ledger) -> None:
    """The run ended, with a report, within its limits."""
    report = outcome.state["report"]
    assert report["reason"] in {"complete", "max_model_turns", "tasks_stopped"}
    assert ledger.ended == report["reason"]
    assert len(outcome.tape.said) == report["turns"] <= LIMITS.max_model_turns
    json.dumps(report, allow_nan=False)


def check_sendable(messages: Sequence[BaseMessage]) -> None:
    """A provider would take the history, which means too that each call is answered once and to its id."""
    found = [
        item
        for item in history_violations(messages, Provider.OPENAI)
        if item.rule not in _ABOUT_IDS
    ]
    assert not found, (found, messages)
    for message in messages:
        for made in getattr(message, "tool_calls", []):
            json.dumps(made["args"], allow_nan=False).encode("utf-8")
        json.dumps(message.content, allow_nan=False)


def check_effects(outcome: Outcome, ledger: Ledger) -> None:
    """Check that executed calls are the admitted ones, once each, and fit the schemas."""
    admitted = Counter(
        data["key"] for data in outcome.state["ledger"] if data["kind"] == "call_admitted"
    )
    started = Counter(
        data["key"] for data in outcome.state["ledger"] if data["kind"] == "call_started"
    )
    assert admitted == started
    assert set(admitted.values()) <= {1}
    wanted: Counter[str] = Counter()
    for record in (record for record in ledger.calls() if record.attempts):
        schema, arguments = SCHEMAS[record.call.tool], dict(record.effective_arguments)
        if refusals := _refusals(schema, arguments):
            # JSON Schema knows no largest integer; the tool does, and refuses by itself.
            assert (refusals, record.error) == ({"int_parsing_size"}, "tool_error")
        else:
            wanted[repr((record.call.tool, schema.model_validate(arguments).model_dump()))] += 1
    assert wanted == Counter(map(repr, outcome.executed))


def _refusals(schema: type[BaseModel], arguments: dict[str, Any]) -> set[str]:
    try:
        schema.model_validate(arguments)
    except ValidationError as error:
        return {problem["type"] for problem in error.errors(include_url=False, include_input=False)}
    return set()


def check_calls(outcome: Outcome, ledger: Ledger, *, tasks: int) -> None:
    """Each call of each message is in the ledger once, is answered to its id, and runs only if it is valid."""
    answers = Counter(
        m.tool_call_id for m in outcome.state["messages"] if isinstance(m, ToolMessage)
    )
    groups: dict[str, list[Any]] = {}
    for record in ledger.calls():
        groups.setdefault(record.call.message_id, []).append(record)
        assert answers[record.call.call_id] == 1
        assert record.state is not CallState.PROPOSED
    spoken = [
        message for message in outcome.tape.said if message.tool_calls or message.invalid_tool_calls
    ]
    assert len(groups) == len(spoken)
    for message, records in zip(spoken, groups.values(), strict=True):
        made = [*message.tool_calls, *message.invalid_tool_calls]
        assert len(records) == len(made)
        # The order of valid and unreadable calls is the runtime's; what may run is a matter of their number.
        runnable = Counter(
            call["name"] for call in message.tool_calls if may_run(call, tasks=tasks)
        )
        run = Counter(
            item.call.tool for item in records if item.attempts and item.error != "tool_error"
        )
        assert run <= runnable
        assert run.total() <= LIMITS.max_calls_per_message


def may_run(call: Mapping[str, Any], *, tasks: int) -> bool:
    """Return True if a tool accepts the call, judged by Pydantic and not by the guards."""
    name, arguments = call["name"], call["args"]
    if not isinstance(name, str) or name not in SCHEMAS or not isinstance(arguments, dict):
        return False
    own = dict(arguments)
    if tasks > 1 and own.pop("task_id", None) not in TASKS:
        return False
    if name == "search":  # its operands may be references, which become text
        own = {key: _resolved(value) for key, value in own.items()}
    return not _refusals(SCHEMAS[name], own)


def _resolved(value: Any) -> Any:
    return "4" if isinstance(value, dict) and "from_call" in value else value
