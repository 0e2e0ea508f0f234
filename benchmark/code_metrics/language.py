"""Check the language of texts: banned words, and docstrings that begin with a relative clause.

Texts in backticks are code and not checked. A word of ``BANNED`` is a finding unless it lies inside
a phrase of ``ALLOWED``. To ban a word, add it with what to write instead; to allow a phrase, add it
with the reason.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from code_metrics.texts import Kind, Text, document_texts, python_texts

_TO_BE = r"(?:is|are|was|were|be|been)"


@dataclass(frozen=True)
class BannedWord:
    """A word that the project does not use."""

    pattern: str
    """Regular expression, matched without regard to case and only at word boundaries."""
    instead: str
    """Advice: the words to write instead."""


@dataclass(frozen=True)
class AllowedPhrase:
    """A phrase in which a banned word is plain English."""

    pattern: str
    """Regular expression, matched without regard to case; it covers the banned word."""
    reason: str


BANNED = (
    BannedWord(
        "nobody", "name the subject: 'no process', 'no caller'; or the passive: 'is not read'"
    ),
    BannedWord("somebody", "name the subject: 'another process', 'the caller', 'an operator'"),
    BannedWord("anybody", "name the subject: 'any process', 'any caller'"),
    BannedWord("whoever", "name the subject: 'the process that ...', 'the caller that ...'"),
    BannedWord("whomever", "name the object: 'the process that ...', 'the caller that ...'"),
    BannedWord("anew", "'again', or a verb with 're-': 'recreate', 'retry'"),
    BannedWord(rf"{_TO_BE}\s+no(?!-)", "'is not a X'; in a message 'must be a X, not Y'"),
    BannedWord("behind", "'after' for time and order, 'below' or 'next to' for place"),
)
ALLOWED = (
    AllowedPhrase(
        rf"\bthere\s+(?:\w+\s+){{0,2}}{_TO_BE}\s+no\b", "'there is no X' says that X is absent"
    ),
    AllowedPhrase(rf"\b{_TO_BE}\s+no\s+(?:longer|more|less|fewer|better|worse)\b", "a comparison"),
    AllowedPhrase(rf"\b{_TO_BE}\s+no\s+\w+er\s+than\b", "a comparison: 'is no older than'"),
    AllowedPhrase(rf"\bdefaults?\s+{_TO_BE}\s+no\b", "a default can be that something is absent"),
    AllowedPhrase(
        r"\b(?:leav\w+|left)\b[^.,:;]{0,40}?\bbehind\b", "what remains: 'leaves no lock behind'"
    ),
    AllowedPhrase(r"\bstay\w*\s+behind\b", "what remains: 'the file stays behind'"),
    AllowedPhrase(
        r"\b(?:lag\w*|fall\w*|fell)\s+(?:\w+\s+)?behind\b", "lagging is what the word means"
    ),
    AllowedPhrase(rf"\b{_TO_BE}\s+behind(?=\s*(?:[.,;:)]|$))", "lagging: 'the state is behind'"),
    AllowedPhrase(
        r"\bbehind\s+(?:(?:the|its|our|their)\s+)?(?:backs?|scenes|times|schedule)\b",
        "idioms: 'closed behind our back', 'behind the times'",
    ),
    AllowedPhrase(
        r"\bbehind\s+(?:(?:an?|the|its|this|that|another|one|all|any)\s+)?(?:[\w-]+\s+){0,2}?"
        r"(?:proxy|proxies|firewall|gateway|load\s+balancer|circuit\s+breaker|flag|lock"
        r"|barrier|ports?|interface|middleware|state\s+machine|front\s+ends?|guards?|asyncguard"
        r"|library)\b",
        "shielded or hidden by something: 'behind a proxy', 'behind the guards'",
    ),
    AllowedPhrase(
        r"\b(?:data|service|reason|figures|draws)\s+behind\b",
        "what underlies: 'the data behind a chart'",
    ),
)
_BANNED = [(re.compile(rf"\b{word.pattern}\b", re.IGNORECASE), word) for word in BANNED]
_ALLOWED = [re.compile(phrase.pattern, re.IGNORECASE) for phrase in ALLOWED]
_RELATIVE = re.compile(r"\s*(?:What|Whether|Who|Which|Where|How|Why)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class BannedUse:
    """A place where a banned word stands."""

    line: int
    kind: Kind
    found: str
    """The word as it is written."""
    instead: str

    def __str__(self) -> str:
        return f"{self.kind} says {self.found!r}; instead: {self.instead}"


def banned_uses(texts: Iterable[Text]) -> Iterator[BannedUse]:
    """Yield the banned words of texts with their lines."""
    for text in texts:
        prose = text.without_code()
        hits = [(found, word) for pattern, word in _BANNED for found in pattern.finditer(prose)]
        if not hits:  # the allowed phrases are long expressions, and hits are rare
            continue
        allowed = [found.span() for pattern in _ALLOWED for found in pattern.finditer(prose)]
        for found, word in sorted(hits, key=lambda hit: hit[0].start()):
            if not any(start <= found.start() and found.end() <= end for start, end in allowed):
                yield BannedUse(
                    line=text.line + prose.count("\n", 0, found.start()),
                    kind=text.kind,
                    found=" ".join(found[0].split()),
                    instead=word.instead,
                )


def begins_with_relative_clause(text: str) -> bool:
    """Return True if a docstring begins with What, Whether, Who, Which, Where, How or Why."""
    return _RELATIVE.match(text) is not None


def texts_of(path: Path) -> list[Text]:
    """Return the texts of a Python file or Markdown document."""
    source = path.read_text(encoding="utf-8")
    return document_texts(source) if path.suffix == ".md" else python_texts(source)


def text_files(place: Path) -> list[Path]:
    """Return the Python files and Markdown documents below a folder, or the file itself."""
    if place.is_file():
        return [place]
    return sorted(
        path
        for path in place.rglob("*")
        if path.suffix in (".py", ".md")
        and not any(part.startswith(".") for part in path.relative_to(place).parts)
    )
