"""Decoding: what the model says next, the likeliest piece at a time."""

from collections.abc import Sequence

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.network import Memory
from asyncguard_benchmark.learned.serialisation import Segment
from asyncguard_benchmark.learned.store import Trained

with needed():
    import torch

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
        self._memories = [Memory(trained.decoder.shape) for _ in trained.decoder.layers]
        self._states = torch.zeros(0, trained.decoder.shape.width)

    @torch.inference_mode()
    def say(self, segments: Sequence[Segment]) -> tuple[list[str], str]:
        """Return the marks and the text of the model's next statement."""
        context = [number for each in segments for number in self.vocabulary.segment(each)]
        if len(context) > LONGEST_CONTEXT:
            half = LONGEST_CONTEXT // 2
            context = context[:half] + context[-half:]
        self._read(context)
        keys = self._decoder.point_to(self._states)
        said: list[int] = []
        while len(said) < LONGEST_SPEECH:
            shares = self._decoder.next_shares(self._states[-1], keys, torch.tensor(self._pieces))
            number = int(shares.argmax())
            if number == self.vocabulary.end:
                break
            said.append(number)
            self._add([number])
            keys = torch.cat((keys, self._decoder.point_to(self._states[-1:])))
        marks = [self.vocabulary.mark_of[each] for each in said if each in self.vocabulary.mark_of]
        return marks, self.vocabulary.text(said)

    def _read(self, context: list[int]) -> None:
        """Bring the state to the end of a context, from where it differs from what was read before."""
        pairs = zip(context, self._pieces, strict=False)
        same = next((at for at, (new, old) in enumerate(pairs) if new != old), len(self._pieces))
        kept = min(same, len(context) - 1)  # the state of the last piece is needed, so one is read
        del self._pieces[kept:]
        self._states = self._states[:kept]
        self._add(context[kept:])

    def _add(self, numbers: list[int]) -> None:
        states = self._decoder.hidden(torch.tensor([numbers]), len(self._pieces), self._memories)
        self._states = torch.cat((self._states, states[0]))
        self._pieces += numbers
