"""Refusing calls by their number, whatever they are: what sham guards and paired continuations are made of."""

from collections.abc import Mapping

GAP = "{call}"
"""Stands in a text where the refused call is named."""


class Refuser:
    """Refusals of the calls of one episode, by their number."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.made = 0
        """Number of calls that were refused so far."""
        self._texts = texts
        self._seen = 0

    def __call__(self, tool: str) -> str | None:
        """Return the refusal of the next call, or None; to be asked once for each call that the agent makes."""
        text = self._texts.get(self._seen)
        self._seen += 1
        self.made += text is not None
        return None if text is None else text.replace(GAP, tool)
