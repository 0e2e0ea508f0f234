"""Footprints: filling templates, and when two names may mean the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.footprints import EffectClass, fill, overlap
from asyncguard.core.indexes import ResourceIndex
from tests.core.builders import footprint

names = st.builds(
    lambda text, star: text + star, st.text("ab:", max_size=4), st.sampled_from(["", "*"])
)


def could_be(name: str) -> set[str]:
    """All exact names of up to five characters that a name stands for."""
    if not name.endswith("*"):
        return {name}
    grown = {name[:-1]}
    for _ in range(5):
        grown |= {item + letter for item in grown if len(item) < 5 for letter in "ab:"}
    return grown


@given(names, names)
def test_overlap_is_symmetric(one: str, other: str) -> None:
    """Neither side is special."""
    assert overlap(one, other) == overlap(other, one)


@given(names)
def test_a_name_overlaps_itself(name: str) -> None:
    """A name overlaps itself, and the wildcard overlaps everything."""
    assert overlap(name, name)
    assert overlap(name, "*")


@given(names, names)
def test_overlap_means_a_common_name(one: str, other: str) -> None:
    """Two names overlap exactly if some exact name is meant by both."""
    assert overlap(one, other) == bool(could_be(one) & could_be(other))


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("account:{id}", {"id": 7}, "account:7"),
        ("account:{id}", {"id": 7.0}, "account:7"),
        ("account:{id}", {"id": 7.5}, "account:7.5"),
        ("file:{dir}/{name}", {"dir": "a", "name": "b"}, "file:a/b"),
        ("file:{dir}/{name}", {"name": "b"}, "file:*"),
        ("file:{dir}/{name}/x", {"dir": "a"}, "file:a/*"),
        ("account:{id}", {"id": {"from_call": "a#1", "pointer": ""}}, "account:*"),
        ("account:{id}", {"id": None}, "account:*"),
        ("account:{id}", {"id": "*"}, "account:*"),
        ("inbox", {}, "inbox"),
        ("{not a field}", {}, "{not a field}"),
    ],
)
def test_templates(template: str, values: dict[str, Any], expected: str) -> None:
    """Values are put in; what is missing or not yet known widens the name."""
    assert fill([template], values) == {expected}


def test_unknown_stays_unknown() -> None:
    """No declaration is not the same as an empty one."""
    assert fill(None, {"id": 1}) is None
    assert fill((), {}) == frozenset()
    assert not footprint(None, "").known
    assert footprint(None, "").writes_nothing
    assert not footprint("", None).writes_nothing


def test_what_may_be_repeated() -> None:
    """Effects are repeated without asking only if a second one does no harm."""
    assert {effect for effect in EffectClass if effect.repeatable} == {
        EffectClass.PURE,
        EffectClass.IDEMPOTENT,
        EffectClass.KEYED,
    }


@given(
    st.lists(st.tuples(st.lists(names, max_size=2), st.lists(names, max_size=2)), max_size=6),
    st.data(),
)
def test_the_index_knows_who_holds_a_name(
    sides: list[tuple[list[str], list[str]]], data: st.DataObject
) -> None:
    """After any adding and removing it gives just the calls with an overlapping name, in the order of a slow search."""
    index = ResourceIndex()
    prints = {
        f"k{n}": footprint(" ".join(reads), " ".join(writes))
        for n, (reads, writes) in enumerate(sides)
    }
    for key, resources in prints.items():
        index.add(key, resources)
    for key in data.draw(st.lists(st.sampled_from(sorted(prints)), unique=True)) if prints else []:
        index.remove(key, prints.pop(key))
    wanted = data.draw(names)
    for writing in (False, True):
        found = {
            k
            for k, p in prints.items()
            if any(overlap(wanted, n) for n in (p.writes if writing else p.reads) or ())
        }
        assert set(index.holders(wanted, writing=writing)) == found
