"""Refusing calls by their number, whatever they are: what sham guards and paired continuations are made of."""

from collections.abc import Mapping, Sequence

GAP = "{call}"
"""Stands in a text where the refused call is named."""


class Refuser:
    """Refusals of the calls of one episode, by their number, and reminders when it is to end."""

    def __init__(self, texts: Mapping[int, str], reminders: Sequence[str] = ()) -> None:
        self.made = 0
        """Number of calls that were refused so far."""
        self.reminded = 0
        """Number of times that the end was put off by a reminder."""
        self._texts = texts
        self._reminders = reminders
        self._seen = 0

    def __call__(self, tool: str) -> str | None:
        """Return the refusal of the next call, or None; to be asked once for each call that the agent makes."""
        text = self._texts.get(self._seen)
        self._seen += 1
        self.made += text is not None
        return None if text is None else text.replace(GAP, tool)

    def remind(self) -> str | None:
        """Return the next reminder, or None if the run may end; to be asked when the agent says that all is done."""
        if self.reminded == len(self._reminders):
            return None
        self.reminded += 1
        return self._reminders[self.reminded - 1]
