"""Decoding: what the model says next, the likeliest piece at a time."""

from collections.abc import Sequence

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.network import Memory
from asyncguard_benchmark.learned.serialisation import Segment
from asyncguard_benchmark.learned.store import Trained

with needed():
    import torch
    from torch import Tensor

LONGEST_SPEECH = 400
"""Pieces after which a statement is cut off."""
LONGEST_CONTEXT = 4096
"""Pieces of a conversation that the model is shown; of a longer one the tasks and the end are."""


class Speaker:
    """Says the next statement of conversations, and keeps the state of the last one: the next begins like it."""

    def __init__(self, trained: Trained) -> None:
        torch.set_num_threads(1)  # a step is small, and episodes are played in several processes
        self._decoder = trained.decoder
        self.vocabulary = trained.vocabulary
        self._pieces: list[int] = []
        self._now = self._keys = torch.zeros(0)
        self._memories: list[Memory] = []

    @torch.inference_mode()
    def say(self, segments: Sequence[Segment]) -> tuple[list[str], str]:
        """Return the marks and the text of the model's next statement."""
        context = [number for each in segments for number in self.vocabulary.segment(each)]
        if len(context) > LONGEST_CONTEXT:
            half = LONGEST_CONTEXT // 2
            context = context[:half] + context[-half:]
        self._read(context)
        said: list[int] = []
        while len(said) < LONGEST_SPEECH:
            number = self._next()
            if number == self.vocabulary.end:
                break
            said.append(number)
            self._add([number])
        marks = [self.vocabulary.mark_of[each] for each in said if each in self.vocabulary.mark_of]
        return marks, self.vocabulary.text(said)

    def _read(self, context: list[int]) -> None:
        """Bring the state to the end of a context, from where it has been read before."""
        known = len(self._pieces)
        if not known or context[:known] != self._pieces or known == len(context):
            states, self._memories = self._decoder.hidden(torch.tensor([context]))
            self._now, self._keys = states[0, -1], self._decoder.point_to(states[0])
            self._pieces = list(context)
            return
        self._add(context[known:])

    def _add(self, numbers: list[int]) -> None:
        states, self._memories = self._decoder.hidden(
            torch.tensor([numbers]), len(self._pieces), self._memories
        )
        self._now = states[0, -1]
        self._keys = torch.cat((self._keys, self._decoder.point_to(states[0])))
        self._pieces += numbers

    def _next(self) -> int:
        pieces = torch.tensor(self._pieces)
        shares: Tensor = self._decoder.next_shares(self._now, self._keys, pieces)
        return int(shares.argmax())
