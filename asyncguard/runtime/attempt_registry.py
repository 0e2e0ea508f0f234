"""What was begun in this process, so that no branch of a thread begins it a second time.

A fork can bring a call back before admission whose effect has happened. It is the same call, of the same position in
the same message, so its key is the same, and the attempt that was made answers for it. Only calls that must not be
repeated are kept. After a restart nothing is known here, and the state alone decides (the call is in doubt).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import ErrorCode
from asyncguard.core.results import Failure, Interrupted, Result
from asyncguard.runtime.executors.port import Completion

_KEPT = 512
"""Ended calls that are remembered; running ones always are."""
_Receiver = Callable[[Completion], None]

_NOT_BEGUN = frozenset(
    {ErrorCode.TAKEN_OVER, ErrorCode.JOURNAL_REFUSED, ErrorCode.JOURNAL_UNAVAILABLE}
)
"""Failures of attempts that the journal did not let begin."""


def _nobody(_: Completion) -> None:
    """Receives for an attempt that has told its end."""


def _was_not_begun(result: Result) -> bool:
    """Whether the call can still be begun: a question to a person is asked anew, and so is a journal that refused."""
    if isinstance(result, Failure):
        return result.symptom.error in _NOT_BEGUN
    return isinstance(result, Interrupted)


@dataclass(kw_only=True)
class _Attempt:
    number: int
    """From 1."""
    tool: str
    """Tool of the attempt."""
    fingerprint: str
    """Hash of what the call does."""
    arguments: Mapping[str, Any]
    """What the call was made with, its references replaced."""
    receive: _Receiver
    """Who is waiting now."""
    completion: Completion | None = None
    """How it ended; ``None`` while it runs."""


class AttemptRegistry:
    """The latest attempt of each call that must not be repeated; safe to use from any thread."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._lock = threading.Lock()
        self._attempts: dict[str, _Attempt] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def start(
        self,
        key: str,
        *,
        number: int,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        receive: _Receiver,
    ) -> _Receiver:
        """Note an attempt.

        Args:
            key: Key of the call.
            number: Of the attempt, from 1.
            tool: Tool of the attempt.
            fingerprint: Hash of what the call does.
            arguments: What the call is made with.
            receive: Who waits for it.

        Returns:
            The callback for its completion, which tells whoever waits by then.
        """
        attempt = _Attempt(
            number=number, tool=tool, fingerprint=fingerprint, arguments=arguments, receive=receive
        )
        with self._lock:
            self._attempts[key] = attempt
            self._ended.pop(key, None)

        def done(completion: Completion) -> None:
            with self._lock:
                attempt.completion = completion
                self._keep(key, completion)
                receiver, attempt.receive = attempt.receive, _nobody
            receiver(completion)

        return done

    def ended_late(self, completion: Completion) -> None:
        """Note what an attempt came to after it was given up: that is the answer for branches that ask later."""
        with self._lock:
            attempt = self._attempts.get(completion.key)
            if (
                attempt is not None
                and attempt.number == completion.attempt
                and attempt.completion is not None
            ):
                attempt.completion = completion

    def knows(self, key: str, *, after: int = 0) -> bool:
        """Whether an attempt of the call was begun here, later than one of this number."""
        with self._lock:
            attempt = self._attempts.get(key)
            return attempt is not None and attempt.number > after

    def latest(self, key: str) -> int:
        """Number of the latest attempt of a call that was begun here, 0 if none was."""
        with self._lock:
            attempt = self._attempts.get(key)
            return 0 if attempt is None else attempt.number

    def arguments(self, key: str) -> Mapping[str, Any] | None:
        """What the call was made with here, ``None`` if it was not begun."""
        with self._lock:
            attempt = self._attempts.get(key)
            return None if attempt is None else attempt.arguments

    def differs(self, key: str, fingerprint: str) -> bool:
        """Whether the call was begun here as another one: its message was edited, and kept its id."""
        with self._lock:
            attempt = self._attempts.get(key)
            return attempt is not None and attempt.fingerprint != fingerprint

    def take_over(self, key: str, receive: _Receiver, *, after: int = 0) -> tuple[int, str] | None:
        """Have the attempt that was made answer to somebody else, at once if it has ended.

        Args:
            key: Key of the call.
            receive: Who waits for it from now on.
            after: Number of the latest known attempt for the call's own result; only a later one answers.

        Returns:
            Its number and tool; ``None`` if nothing was begun.
        """
        with self._lock:
            attempt = self._attempts.get(key)
            if attempt is None or attempt.number <= after:
                return None
            completion = attempt.completion
            if completion is None:  # once told, a receiver is let go: it holds its session
                attempt.receive = receive
        if completion is not None:
            receive(completion)
        return attempt.number, attempt.tool

    def _keep(self, key: str, completion: Completion) -> None:
        if _was_not_begun(completion.result):
            self._attempts.pop(key, None)
            return
        self._ended[key] = None
        if len(self._ended) > _KEPT:
            oldest, _ = self._ended.popitem(last=False)
            self._attempts.pop(oldest, None)
