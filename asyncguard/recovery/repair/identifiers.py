"""Names of fields, compared by how they are written and by nothing else."""

import re

_BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_JOINER = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
_MAX_SHOWN = 40


def words(name: str) -> tuple[str, ...]:
    """The words of a field name in lower case, whatever joins them (``netWeight``, ``net_weight``, ``net-weight``)."""
    spelled = re.split(r"[\W_]+", _BOUNDARY.sub(" ", name))
    return tuple(word.casefold() for word in spelled if word) or (name.casefold(),)


def folded(name: str) -> str:
    """A name without the way it is written: case, and what joins its words, do not count; signs and letters do.

    Two numbers stay apart (``1_2`` is not ``12``), and what stands before or after the name (``A-``, ``_id``) stays.
    """
    return _JOINER.sub(_joined, name).casefold()


def _joined(joiner: re.Match[str]) -> str:
    before, after = joiner.string[joiner.start() - 1], joiner.string[joiner.end()]
    return "_" if before.isdigit() and after.isdigit() else ""


def shown(name: object) -> str:
    """A field name for a message: quoted, and not longer than a name is."""
    text = str(name)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…")
