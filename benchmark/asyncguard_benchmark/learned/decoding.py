"""The model piece by piece: the calculation of `network`, with a state that is kept.

A step of one piece is bound by the number of operations and by reading the weights, not by arithmetic. So the modules
of `network` are not called here: scales of norms, of scores and of rotary halves are multiplied into the weights once,
a convolution is a sum over the last inputs, and states stand in buffers with room for the longest text. For the same
reason a step of several pieces costs little more than a step of one.
"""

from collections.abc import Sequence

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.network import POINTER, REACH, Decoder, turns

with needed():
    import torch
    from torch import Tensor
    from torch.nn import functional

_BLOCK = 128
"""Pieces that are read at once."""


class _Layer:
    """A layer with the state of every piece read."""

    def __init__(self, weights: dict[str, Tensor], heads: int, room: int) -> None:
        width = weights["out.weight"].shape[0]
        self._heads, self._head = heads, width // heads
        # A state is divided by its length, not by the root of its mean square, which is `root` times less.
        root = width**0.5
        self._mix = weights["mix.weight"][:, 0].T * weights["mix_norm.weight"] * root
        self._mix_bias = weights["mix.bias"]
        into = weights["into.weight"] * weights["attention_norm.weight"] * root
        query, key, value = into.view(3, heads, 2, self._head // 2, width)
        # The halves of a head that turn together stand side by side: the parts of a complex number.
        turned = torch.stack((query * self._head**-0.5, key)).transpose(2, 3)
        self._into = torch.cat((turned.reshape(2 * width, width), value.reshape(width, width)))
        self._out = weights["out.weight"].T
        self._wider = (weights["inner.0.weight"] * weights["inner_norm.weight"] * root).T
        self._wider_bias = weights["inner.0.bias"]
        self._narrower, self._narrower_bias = weights["inner.2.weight"].T, weights["inner.2.bias"]
        self._inputs = torch.zeros(REACH - 1 + room, width)
        """Inputs of the convolution, after zeros where the text has not begun."""
        self._keys = torch.empty(heads, room, self._head)
        self._values = torch.empty(heads, room, self._head)

    def outputs(self, x: Tensor, turn: Tensor, later: Tensor, start: int) -> Tensor:
        """Return the outputs for the pieces from `start` on, and keep their state.

        Args:
            x: Inputs, shape (length, width).
            turn: Rotary positions as complex numbers, shape (length, 1, head / 2).
            later: 0, and minus infinity where a piece (row) does not see another (column), both counted from `start`.
            start: Position of the first piece.
        """
        length, width = x.shape
        end = start + length
        self._inputs[start + REACH - 1 : end + REACH - 1] = _unit(x)
        windows = self._inputs.as_strided((length, REACH, width), (width, width, 1), start * width)
        x = x + self._mix_bias + (windows * self._mix).sum(1)
        parts = functional.linear(_unit(x), self._into)
        pairs = torch.view_as_complex(
            parts[:, : 2 * width].view(length, 2 * self._heads, self._head // 2, 2)
        )
        both = torch.view_as_real(pairs * turn).view(length, 2, self._heads, self._head)
        self._keys[:, start:end] = both[:, 1].transpose(0, 1)
        self._values[:, start:end] = (
            parts[:, 2 * width :].view(length, self._heads, self._head).transpose(0, 1)
        )
        scores = torch.bmm(both[:, 0].transpose(0, 1), self._keys[:, :end].transpose(1, 2))
        if length > 1:
            scores[:, :, start:] += later
        seen = torch.bmm(scores.softmax(-1), self._values[:, :end])
        x = torch.addmm(x, seen.transpose(0, 1).reshape(length, width), self._out)
        inner = functional.gelu(torch.addmm(self._wider_bias, _unit(x), self._wider))
        return torch.addmm(x + self._narrower_bias, inner, self._narrower)


class Reading:
    """A text that the model has read, and what it takes to be next; the text can be cut and gone on with.

    Args:
        decoder: The model.
        room: Pieces of the longest text.
    """

    def __init__(self, decoder: Decoder, room: int) -> None:
        self.pieces: list[int] = []
        """The text; it changes by `add` and `cut` only."""
        shape = decoder.shape
        weights = {name: each.detach() for name, each in decoder.state_dict().items()}
        self._embedding = weights["embedding.weight"]
        self._layers = [
            _Layer(
                {
                    name.removeprefix(begin): each
                    for name, each in weights.items()
                    if name.startswith(begin)
                },
                shape.heads,
                room,
            )
            for begin in (f"layers.{number}." for number in range(shape.layers))
        ]
        scale = weights["norm.weight"] * shape.width**0.5
        self._vocabulary = weights["embedding.weight"] * scale
        self._point_from = weights["point_from.weight"] * scale / POINTER**0.5
        self._point_to = weights["point_to.weight"] * scale
        self._gate, self._gate_bias = weights["gate.weight"] * scale, weights["gate.bias"]
        self._turns = torch.complex(*turns(room, shape.width // shape.heads))[:, None]
        self._later = torch.full((_BLOCK, _BLOCK), float("-inf")).triu(1)
        self._numbers = torch.zeros(room, dtype=torch.long)
        self._keys = torch.empty(room, POINTER)
        """Keys of the pointer: of a state for the piece after it."""
        self._states = torch.empty(0, shape.width)
        """States of the pieces added last, of length 1."""

    def cut(self, length: int) -> None:
        """Forget the pieces after a length."""
        del self.pieces[length:]

    def add(self, numbers: Sequence[int]) -> None:
        """Read on."""
        for at in range(0, len(numbers), _BLOCK):
            self._add(numbers[at : at + _BLOCK])

    def _add(self, numbers: Sequence[int]) -> None:
        start, length = len(self.pieces), len(numbers)
        end = start + length
        self._numbers[start:end] = torch.tensor(numbers)
        x = self._embedding[self._numbers[start:end]]
        turn, later = self._turns[start:end], self._later[:length, :length]
        for layer in self._layers:
            x = layer.outputs(x, turn, later, start)
        self._states = _unit(x)
        self._keys[start:end] = functional.linear(self._states, self._point_to)
        self.pieces += numbers

    def next_shares(self, asked: int = 1) -> tuple[Tensor, Tensor]:
        """Return the next piece of the text, and of the text cut after each of its last pieces.

        Args:
            asked: Number of these pieces; all were added at once and last, and the text began before them.

        Returns:
            The probability of each piece of the vocabulary, shape (asked, pieces of the vocabulary), and the position
            of the piece that the pointer would copy, shape (asked,).
        """
        states, end = self._states[-asked:], len(self.pieces)
        chosen = functional.linear(states, self._vocabulary).softmax(-1)
        # The state at j - 1 is the key of the piece at j: it is what stood before that piece.
        scores = functional.linear(
            functional.linear(states, self._point_from), self._keys[: end - 1]
        )
        scores[:, end - asked :] += self._later[:asked, 1:asked]
        copied = torch.zeros_like(chosen).scatter_add_(
            1, self._numbers[1:end].expand(asked, -1), scores.softmax(-1)
        )
        gate = functional.linear(states, self._gate, self._gate_bias).sigmoid()
        shares = (1 - gate) * chosen + gate * copied
        return shares, scores.argmax(-1) + 1


def _unit(x: Tensor) -> Tensor:
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
