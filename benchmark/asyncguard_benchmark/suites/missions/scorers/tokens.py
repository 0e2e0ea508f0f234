"""Tokens of texts and ROUGE-L on them, as the published comparison of strings has them.

The published code cuts texts with jieba. For a text without Chinese characters that comes to the few rules below; a
text with such characters needs the optional extra `jieba` and its dictionary.
"""

import re
from collections.abc import Sequence
from importlib import import_module

from asyncguard_benchmark.errors import BenchmarkError

_CHINESE = re.compile(r"[\u4e00-\u9fd5]")
_BLOCKS = re.compile(r"([a-zA-Z0-9+#&._%\-]+)")
_NAMES = re.compile(r"(AT&T|[cC]\+\+|[cC]#)")
"""Words that the dictionary holds whole."""
_PARTS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_REST = re.compile(r"\r\n|.", re.DOTALL)


class MissingTokenizerError(BenchmarkError):
    """Texts with Chinese characters are compared by jieba: install it with `pip install 'asyncguard[jieba]'`."""


def tokens(text: str) -> list[str]:
    """Cut a text, blanks included.

    Raises:
        MissingTokenizerError: it holds Chinese characters, and jieba is not installed.
    """
    if _CHINESE.search(text):
        try:
            cut = import_module("jieba").cut
        except ImportError as problem:
            raise MissingTokenizerError(MissingTokenizerError.__doc__) from problem
        return [str(each) for each in cut(text)]
    found: list[str] = []
    for place, block in enumerate(_BLOCKS.split(text)):
        if place % 2 == 0:
            found += _REST.findall(block)
        else:
            for inner, piece in enumerate(_NAMES.split(block)):
                found += [piece] if inner % 2 else filter(None, _PARTS.split(piece))
    return found


def rouge_l(predicted: str, gold: str) -> float:
    """Return the F1 of the longest common subsequence of tokens; 0 if either text has none."""
    one, other = tokens(predicted), tokens(gold)
    if not one or not other:
        return 0.0
    common = _common(one, other)
    if not common:
        return 0.0
    precision, recall = common / len(other), common / len(one)
    return 2 * precision * recall / (precision + recall)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    Bits of an integer stand for places of `other`, so that long texts cost one pass over each (Hyyro 2004).
    """
    places: dict[str, int] = {}
    for number, token in enumerate(other):
        places[token] = places.get(token, 0) | 1 << number
    every = (1 << len(other)) - 1
    open_places = every
    for token in one:
        hit = open_places & places.get(token, 0)
        open_places = (open_places + hit | open_places - hit) & every
    return len(other) - open_places.bit_count()
