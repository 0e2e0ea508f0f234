"""Values of every kind, for places that take only some of them."""

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st


class Odd:
    """Nothing that anything here takes."""


def _function(*_: Any) -> None:
    return None


KINDS: Mapping[str, st.SearchStrategy[Any]] = {
    "none": st.none(),
    "bool": st.booleans(),
    "int": st.sampled_from([1, 2, 60]),
    "zero": st.just(0),
    "bad int": st.sampled_from([-1, -(2**70)]),
    "float": st.sampled_from([0.5, 3.25]),
    "bad float": st.sampled_from([math.nan, math.inf, -math.inf, -0.5]),
    "str": st.sampled_from(["x", "no", "1", "true", "a b", "{", "{x", "é"]),
    "surrogate": st.sampled_from(["\ud800", "a\udfffb"]),
    "bytes": st.sampled_from([b"", b"x", b"\xff"]),
    "list": st.lists(
        st.sampled_from(["x", 1, None, {}, [], b"x", "\ud800", True, {"id": "x"}]), max_size=3
    ),
    "dict": st.dictionaries(
        st.sampled_from(["x", "id", "goal", "approve", 1]), st.sampled_from([1, "x", None, []])
    ),
    "set": st.sampled_from([{1}, {"x"}, frozenset({"y"})]),
    "class": st.just(Odd),
    "object": st.builds(Odd),
    "function": st.just(_function),
    "iterator": st.builds(lambda: iter(["x"])),
    "complex": st.just(1j),
}
FITTING: Mapping[Any, frozenset[str]] = {
    bool: frozenset({"bool"}),
    int: frozenset({"int"}),
    float: frozenset({"int", "float"}),
    str: frozenset({"str", "surrogate"}),
}
"""Of the plain types, the kinds that are one, written down apart from the code that is tested."""


def of_any_kind() -> st.SearchStrategy[tuple[str, Any]]:
    """A kind and a value of it."""
    return st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.tuples(st.just(kind), KINDS[kind])
    )


def anything() -> st.SearchStrategy[Any]:
    """A value of some kind, alone or inside of others."""
    return st.recursive(
        of_any_kind().map(lambda drawn: drawn[1]),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.fixed_dictionaries({"id": inner, "goal": inner}),
            st.fixed_dictionaries({"role": inner, "content": inner}),
            st.fixed_dictionaries({"type": inner, "text": inner}),
            st.tuples(inner, inner),
        ),
        max_leaves=4,
    )
