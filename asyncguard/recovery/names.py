"""Names of fields: which are the same name written differently, which are alike, and which are opposites."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_MAX_SHOWN = 40
_SHORTEST_ABBREVIATION = 3

_OPPOSITES: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        (
            "origin from source start departure depart sender shipper payer debit debtor pickup",
            "destination dest to target end arrival arrive recipient receiver consignee payee credit creditor "
            "dropoff beneficiary",
        ),
        ("first begin", "last finish"),
        ("min minimum lowest lower least low", "max maximum highest upper most high"),
        ("net", "gross"),
        ("old before previous prior", "new after next"),
        ("buy bid purchase", "sell ask sale"),
        ("in inbound import incoming", "out outbound export outgoing"),
        ("open opening opened", "close closing closed"),
        ("planned scheduled expected estimated forecast", "actual real measured observed"),
        ("width", "height length depth"),
        ("latitude lat", "longitude lon lng"),
        ("income revenue", "cost expense"),
        ("paid", "due owed outstanding"),
        ("used consumed", "available free remaining left"),
        ("principal", "interest"),
    )
)
"""Words that stand for different sides of a thing: a field of one side is never one of the other under a new name."""

_QUALIFIER_TEXT = (
    "max maximum min minimum limit fee tax discount tip deposit balance threshold cap previous old new estimated "
    "planned average mean median net gross sub reserve penalty bonus surcharge"
)
_QUALIFIERS = frozenset(_QUALIFIER_TEXT.split())
"""Words that make another thing of what they stand with (``amount``, ``max_amount``)."""

_STOP_TEXT = (
    "a an the of in for to from is are as by per on at with and or this that which its it be been was were will has "
    "have how what where when who one each any all must may can should given optional required"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""Words of descriptions that tell fields apart by accident only."""
_TURNING_TEXT = "not no except unlike instead rather without never before after formerly previously"
_TURNING = frozenset(_TURNING_TEXT.split())
"""Words after which a description speaks of something that the field is not, or not any more."""


def words(name: str) -> tuple[str, ...]:
    """The words of a field name in lower case, whatever joins them (``netWeight``, ``net_weight``, ``net-weight``)."""
    return tuple(word.lower() for word in _WORD.findall(name)) or (name.casefold(),)


def folded(name: str) -> str:
    """A field name without the way it is written."""
    return "".join(words(name))


def stems(spelled: Iterable[str]) -> frozenset[str]:
    """Words without the plural."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in spelled
    )


def description_words(text: str) -> frozenset[str]:
    """What a description says about a field; nothing if it also speaks of what the field is not."""
    spelled = words(text)
    if not _TURNING.isdisjoint(spelled):
        return frozenset()
    return stems(spelled) - STOP_WORDS


def opposite(first: str, second: str) -> bool:
    """Whether two names stand for different sides of a thing."""
    one, other = frozenset(words(first)), frozenset(words(second))
    return any(
        (left & one and right & other and not left & other) or (right & one and left & other and not right & other)
        for left, right in _OPPOSITES
    )


def apart(first: str, second: str) -> bool:
    """Whether two names cannot be old and new name of one field, short of a declaration that says so."""
    return opposite(first, second) or not _QUALIFIERS.isdisjoint(set(words(first)) ^ set(words(second)))


def alike(first: str, second: str) -> bool:
    """Whether two names have half of their words in common, or are one word and its abbreviation (``qty``).

    Words of one side of a journey or a payment count as one word: ``from_account`` is ``source_account``.
    """
    one, other = _sided(first), _sided(second)
    if 2 * len(one & other) >= len(one | other):
        return True
    if len(one) != 1 or len(other) != 1:
        return False
    short, long = sorted((*one, *other), key=len)
    return _abbreviates(short, long)


def _sided(name: str) -> frozenset[str]:
    spelled = stems(words(name))
    for side, word in zip(_OPPOSITES[0], ("<from>", "<to>"), strict=True):
        if spelled & side:
            spelled = (spelled - side) | {word}
    return spelled


def _abbreviates(short: str, long: str) -> bool:
    if len(short) < _SHORTEST_ABBREVIATION or len(short) >= len(long) or short[0] != long[0]:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


def shown(name: object) -> str:
    """A field name for a message: quoted, and not longer than a name is."""
    text = str(name)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…")


def pointer(path: Iterable[object]) -> str:
    """JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)
