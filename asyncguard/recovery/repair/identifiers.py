"""Comparison of field names by their writing alone."""

import re

_BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_JOINER = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
_MAX_SHOWN = 40


def words(name: str) -> tuple[str, ...]:
    """Return the words of a field name in lower case, whatever joins them.

    ``netWeight``, ``net_weight`` and ``net-weight`` have the same words.
    """
    spelled = re.split(r"[\W_]+", _BOUNDARY.sub(" ", name))
    return tuple(word.casefold() for word in spelled if word) or (name.casefold(),)


def folded(name: str) -> str:
    """Return a name without its writing: case, and what joins its words, do not count.

    Signs and letters do. Two numbers stay apart (``1_2`` is not ``12``), and so does what stands
    before or after the name (``A-``, ``_id``).
    """
    return _JOINER.sub(_joined, name).casefold()


def _joined(joiner: re.Match[str]) -> str:
    before, after = joiner.string[joiner.start() - 1], joiner.string[joiner.end()]
    return "_" if before.isdigit() and after.isdigit() else ""


def shown(name: object) -> str:
    """Return a field name for a message: quoted, and cut to a bounded length."""
    text = str(name)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…")
