"""The model: a small causal decoder with a pointer that copies, of standard torch modules.

Each layer mixes neighbours (a depthwise causal convolution), attends to everything before (rotary positions) and
transforms. The next piece is drawn from a mixture: of all pieces, and of the pieces of the context, each weighted by
how well what stood before it fits what stands before now. The second part lets so small a model copy values that it
never saw: what is learnt is where to point.
"""

from dataclasses import asdict, dataclass

from typing_extensions import override

from asyncguard_benchmark.learned.absent import needed

with needed():
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

REACH = 4
"""Pieces that a convolution sees, the present one among them."""
POINTER = 64
"""Width of the pointer's keys."""
_TINY = 1e-8


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Size of a model."""

    pieces: int
    width: int = 192
    layers: int = 4
    heads: int = 6

    def to_json(self) -> dict[str, int]:
        """Return the sizes by name."""
        return asdict(self)


class _Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self._heads = shape.heads
        self.mix_norm = nn.RMSNorm(width)
        self.mix = nn.Conv1d(width, width, REACH, groups=width)
        self.attention_norm = nn.RMSNorm(width)
        self.into = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.inner_norm = nn.RMSNorm(width)
        self.inner = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """Return the outputs."""
        batch, length, width = x.shape
        mixed = functional.pad(self.mix_norm(x), (0, 0, REACH - 1, 0))
        x = x + self.mix(mixed.transpose(1, 2)).transpose(1, 2)
        parts = self.into(self.attention_norm(x)).view(batch, length, 3, self._heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        query, key = _turned(query, turn), _turned(key, turn)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.inner(self.inner_norm(x))


class Decoder(nn.Module):
    """The model."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.pieces, shape.width)
        self.layers = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        self.point_from = nn.Linear(shape.width, POINTER, bias=False)
        self.point_to = nn.Linear(shape.width, POINTER, bias=False)
        self.gate = nn.Linear(shape.width, 1)
        nn.init.normal_(self.embedding.weight, std=0.05)

    def hidden(self, pieces: Tensor) -> Tensor:
        """Return the last hidden states, shape (texts, length, width).

        Args:
            pieces: Numbers of the pieces, shape (texts, length).
        """
        turn = turns(pieces.shape[1], self.shape.width // self.shape.heads)
        x = self.embedding(pieces)
        for layer in self.layers:
            x = layer(x, turn)
        states: Tensor = self.norm(x)
        return states

    @override
    def forward(
        self, pieces: Tensor, wanted: Tensor, layers_in: torch.dtype = torch.float32
    ) -> Tensor:
        """Return the negative log-likelihood of each next piece, shape (wanted pieces,).

        Args:
            pieces: Numbers of the pieces, shape (texts, length); padding is 0 and at the end.
            wanted: True where the next piece counts, shape (texts, length - 1).
            layers_in: Type in which the layers calculate. Scores of pieces and of places are in single precision: of
                two that point to places alike, half of it would round the difference away.
        """
        with torch.autocast("cpu", layers_in, enabled=layers_in != torch.float32):
            states = self.hidden(pieces[:, :-1])
        states = states.float()
        rows, columns = wanted.nonzero(as_tuple=True)
        now, target = states[rows, columns], pieces[rows, columns + 1]
        chosen = functional.log_softmax(now @ self.embedding.weight.T, -1)
        chosen = chosen.gather(1, target[:, None])[:, 0]
        # The state at j - 1 is the key of the piece at j: it is what stood before that piece.
        # All pairs at once: keys gathered for each wanted piece took a fifth of a step.
        scores = (self.point_from(states) @ self.point_to(states).mT)[rows, columns]
        places = torch.arange(states.shape[1])[None, :]
        scores = (scores / POINTER**0.5).masked_fill(places >= columns[:, None], float("-inf"))
        weights = functional.softmax(scores, -1).nan_to_num()
        copied = (weights * (pieces[rows, 1:] == target[:, None])).sum(-1)
        gate = self.gate(now)[:, 0]
        return -torch.logaddexp(
            functional.logsigmoid(-gate) + chosen,
            functional.logsigmoid(gate) + (copied + _TINY).log(),
        )


def turns(length: int, head: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of rotary positions, shape (length, head / 2)."""
    speeds = 10000.0 ** (-torch.arange(0, head, 2) / head)
    angles = torch.arange(length)[:, None] * speeds[None, :]
    return angles.cos(), angles.sin()


def _turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cosines, sines = turn
    left, right = x.chunk(2, -1)
    return torch.cat((left * cosines - right * sines, left * sines + right * cosines), -1)
