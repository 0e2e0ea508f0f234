"""Which field of one contract is which field of another.

A wrong match moves money to the wrong account, so that evidence has to point in one direction only: the same name, a
declared alias, the same name written or nested differently, the same description, words that no other pair shares. What
is left over is matched by its type only where it is the only one of its kind on both sides; two fields of one type
whose names both changed stay unmatched.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.names import alike, apart, description_words, folded, opposite, shown, stems, words
from asyncguard.recovery.naming import unit_owner
from asyncguard.recovery.scalars import is_pinned
from asyncguard.recovery.shapes import field_aliases, kinds, main_form, properties, unit_text
from asyncguard.recovery.units import unit_named

Path = tuple[str, ...]
_MAX_DEPTH = 5
_OVERLAP = 0.5
"""Share of common words from which two descriptions speak of the same thing."""


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A field that holds a value: no object with declared fields."""

    path: Path
    """Names from the root on."""
    schema: Mapping[str, Any]
    """Its schema, of a value that is there."""
    position: int
    """Place among the leaves of the contract."""

    @property
    def name(self) -> str:
        """Its own name, empty for the root."""
        return self.path[-1] if self.path else ""

    @property
    def description(self) -> str:
        """Title and description."""
        return " ".join(str(self.schema[key]) for key in ("title", "description") if self.schema.get(key))

    @property
    def is_number(self) -> bool:
        """Whether it may hold a number."""
        return not kinds(self.schema).isdisjoint({"number", "integer"})

    @property
    def holds_unit(self) -> bool:
        """Whether it holds the name of a unit."""
        return unit_owner(self.name) is not None

    @property
    def shown(self) -> str:
        """For a message."""
        return f"of {shown('.'.join(self.path))}" if self.path else "of the whole"

    @property
    def vocabulary(self) -> frozenset[str]:
        """Words of name and description, without units: what many fields share tells none of them."""
        spelled = stems(words(self.name)) | description_words(self.description)
        return frozenset(word for word in spelled if unit_named(word) is None)

    @property
    def signature(self) -> str:
        """What its values look like."""
        told = {key: self.schema[key] for key in ("format", "pattern", "enum", "const") if key in self.schema}
        unit = unit_named(unit_text(self.schema) or "")
        dimension = unit.dimension if unit is not None else unit_text(self.schema)
        return json.dumps([sorted(kinds(self.schema)), told, dimension], sort_keys=True, default=str)


Link = Callable[[Leaf, Leaf], bool]


def leaves(schema: Mapping[str, Any], other: Mapping[str, Any]) -> list[Leaf]:
    """The fields of a contract, those of nested objects in their place.

    An object is a leaf where the other contract has a plain value under the same name: it wraps that value.
    """
    found = list(_leaves(schema, other, ()))
    return [Leaf(path=path, schema=form, position=position) for position, (path, form) in enumerate(found)]


def _leaves(schema: Any, other: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    form, across = main_form(schema), main_form(other)
    inner = properties(form)
    wraps = bool(path) and bool(across) and not properties(across) and "object" not in kinds(across)
    if not inner or wraps or len(path) > _MAX_DEPTH:
        yield path, form
        return
    for name, item in inner.items():
        yield from _leaves(item, properties(across).get(name, {}), (*path, name))


def match_leaves(source: list[Leaf], target: list[Leaf], *, careful: bool) -> dict[Path, Path] | None:
    """Path in the source to path in the target, for all that can be told.

    Args:
        source: Leaves of the contract that values come from.
        target: Leaves of the contract that they go to.
        careful: Whether a type that only one field has is not enough (arguments of calls).

    Returns:
        ``None`` if the contracts contradict each other: fields that changed places under their old names.
    """
    if _exchanged(source, target):
        return None
    names = {leaf.path for leaf in target}
    found = {leaf.path: leaf.path for leaf in source if leaf.path in names}
    for link in (_by_alias, _by_writing, _by_last_name, _by_wrapping, _by_description, _by_name_word, _by_vocabulary):
        _match(link, source, target, found)
    eliminate = _by_elimination(careful, source, target, found)
    _match(eliminate, source, target, found)
    return found


def _match(link: Link, source: list[Leaf], target: list[Leaf], found: dict[Path, Path]) -> None:
    """Add the pairs that a kind of evidence links with each other and with nothing else."""
    taken = set(found.values())
    gone = [leaf for leaf in source if leaf.path not in found]
    new = [leaf for leaf in target if leaf.path not in taken]
    links = [(one, other) for one in gone for other in new if link(one, other)]
    for one, other in links:
        if sum(pair[0] is one for pair in links) == 1 and sum(pair[1] is other for pair in links) == 1:
            found[one.path] = other.path


def _exchanged(source: list[Leaf], target: list[Leaf]) -> bool:
    """Whether a field is now described as another one was."""
    described = {leaf.path: folded(leaf.description) for leaf in source if leaf.description}
    for leaf in target:
        text = folded(leaf.description) if leaf.description else ""
        own = described.get(leaf.path)
        if own is not None and text and text != own and text in described.values():
            return True
    return False


def _by_alias(one: Leaf, other: Leaf) -> bool:
    return bool(one.name) and (other.name in field_aliases(one.schema) or one.name in field_aliases(other.schema))


def _by_writing(one: Leaf, other: Leaf) -> bool:
    """``netWeight``, ``net_weight``, and ``weight`` in ``net``."""
    return folded("_".join(one.path)) == folded("_".join(other.path))


def _by_last_name(one: Leaf, other: Leaf) -> bool:
    return len(one.path) != len(other.path) and folded(one.name) == folded(other.name)


def _by_wrapping(one: Leaf, other: Leaf) -> bool:
    """A plain value that became a field of an object of its own name, or the other way round."""
    shorter, longer = sorted((one, other), key=lambda leaf: len(leaf.path))
    if not shorter.path or longer.path[: len(shorter.path)] != shorter.path:
        return False
    return _like(one) == _like(other)


def _like(leaf: Leaf) -> frozenset[str]:
    return frozenset("number" if kind == "integer" else kind for kind in kinds(leaf.schema))


def _by_description(one: Leaf, other: Leaf) -> bool:
    return bool(one.description) and folded(one.description) == folded(other.description)


def _by_name_word(one: Leaf, other: Leaf) -> bool:
    if not one.name or not other.name or not alike(one.name, other.name) or apart(one.name, other.name):
        return False
    # A word that units are named by does not tell a field.
    common = stems(words(one.name)) & stems(words(other.name))
    return not common or any(unit_named(word) is None for word in common)


def _by_vocabulary(one: Leaf, other: Leaf) -> bool:
    if not one.description or not other.description or opposite(one.name, other.name):
        return False
    both = one.vocabulary | other.vocabulary
    return bool(both) and len(one.vocabulary & other.vocabulary) >= _OVERLAP * len(both)


def _by_elimination(careful: bool, source: list[Leaf], target: list[Leaf], found: Mapping[Path, Path]) -> Link:
    """The only ones of their type that are left on both sides."""
    taken = set(found.values())
    gone = [leaf for leaf in source if leaf.path not in found]
    new = [leaf for leaf in target if leaf.path not in taken]

    def link(one: Leaf, other: Leaf) -> bool:
        if one.signature != other.signature or apart(one.name, other.name):
            return False
        if _count(gone, one) != 1 or _count(new, other) != 1:
            return False
        if one.description and other.description:
            # Two descriptions without much in common speak against it; for an answer, the old place speaks for it.
            return not careful and one.position == other.position
        return not careful or is_pinned(one.schema) or one.position == other.position

    return link


def _count(among: Iterable[Leaf], leaf: Leaf) -> int:
    return sum(other.signature == leaf.signature for other in among)
