"""The published error of a mission that failed: the first rule that holds."""

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph
from asyncguard_benchmark.suites.missions.scorers.published_arguments import JudgedCall, Tag
from asyncguard_benchmark.suites.missions.scorers.steps import Step
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK

REFUSAL_TOOL = "filter_by_prompt"
"""Name under which the published runs store the refusal of a provider."""


class PublishedError(StrEnum):
    """Errors in the words of the published analysis."""

    REJECT = "reject tool calling"
    CALL_IN_CHAT = "call function without reject"
    UNKNOWN_TOOL = "function name hallucination"
    NOT_ASKED = "missing information in tool calling"
    ASKED_TOO_LITTLE = "missing information"
    REDUNDANT = "redundant tool calling"
    WRONG_TOOL = "call the wrong function"
    EARLY_STOP = "early stop"
    MISSING = "miss required params"
    UNKNOWN_ARGUMENT = "param hallucination"
    TYPE = "type error"
    INVENTED_VALUE = "param value hallucination"
    VALUE = "param value error"


def error_of_names(
    graph: GoldGraph, steps: Sequence[Step], tools: Collection[str]
) -> PublishedError:
    """Return the error of a run whose names are wrong.

    Args:
        graph: The gold.
        steps: The run.
        tools: Names of the tools.
    """
    names = [node.name for node in graph.nodes]
    if len(steps) == 1 and not steps[0].calls:
        return PublishedError.REJECT
    if names == [ANSWER]:
        return PublishedError.CALL_IN_CHAT
    if (hallucinated := _hallucinated(steps, tools)) is not None:
        return hallucinated
    asks = sum(not step.calls for step in steps)
    if ASK in names and not asks:
        return PublishedError.NOT_ASKED
    # Each step without calls counts as a question here, also the last.
    made = Counter(call.name for step in steps for call in step.calls) + Counter({ASK: asks})
    if made.total() > len(names) - 1:
        return PublishedError.REDUNDANT
    if asks < names.count(ASK):
        return PublishedError.ASKED_TOO_LITTLE
    if surplus := made - Counter(names):
        known = all(name in names for name in surplus)
        return PublishedError.REDUNDANT if known else PublishedError.WRONG_TOOL
    return PublishedError.EARLY_STOP


def _hallucinated(steps: Sequence[Step], tools: Collection[str]) -> PublishedError | None:
    found = None
    for step in steps:
        for call in step.calls:
            if call.name == REFUSAL_TOOL:
                found = PublishedError.REJECT
            elif call.name not in tools:
                found = PublishedError.UNKNOWN_TOOL
    return found


def error_of_arguments(judged: Sequence[JudgedCall]) -> PublishedError:
    """Return the error of a run whose names are right: that of the first call that fails, in the order of the steps.

    Args:
        judged: The calls in order; one of them failed.
    """
    tags = next(each.tags for each in judged if not each.passed)
    return PublishedError(next((tag for tag in Tag if tag in tags), Tag.VALUE).value)
