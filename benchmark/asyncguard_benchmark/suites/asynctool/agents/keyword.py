"""An agent without a plan: it matches words and copies values. What it solves was not worth asking."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import Field
from typing_extensions import override

from asyncguard_benchmark.harness.agents.message_reader import Standing, read_questions
from asyncguard_benchmark.harness.agents.speaking import Decision, SpeakingAgent
from asyncguard_benchmark.harness.agents.tool_match import rank
from asyncguard_benchmark.harness.agents.transcript import Attempt, read_transcript
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.suites.asynctool.agents.value_candidates import Copied, candidates

_LIST_HEAD = "Functions:\n"


class KeywordAgent(SpeakingAgent):
    """Agent without a plan: it picks tools whose words the query shares, and copies arguments from messages.

    It gets what a model gets and no more: the API list and the messages. It calls the tools in the order in which the
    query speaks of them, waits for each result before the next call of a sub-task, fills a later call from the results
    first, and tries the next best value where a tool answers with an error. Thresholds are set in its favour.
    """

    least_share: float = Field(default=0.5, gt=0, le=1)
    """Score of a tool that is still called, as a share of the best tool's."""
    most_calls: int = Field(default=3, ge=1)
    """Tools that it calls for one sub-task."""
    most_tries: int = Field(default=2, ge=1)
    """Times that it calls one tool while the answers are errors."""

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Return the next call of the first sub-task that has one."""
        questions = read_questions(messages)
        attempts = read_transcript(messages, tuple(questions), task_argument=self.task_argument)
        own = {
            task_id: [each for each in attempts if each.task_id == task_id] for task_id in questions
        }
        tools = self._tools(messages)
        calls = [
            call
            for task_id, question in questions.items()
            if (call := self._next_call(task_id, question, own[task_id], tools)) is not None
        ]
        if calls:
            return tuple(calls)
        waits = any(each.standing is Standing.OPEN for each in attempts)
        return Idle() if waits else Completed()

    def _tools(self, messages: Sequence[BaseMessage]) -> Mapping[str, Mapping[str, Any]]:
        """Return the API list: bound, or in the system prompt."""
        if self.bound is not None:
            return {
                name: self._without_task(function)
                for name, function in self.bound.functions.items()
            }
        prompt = next(
            (str(message.text) for message in messages if isinstance(message, SystemMessage)), ""
        )
        _, found, listed = prompt.rpartition(_LIST_HEAD)
        return {function["name"]: function for function in json.loads(listed)} if found else {}

    def _without_task(self, function: Mapping[str, Any]) -> Mapping[str, Any]:
        parameters = function.get("parameters", {})
        return {
            **function,
            "parameters": {
                **parameters,
                "properties": {
                    n: s
                    for n, s in parameters.get("properties", {}).items()
                    if n != self.task_argument
                },
                "required": [
                    name for name in parameters.get("required", ()) if name != self.task_argument
                ],
            },
        }

    def _next_call(
        self,
        task_id: str,
        question: str,
        attempts: Sequence[Attempt],
        tools: Mapping[str, Mapping[str, Any]],
    ) -> CallAction | None:
        if any(each.standing is Standing.OPEN for each in attempts):
            return None
        results = [
            each.response for each in attempts if each.response is not None and not _failed(each)
        ]
        for tool in self._wanted(question, tools):
            tried = [each for each in attempts if each.tool == tool]
            if len(tried) >= self.most_tries or any(not _failed(each) for each in tried):
                continue
            arguments = _filled(tools[tool], question, results, tried=len(tried))
            if arguments is not None:
                return CallAction(task_id=task_id, tool=tool, arguments=arguments)
        return None

    def _wanted(self, question: str, tools: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return the best tools, in the order in which the question speaks of them."""
        ranked = rank(question, tools)[: self.most_calls]
        chosen = [match for match in ranked if match.score >= self.least_share * ranked[0].score]
        return [match.tool for match in sorted(chosen, key=lambda match: match.place)]


def _failed(attempt: Attempt) -> bool:
    """Return True if a call was refused or answered with an error."""
    return attempt.standing is Standing.REJECTED or (attempt.response or "").startswith('{"error":')


def _filled(
    function: Mapping[str, Any], question: str, results: Sequence[str], *, tried: int
) -> dict[str, Any] | None:
    """Return arguments for a tool, or None if a required one is nowhere to be copied from.

    Args:
        function: Name, description and parameters.
        question: Question of the user.
        results: Results that the sub-task was told.
        tried: Number of calls of the tool in vain: as many times the least certain value is passed over.
    """
    properties = function.get("parameters", {}).get("properties", {})
    required = function.get("parameters", {}).get("required", ())
    options = {name: candidates(name, properties[name], question, results) for name in required}
    chosen = _spread(options)
    for _ in range(tried):
        if not chosen:
            break
        weakest = min(chosen, key=lambda name: chosen[name].score)
        options[weakest] = [
            each for each in options[weakest] if each.value != chosen[weakest].value
        ]
        chosen = _spread(options)
    if len(chosen) < len(required):
        return None
    said = {
        name: candidates(name, properties[name], question, ())
        for name in properties
        if name not in required
    }
    mentioned = {
        name: found[0].value for name, found in said.items() if found and "enum" in properties[name]
    }
    return {name: copied.value for name, copied in chosen.items()} | mentioned


def _spread(options: Mapping[str, Sequence[Copied]]) -> dict[str, Copied]:
    """One value for each argument: the surest pair of argument and value first, no value twice if there are others."""
    pairs = [(name, copied) for name, found in options.items() for copied in found]
    chosen: dict[str, Copied] = {}
    for again in (False, True):
        for name, copied in sorted(pairs, key=lambda pair: -pair[1].score):
            if name not in chosen and (
                again or all(copied.value != other.value for other in chosen.values())
            ):
                chosen[name] = copied
    return chosen
