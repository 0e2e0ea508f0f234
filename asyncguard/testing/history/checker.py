"""Check of a history against the table of rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from asyncguard.testing.history.anthropic import ANTHROPIC
from asyncguard.testing.history.gemini import GEMINI, GEMINI_3
from asyncguard.testing.history.mistral import MISTRAL
from asyncguard.testing.history.openai import OPENAI
from asyncguard.testing.history.pairing import COMMON
from asyncguard.testing.history.transcript import Finding, Provider, Rule, transcribe

RULES: dict[Provider, tuple[Rule, ...]] = {
    Provider.OPENAI: COMMON + OPENAI,
    Provider.ANTHROPIC: COMMON + ANTHROPIC,
    Provider.GEMINI: COMMON + GEMINI,
    Provider.MISTRAL: COMMON + MISTRAL,
}
"""Rules of each provider."""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A rule that a history breaks."""

    provider: Provider
    """Provider whose rule it is."""
    index: int | None
    """Index of the message, from 0; None for the history as a whole."""
    rule: str
    """Name of the rule."""
    sentence: str
    """Reaction of the provider, or its words."""

    def __str__(self) -> str:
        place = "history" if self.index is None else f"message {self.index}"
        return f"{self.provider.value}: {place}: {self.rule}: {self.sentence}"


class HistoryError(AssertionError):
    """A provider would refuse this history, or silently change what it means.

    Attributes:
        violations: Every rule that is broken, in the order of the rules.
    """

    def __init__(self, violations: Sequence[Violation], messages: Sequence[BaseMessage]) -> None:
        self.violations = tuple(violations)
        broken = "\n".join(f"  {violation}" for violation in violations)
        history = "\n".join(
            f"  {index}: {_summary(message)}" for index, message in enumerate(messages)
        )
        super().__init__(f"{len(violations)} violation(s)\n{broken}\nin the history\n{history}")


def history_violations(
    messages: Sequence[BaseMessage], provider: Provider | str, *, gemini3: bool = False
) -> list[Violation]:
    """Return the rules that a history breaks when it is sent to a model for an answer.

    Args:
        messages: The messages as handed to the chat model.
        provider: Provider whose rules are checked, or its name.
        gemini3: Also demand what Gemini 3 and later do: thought signatures, and no model turn at
            the end.

    Raises:
        ValueError: There is no provider of that name.
    """
    return _violations(messages, [provider], gemini3=gemini3)


def check_history(
    messages: Sequence[BaseMessage], provider: Provider | str, *, gemini3: bool = False
) -> None:
    """Check a history against one provider's rules; see `history_violations`.

    Raises:
        HistoryError: It breaks at least one.
    """
    check_history_all(messages, providers=[provider], gemini3=gemini3)


def check_history_all(
    messages: Sequence[BaseMessage],
    *,
    providers: Iterable[Provider | str] = Provider,
    gemini3: bool = False,
) -> None:
    """Check a history against the rules of several providers, of all if none are named.

    Raises:
        HistoryError: It breaks at least one; the error lists the violations of every provider.
    """
    found = _violations(messages, providers, gemini3=gemini3)
    if found:
        raise HistoryError(found, messages)


def _violations(
    messages: Sequence[BaseMessage], providers: Iterable[Provider | str], *, gemini3: bool
) -> list[Violation]:
    """Return the violations, provider by provider; a rule that several share is asked once."""
    transcript = transcribe(messages)
    findings: dict[Rule, list[Finding]] = {}
    violations: list[Violation] = []
    for provider in map(Provider, providers):
        demanded = gemini3 and provider is Provider.GEMINI
        for rule in RULES[provider] + (GEMINI_3 if demanded else ()):
            if rule not in findings:
                findings[rule] = list(rule(transcript))
            violations += [
                Violation(
                    provider=provider,
                    index=finding.index,
                    rule=rule.__name__,
                    sentence=finding.sentence,
                )
                for finding in findings[rule]
            ]
    return violations


def _summary(message: BaseMessage) -> str:
    text = repr(message.content)
    calls = [call["id"] for call in getattr(message, "tool_calls", [])]
    invalid = [call["id"] for call in getattr(message, "invalid_tool_calls", [])]
    answers = getattr(message, "tool_call_id", None)
    parts = [
        message.type,
        f"calls={calls}" if calls else "",
        f"invalid={invalid}" if invalid else "",
        f"answers={answers!r}" if answers is not None else "",
        text if len(text) <= 80 else f"{text[:77]}...",
    ]
    return " ".join(part for part in parts if part)
