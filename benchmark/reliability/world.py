"""The outside world: services of each effect class, which keep what they did in the effect log.

A probe that says no closes what sessions opened before may still send: a probe that does not cannot say no, for a
frozen process may send its request afterwards (see ``ToolSpec.probe``).
"""

import json
from dataclasses import dataclass

from reliability.cases import Effect
from reliability.effectlog import EffectLog, Page, What


class ClosedSessionError(Exception):
    """A probe has closed the session of the request; nothing happened."""


class DeclinedError(Exception):
    """The service declines before anything has begun."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Answer of a service."""

    text: str
    item: str

    def to_text(self) -> str:
        """Return it as the tool answers the model."""
        return json.dumps({"item": self.item, "receipt": self.text})


class World:
    """The services as one process reaches them."""

    def __init__(
        self, log: EffectLog, classes: dict[str, Effect], declines: frozenset[str] = frozenset()
    ) -> None:
        """Open a session.

        Args:
            log: Log of the effects.
            classes: Effect class of each tool.
            declines: Calls, as ``tool/item``, that are declined once.
        """
        self._log = log
        self._classes = classes
        self._declines = declines
        self._session = log.add(What.OPEN).n

    def begin(self, tool: str, item: str, key: str, after: str) -> None:
        """Note the arrival of a request.

        Raises:
            DeclinedError: The service is busy.
        """
        with self._log.locked() as page:
            declined = page.find(What.DECLINED, tool=tool, item=item)
            if f"{tool}/{item}" in self._declines and declined is None:
                page.add(What.DECLINED, tool=tool, item=item, key=key)
                raise DeclinedError
            page.add(What.BEGUN, tool=tool, item=item, key=key, after=after)

    def act(self, tool: str, item: str, key: str, after: str) -> Receipt:
        """Let the effect happen, as far as the class of the service allows it.

        Raises:
            ClosedSessionError: A probe closed this session for the item.
        """
        with self._log.locked() as page:
            match self._classes[tool]:
                case Effect.PURE:
                    return Receipt(text=f"R0/{tool}/{item}", item=item)
                case Effect.KEYED if (
                    key and (done := page.find(What.EFFECT, tool=tool, key=key)) is not None
                ):
                    page.add(What.REPEATED, tool=tool, item=item, key=key, receipt=done.receipt)
                    return Receipt(text=done.receipt, item=done.item)
                case Effect.PROBED if self._closed(page, item):
                    page.add(What.VOIDED, tool=tool, item=item, key=key)
                    self._session = page.add(What.OPEN).n
                    raise ClosedSessionError
            number = 0 if self._classes[tool] is Effect.IDEMPOTENT else len(page.lines) + 1
            text = f"R{number}/{tool}/{item}"
            page.add(What.EFFECT, tool=tool, item=item, key=key, after=after, receipt=text)
            return Receipt(text=text, item=item)

    def answer(self, tool: str, receipt: Receipt) -> str:
        """Let the answer leave the service."""
        self._log.add(What.RETURNED, tool=tool, item=receipt.item, receipt=receipt.text)
        return receipt.to_text()

    def breaks(self, tool: str, item: str, how: str) -> bool:
        """Return True if the line is cut now, which happens once for a call; log what had happened by then."""
        with self._log.locked() as page:
            if page.find(What.FAILED, tool=tool, item=item) is not None:
                return False
            page.add(What.FAILED, tool=tool, item=item, note=how)
            return True

    def post(self, tool: str, item: str, token: str) -> None:
        """Start work outside; the service that does it has the token from then on."""
        with self._log.locked() as page:
            receipt = f"R{len(page.lines) + 1}/{tool}/{item}"
            page.add(What.EFFECT, tool=tool, item=item, receipt=receipt)
            page.add(What.TOKEN, tool=tool, item=item, note=token, receipt=receipt)

    def cancel(self, tool: str, item: str) -> None:
        """Note that the caller does not wait any longer."""
        self._log.add(What.CANCELLED, tool=tool, item=item)

    def probe(self, item: str) -> str:
        """Return whether an effect exists for an item; a "no" closes the item to sessions that are already open."""
        with self._log.locked() as page:
            done = page.find(What.EFFECT, item=item)
            if done is None:
                page.add(What.PROBED, item=item, note="no")
                return json.dumps({"happened": False})
            page.add(What.PROBED, item=item, note="yes", tool=done.tool, receipt=done.receipt)
            return json.dumps(
                {"happened": True, "result": Receipt(text=done.receipt, item=item).to_text()}
            )

    def _closed(self, page: Page, item: str) -> bool:
        said_no = [
            line
            for line in page.lines
            if line.what is What.PROBED and line.item == item and line.note == "no"
        ]
        return any(line.n > self._session and line.life != self._log.life for line in said_no)
