"""Saved episodes as if their texts had been read under the paper's contract, which takes nothing but an action."""

from dataclasses import replace

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.protocol.actions import CallAction, Idle, Malformed, read_text
from asyncguard_benchmark.harness.scenario import Contract, Surface

READ_AGAIN = " +read-as-paper"
"""Ends the agent's name, so that no row pools episodes as they were played with those that were read again."""


class NotReadableAgainError(BenchmarkError):
    """An episode does not say which message made which call."""


def read_as_paper(episode: Episode) -> Episode:
    """Return an episode without the calls that stand in texts which the paper's contract does not take.

    Each such text counts as a format error. The agent was told the results of those calls all the same, so this says
    how much a verdict rests on tolerant reading, and not what the agent would have done under the other contract.

    Raises:
        NotReadableAgainError: it is not of the plain loop on the text surface, or was saved without messages.
    """
    if (
        episode.player != PLAIN
        or episode.run.surface is not Surface.TEXT
        or not episode.messages
        or episode.firings
    ):
        raise NotReadableAgainError(
            "only clean episodes of the plain player on the text surface, saved with messages, can be read again"
        )
    ids = episode.composition.task_ids
    said = [str(each["content"]) for each in episode.messages if each["role"] == "assistant"]
    played = [read_text(text, ids, episode.run.contract) for text in said]
    again = [read_text(text, ids, Contract.PAPER) for text in said]
    made = [
        isinstance(new, CallAction)
        for old, new in zip(played, again, strict=True)
        if isinstance(old, CallAction)
    ]
    if len(made) != len(episode.trajectory):
        raise NotReadableAgainError("its messages are not those that made its calls")
    kept = [record for record, keeps in zip(episode.trajectory, made, strict=True) if keeps]
    numbers = {record.number: number for number, record in enumerate(kept)}
    counters = replace(
        episode.counters,
        idle_turns=sum(isinstance(action, Idle) for action in again),
        format_errors=sum(isinstance(action, Malformed) for action in again),
    )
    return replace(
        episode,
        agent=episode.agent + READ_AGAIN,
        trajectory=tuple(
            replace(
                record,
                number=numbers[record.number],
                pending_before=tuple(numbers[n] for n in record.pending_before if n in numbers),
            )
            for record in kept
        ),
        counters=counters,
    )
