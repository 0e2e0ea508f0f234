"""Rate limits of a model: requests and tokens a minute, shared by all of its callers."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_MINUTE = 60.0


@dataclass(kw_only=True)
class Bucket:
    """Token bucket that fills evenly up to a minute's worth; a debt makes the next request wait."""

    per_minute: float
    now: Callable[[], float] = time.monotonic
    _level: float = field(init=False)
    _read: float = field(init=False)

    def __post_init__(self) -> None:
        if self.per_minute <= 0:
            raise ValueError("a quota is more than nothing a minute")
        self._level, self._read = self.per_minute, self.now()

    def take(self, amount: float) -> float:
        """Take an amount and return the seconds to wait before using it; a negative amount gives back."""
        now = self.now()
        self._level = min(
            self.per_minute, self._level + (now - self._read) * self.per_minute / _MINUTE
        )
        self._read = now
        self._level -= amount
        return max(0.0, -self._level * _MINUTE / self.per_minute)


class Quota:
    """Requests and tokens a minute; safe to share between threads."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without limits nothing waits.

        Args:
            requests_per_minute: Requests; None for no limit.
            tokens_per_minute: Input and output tokens; None for no limit.
            now: Seconds on a clock that never goes back.

        Raises:
            ValueError: a limit is not above zero.
        """
        self._requests = (
            Bucket(per_minute=requests_per_minute, now=now)
            if requests_per_minute is not None
            else None
        )
        self._tokens = (
            Bucket(per_minute=tokens_per_minute, now=now) if tokens_per_minute is not None else None
        )
        self._lock = threading.Lock()

    def ask(self, tokens: int) -> float:
        """Return the seconds to wait before a request of about this many tokens."""
        with self._lock:
            waits = [
                bucket.take(amount)
                for bucket, amount in ((self._requests, 1), (self._tokens, tokens))
                if bucket
            ]
        return max(waits, default=0.0)

    def settle(self, asked: int, used: int) -> None:
        """Take the difference between the tokens asked for and those used."""
        if self._tokens:
            with self._lock:
                self._tokens.take(used - asked)
