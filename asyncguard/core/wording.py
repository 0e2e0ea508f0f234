"""Running text: which of its words state something, and which are only the way it is put."""

import re
from collections.abc import Sequence

_CLOSED_CLASSES = (
    # Articles, determiners, pronouns
    "a an the this that these those i me my mine myself you your yours he him his she her hers it",
    "its we us our ours they them their theirs who whom whose which what one ones some any each",
    "every all both either neither none no other others another such same own much many more most",
    "few less least several something anything everything nothing someone anyone everyone",
    # Prepositions, conjunctions
    "of in on at to from by with without for about into onto over under up down out off before",
    "after during between through against within upon since until till while as than like per via",
    "and or but nor so yet if then else because although though unless whether when where why how",
    # Auxiliaries and verbs of request
    "be am is are was were been being do does did done doing have has had having will would shall",
    "should can could may might must let lets get got make made take taken want wants wanted need",
    "needs needed ask asks asked like please thank thanks kindly ok okay yes not only just also",
    "too very now here there again still already soon later first last next well back",
    # Remains of contractions
    "s t re ve ll d m don doesn didn isn aren wasn weren won wouldn shouldn couldn can hasn haven",
)
_FUNCTION_WORDS = frozenset(word for line in _CLOSED_CLASSES for word in line.split())
"""English only; in other languages every word counts as one that states something."""
_STOCK = (
    "hello hi hey dear regards question update request reminder invitation meeting news info",
    "information follow followup quick short brief important urgent new regarding re fwd subject",
    "note message reply answer summary details report",
)
_STOCK_WORDS = frozenset(word for line in _STOCK for word in line.split())
"""Words of which a title or a greeting can consist, whatever it is about."""
_QUESTION = re.compile(r"[?\uff1f\u061f](?=[\s\"'*_)\]\u201d\u2019]*(?:\s|$))")
_NAME = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_OPENING = re.compile(r"(?:^|[.!?:;\n])[\s\"'()\[\]*\u2018-\u201f\u00ab\u00bb\u2022-]*$")
_NEAR = 8
"""Characters before a word in which a sentence may begin."""


def content_words(words: Sequence[str]) -> list[str]:
    """Return the words of a folded text that state something."""
    return [word for word in words if word not in _FUNCTION_WORDS]


def stated_words(words: Sequence[str]) -> list[str]:
    """Return the content words of a folded text that are about something."""
    return [word for word in content_words(words) if word not in _STOCK_WORDS]


def asks(text: str) -> bool:
    """Return True if the last paragraph of a text holds a question."""
    return _QUESTION.search(text.strip().rpartition("\n\n")[2]) is not None


def names(text: str) -> list[str]:
    """Return the words of a text, not folded, that are written as names: with a capital letter.

    The word that begins a sentence may be any word.
    """
    return [
        found[0]
        for found in _NAME.finditer(text)
        if found[0] != found[0].lower()
        and not _OPENING.search(text[max(0, found.start() - _NEAR) : found.start()])
    ]
