"""Word pieces of the model, chosen so that a value is cut the same wherever it stands and can be copied piece by piece.

A text is cut into runs of letters, digits and ``_``, and single other characters; one blank between two runs is not
written, as it can be told. A run is cut further by byte-pair merges that hold no digit. A character that is in no
training text is written as its code point between two escape characters, so that every text comes back as it was.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.serialisation import END, MARKS, Segment

with needed():
    from tokenizers import Tokenizer, models, trainers

_RUN = re.compile(r"\w+|\W")
_ESCAPE = "\x1b"
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]+){_ESCAPE}")
_CONTINUED = "##"
_PRINTABLE = "".join(map(chr, range(32, 127))) + "\n\t" + _ESCAPE
PAD = 0


class Vocabulary:
    """Word pieces with their numbers; 0 is padding, then come the marks."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._pieces = {number: piece for piece, number in tokenizer.get_vocab().items()}
        self._known = frozenset(piece for piece in self._pieces.values() if len(piece) == 1)
        self.marks = {piece: number for number, piece in self._pieces.items() if piece in MARKS}
        self.mark_of = {number: mark for mark, number in self.marks.items()}
        self.end = self.marks[END]
        self._cuts: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._pieces)

    def numbers(self, text: str) -> list[int]:
        """Return the pieces of a text."""
        return [number for run in _runs(self._escaped(text)) for number in self._cut(run)]

    def _cut(self, run: str) -> tuple[int, ...]:
        found = self._cuts.get(run)
        if found is None:
            found = self._cuts[run] = tuple(self._tokenizer.encode(run).ids)
        return found

    def text(self, numbers: Sequence[int]) -> str:
        """Return the text of pieces; marks are not part of it."""
        found: list[str] = []
        word = False
        for number in numbers:
            piece = self._pieces[number]
            if number == PAD or number in self.mark_of:
                continue
            if piece.startswith(_CONTINUED) and len(piece) > len(_CONTINUED):
                found.append(piece[len(_CONTINUED) :])
                word = True
                continue
            begins = re.match(r"\w", piece) is not None
            found.append(f" {piece}" if word and begins else piece)
            word = begins
        return _ESCAPED.sub(lambda each: _character(each[1]), "".join(found))

    def segment(self, segment: Segment) -> list[int]:
        """Return the pieces of a statement."""
        own = [self.end] if segment.own else []
        return [*(self.marks[mark] for mark in segment.marks), *self.numbers(segment.text), *own]

    def save(self, path: Path) -> None:
        """Write the pieces to a file."""
        self._tokenizer.save(str(path))

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read the pieces from a file."""
        return cls(Tokenizer.from_file(str(path)))

    @classmethod
    def trained(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """Return the pieces that write some texts shortest.

        Args:
            texts: Training texts.
            size: Number of pieces, with padding and marks.
        """
        words: list[str] = []
        alphabet = set(_PRINTABLE)
        for text in texts:
            alphabet |= set(text)
            words += [part for run in _RUN.findall(text) for part in re.split(r"\d+", run) if part]
        words += [each * 2 if re.match(r"\w", each) else each for each in sorted(alphabet)]
        # Pieces within a word would get their numbers, and equal merges their order, as they come out of a hash table.
        inner = [f"{_CONTINUED}{each}" for each in sorted(alphabet) if re.match(r"\w", each)]
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=4,
            special_tokens=["<pad>", *MARKS, *inner],
            continuing_subword_prefix=_CONTINUED,
            show_progress=False,
        )
        tokenizer = Tokenizer(models.BPE(continuing_subword_prefix=_CONTINUED))
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer)

    def _escaped(self, text: str) -> str:
        return "".join(
            each if each in self._known and each != _ESCAPE else f"{_ESCAPE}{ord(each):x}{_ESCAPE}"
            for each in text
        )


def _runs(text: str) -> list[str]:
    """Return the runs of a text without the blanks that can be told."""
    return [
        each[0]
        for each in _RUN.finditer(text)
        if not (each[0] == " " and _between_words(text, each.start()))
    ]


def _between_words(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return bool(re.match(r"\w", before) and re.match(r"\w", after))


def _character(code: str) -> str:
    number = int(code, 16)
    return chr(number) if number < 0x110000 else ""
