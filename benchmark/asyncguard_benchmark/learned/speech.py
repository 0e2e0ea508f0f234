"""Decoding: what the model says next, the likeliest piece at a time.

A step with several pieces costs little more than a step with one, so the model's pointer is believed at first: where
the last piece is one that it would copy, the pieces after that place are guessed to follow. The model reads the guess
at once; the part of it that the model would have said is said, and the rest is forgotten. A guess saves or costs time
and changes no word.
"""

from array import array
from collections.abc import Sequence
from hashlib import sha256

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.decoding import Reading
from asyncguard_benchmark.learned.serialisation import Segment
from asyncguard_benchmark.learned.store import Trained

with needed():
    import torch

LONGEST_SPEECH = 400
"""Pieces after which a statement is cut off."""
LONGEST_CONTEXT = 4096
"""Pieces of a conversation that the model is shown; of a longer one the tasks and the end are, see `shown`."""
LEFT_OUT = 1024
"""Pieces that are left out at a time, so that what was read stays the beginning of what is shown for many turns."""
SHORTEST_GUESS = 4
LONGEST_GUESS = 16
"""Pieces of a guess: so many more than were right the last time, and at most as many as this."""
MOST_KNOWN = 8192
"""Statements that are kept."""


class Speaker:
    """Says the next statement of conversations, and keeps the state of the last one: the next begins like it.

    Args:
        trained: The model.
        known: Statements by the digest of what they answer, shared by speakers of one model. A sham begins as the
            episodes with all and with no guards, which are played by themselves, too.
    """

    def __init__(self, trained: Trained, known: dict[bytes, list[int]] | None = None) -> None:
        torch.set_num_threads(1)  # a step is small, and episodes are played in several processes
        self.vocabulary = trained.vocabulary
        self._reading = Reading(trained.decoder, LONGEST_CONTEXT + LONGEST_SPEECH)
        self._numbers: dict[Segment, list[int]] = {}
        self._known = {} if known is None else known

    @torch.inference_mode()
    def say(self, segments: Sequence[Segment]) -> tuple[list[str], str]:
        """Return the marks and the text of the model's next statement."""
        context = [number for each in segments for number in self._numbers_of(each)]
        context = shown(context)
        digest = sha256(array("i", context)).digest()
        said = self._known.get(digest)
        if said is None:
            self._read(context)
            said = self._known[digest] = self._said()
            if len(self._known) > MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
        marks = [self.vocabulary.mark_of[each] for each in said if each in self.vocabulary.mark_of]
        return marks, self.vocabulary.text(said)

    def _said(self) -> list[int]:
        """Return the pieces that the model says after what was read."""
        reading = self._reading
        said: list[int] = []
        guess: list[int] = []
        while True:
            shares, copied = reading.next_shares(1 + len(guess))
            likeliest = shares.argmax(-1).tolist()
            right = next((n for n, each in enumerate(guess) if each != likeliest[n]), len(guess))
            reading.cut(len(reading.pieces) - len(guess) + right)
            said += guess[:right]
            if likeliest[right] == self.vocabulary.end or len(said) == LONGEST_SPEECH:
                return said
            said.append(likeliest[right])
            most = min(SHORTEST_GUESS + right, LONGEST_GUESS, LONGEST_SPEECH - len(said))
            guess = self._guess(likeliest[right], int(copied[right]), most)
            reading.add([likeliest[right], *guess])

    def _guess(self, number: int, place: int, most: int) -> list[int]:
        """Return the pieces that followed a place of the text if the piece there is the one just said."""
        pieces = self._reading.pieces
        if pieces[place] != number:
            return []
        found = pieces[place + 1 : place + 1 + most]
        return found[: found.index(self.vocabulary.end)] if self.vocabulary.end in found else found

    def _numbers_of(self, segment: Segment) -> list[int]:
        found = self._numbers.get(segment)
        if found is None:
            found = self._numbers[segment] = self.vocabulary.segment(segment)
        return found

    def _read(self, context: list[int]) -> None:
        """Bring the state to the end of a context, from where it differs from what was read before."""
        pairs = zip(context, self._reading.pieces, strict=False)
        same = next(
            (at for at, (new, old) in enumerate(pairs) if new != old), len(self._reading.pieces)
        )
        kept = min(same, len(context) - 1)  # the state of the last piece is needed, so one is read
        self._reading.cut(kept)
        self._reading.add(context[kept:])


def shown(context: list[int]) -> list[int]:
    """Return the part of a conversation that the model is shown.

    Of one longer than `LONGEST_CONTEXT` the first half of this length stays, and a multiple of `LEFT_OUT` pieces after
    it is left out. If the part were always as long as it may be, it would differ in the middle at every turn, and all
    pieces after that would be read again.
    """
    over = max(len(context) - LONGEST_CONTEXT, 0)
    half = LONGEST_CONTEXT // 2
    left_out = -(-over // LEFT_OUT) * LEFT_OUT
    return context[:half] + context[half + left_out :]
