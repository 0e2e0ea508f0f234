"""Sets of call keys by name."""

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.indexes import KeyMultimap

NAMES = st.sampled_from(["a", "b"])
KEYS = st.sampled_from(["1", "2", "3"])


@given(st.lists(st.tuples(st.booleans(), NAMES, KEYS), max_size=30))
def test_keys_come_out_as_they_went_in(moves: list[tuple[bool, str, str]]) -> None:
    """A set holds what was put and not dropped, in order, whatever its size; an empty one is not there."""
    sets: KeyMultimap[str] = KeyMultimap()
    plain: dict[str, dict[str, None]] = {}
    for put, name, key in moves:
        if put:
            sets.put(name, key)
            plain.setdefault(name, {})[key] = None
        else:
            sets.drop(name, key)
            plain.get(name, {}).pop(key, None)
    assert {name: list(sets.of(name)) for name in sets} == {
        name: list(keys) for name, keys in plain.items() if keys
    }
    assert list(sets.of("nobody")) == []
