"""Attempts that began in this process, so that no branch of a thread begins them a second time.

A fork can return to a checkpoint before the admission of a call whose effect has happened since.
The call of the new branch has the same position in the same message, hence the same key, and the
existing attempt gives its result. Only calls that must not be repeated are kept. After a restart
the registry is empty and the state alone decides (the call is in doubt).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import ErrorCode
from asyncguard.core.results import Failure, Interrupted
from asyncguard.runtime.executors.port import Completion

_KEPT = 512
"""Number of ended calls that are remembered; running ones always are."""
_Receiver = Callable[[Completion], None]

_NOT_BEGUN = frozenset(
    {ErrorCode.TAKEN_OVER, ErrorCode.JOURNAL_REFUSED, ErrorCode.JOURNAL_UNAVAILABLE}
)
"""Failures of attempts that the journal did not let begin."""


@dataclass(kw_only=True)
class _Attempt:
    number: int
    """Number of the attempt, from 1."""
    tool: str
    """Tool of the attempt."""
    fingerprint: str
    """Hash of tool and arguments of the call."""
    arguments: Mapping[str, Any]
    """Arguments of the call, its references replaced."""
    receive: _Receiver | None
    """Callback for the completion; replaced when another branch takes the attempt over. ``None``
    after the end: it would keep its session in memory."""
    completion: Completion | None = None
    """End of the attempt; ``None`` while it runs."""


class AttemptRegistry:
    """The latest attempt of each call that must not be repeated; safe to use from any OS thread."""

    def __init__(self) -> None:
        """Start with nothing."""
        # Guards both mappings, and the fields of each attempt in them.
        self._lock = threading.Lock()
        # The latest attempt of each call, by key; running and ended ones.
        self._attempts: dict[str, _Attempt] = {}
        # Keys of the ended attempts, oldest first: the order in which they are forgotten.
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
        """Register an attempt.

        Args:
            key: Key of the call.
            number: Number of the attempt, from 1.
            tool: Tool of the attempt.
            fingerprint: Hash of tool and arguments of the call.
            arguments: Arguments of the call.
            receive: Callback for the completion.

        Returns:
            The callback for the executor, which calls the receiver that is registered by then.
        """
        attempt = _Attempt(
            number=number, tool=tool, fingerprint=fingerprint, arguments=arguments, receive=receive
        )
        with self._lock:
            self._attempts[key] = attempt
            self._ended.pop(key, None)

        def done(completion: Completion) -> None:
            result = completion.result
            # Its tool asked a person, or the journal refused it: the call can still begin.
            not_begun = isinstance(result, Interrupted) or (
                isinstance(result, Failure) and result.symptom.error in _NOT_BEGUN
            )
            with self._lock:
                attempt.completion = completion
                if not_begun:
                    self._attempts.pop(key, None)
                else:
                    self._ended[key] = None
                    if len(self._ended) > _KEPT:
                        oldest, _ = self._ended.popitem(last=False)
                        self._attempts.pop(oldest, None)
                receiver, attempt.receive = attempt.receive, None
            # Outside of the lock, which is not reentrant: the receiver is code of the session.
            if receiver is not None:
                receiver(completion)

        return done

    def ended_late(self, completion: Completion) -> None:
        """Replace the end of a given-up attempt by its own end, for branches that ask later."""
        with self._lock:
            attempt = self._attempts.get(completion.key)
            if (
                attempt is not None
                and attempt.number == completion.attempt
                and attempt.completion is not None
            ):
                attempt.completion = completion

    def knows(self, key: str, *, after: int = 0) -> bool:
        """Return True if an attempt of the call with a number above ``after`` began here."""
        with self._lock:
            attempt = self._attempts.get(key)
            return attempt is not None and attempt.number > after

    def latest(self, key: str) -> int:
        """Return the number of the latest attempt of a call that began here, 0 if none did."""
        with self._lock:
            attempt = self._attempts.get(key)
            return 0 if attempt is None else attempt.number

    def arguments(self, key: str) -> Mapping[str, Any] | None:
        """Return the arguments with which the call was made here, ``None`` if it did not begin."""
        with self._lock:
            attempt = self._attempts.get(key)
            return None if attempt is None else attempt.arguments

    def differs(self, key: str, fingerprint: str) -> bool:
        """Return True if the call began here with other content: its message was edited."""
        with self._lock:
            attempt = self._attempts.get(key)
            return attempt is not None and attempt.fingerprint != fingerprint

    def take_over(self, key: str, receive: _Receiver, *, after: int = 0) -> tuple[int, str] | None:
        """Pass the end of the existing attempt to another receiver, at once if it has ended.

        Args:
            key: Key of the call.
            receive: Callback for the completion from now on.
            after: Number of the latest known attempt for the call's own result; only a later one
                answers.

        Returns:
            Its number and tool; ``None`` if no attempt began.
        """
        with self._lock:
            attempt = self._attempts.get(key)
            if attempt is None or attempt.number <= after:
                return None
            completion = attempt.completion
            if completion is None:
                attempt.receive = receive
        if completion is not None:
            receive(completion)
        return attempt.number, attempt.tool
