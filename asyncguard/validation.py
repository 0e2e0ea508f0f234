"""Validation of values against the annotations of the class or function that receives them.

The annotation of a field or parameter is its only declaration. The check is stricter than Python
where a wrong value would pass for another: a bool is not a number, a text is not a list of texts,
and numbers have to be finite. An integer is accepted for a float. Classes are checked by
``isinstance``, protocols by the methods that they require.

Pydantic is not used: the configuration is made before any framework is imported, which takes a
second, and its strict mode refuses values that are allowed here (a list for a tuple, a name for an
enum).
"""

import math
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from asyncguard.errors import CallerError

_SHOWN = 40
"""Number of characters of a value that a message quotes."""
_ABSTRACT = {
    Mapping: ("a mapping", Mapping),
    Sequence: ("a list", Collection),
    Collection: ("a list", Collection),
    Iterable: ("a list", Iterable),
    list: ("a list", list),
    tuple: ("a tuple", tuple),
    frozenset: ("a set", frozenset),
    dict: ("a dict", dict),
}
_USUAL = (tuple, list, dict, frozenset)
_PRIMITIVE: Mapping[Any, str] = {
    None: "None",
    bool: "True or False",
    int: "an integer",
    float: "a finite number",
    str: "a text",
    type(None): "None",
}

_PUBLIC = {"Rule": "GuardRule"}
"""Name of a protocol of our own -> name of the exported class that fulfils it."""
_NUMBERS: Mapping[Any, Any] = {int: int, float: (int, float)}


def check_fields(
    value: object, error: type[CallerError] = CallerError, *, called: str = ""
) -> None:
    """Refuse a dataclass whose fields hold values of other types than they declare.

    Args:
        value: The dataclass, in its ``__post_init__``.
        error: Class of the error.
        called: Name of the dataclass in the message; by default that of its class.

    Raises:
        CallerError: A field holds another type; the message names the field and the type it needs.
    """
    for name, hint, mismatch, default in _checks(cast(Hashable, type(value))):
        given = getattr(value, name)
        if given is not default and mismatch(given) is not None:
            owner = f"{called}: " if called else f"{type(value).__name__}."
            check_value(f"{owner}{name}", hint, given, error)


def check_arguments(
    function: Callable[..., Any], values: Mapping[str, Any], *, called: str = ""
) -> None:
    """Refuse arguments of other types than the function's annotations say.

    Args:
        function: Function that has the annotations.
        values: Arguments by name; names without an annotation are not checked.
        called: Name of the function in the message; by default its own.

    Raises:
        CallerError: One is of another type; the message names it and the type it needs.
    """
    for name, hint in _hints(function).items():
        if name in values:
            check_value(f"{called or function.__name__}: {name}", hint, values[name])


def check_value(place: str, hint: Any, value: Any, error: type[CallerError] = CallerError) -> None:
    """Refuse a value that does not fit a hint.

    Args:
        place: Name of the field or parameter, for the message.
        hint: A type as in annotations.
        value: The value.
        error: Class of the error.

    Raises:
        CallerError: It is of another type.
    """
    if (wrong := _mismatch_with(hint)(value)) is None:
        return
    inside, expected, given = wrong
    advice = ""
    if isinstance(given, str) and expected.startswith(("a list", "a tuple", "a set")):
        advice = f"; write [{given[:_SHOWN]!r}]"
    for name in ("GuardConfig", "Limits", "Timing", "Ports", "ToolSpec", "GuardRule"):
        if expected.startswith(f"a {name}"):
            advice = f"; build one with {name}(...)"
    # Among names, a text is of the right type: the message has to say which one it was.
    named = isinstance(given, str) and "'" in expected
    shown = repr(given[:_SHOWN]) if named else _described(given)
    raise error(f"{place}{inside} must be {expected}, not {shown}{advice}.")


@cache  # resolving annotations is slow, and classes and functions keep theirs
def _hints(owner: Hashable) -> dict[str, Any]:
    hints = get_type_hints(owner)
    hints.pop("return", None)
    return hints


_Wrong = tuple[str, str, Any]
"""Place inside a value, the expected type in words with an article, and the value found."""
_Check = Callable[[Any], _Wrong | None]
"""Return what of a value does not fit a hint, or None."""
_EXACT = frozenset({bool, int, str, type(None)})
"""Types whose own instances need no closer look."""
_NO_DEFAULT = object()


@cache
def _checks(owner: Hashable) -> tuple[tuple[str, Any, _Check, Any], ...]:
    """Return name, hint and check of each field, and its default where that fits."""
    found = ((name, hint, _mismatch_with(hint)) for name, hint in _hints(owner).items())
    return tuple(
        (name, hint, mismatch, _NO_DEFAULT if mismatch(default) is not None else default)
        for name, hint, mismatch in found
        for default in (getattr(owner, name, _NO_DEFAULT),)
    )


# Hints are read once: declarations are checked again whenever one is made from another.
@cache
def _mismatch_with(hint: Any) -> _Check:
    options = _options(hint)
    plain = _EXACT.intersection(options)
    tests = [(_shape(option), _wrong_parts(option)) for option in options]

    def mismatch(value: Any) -> _Wrong | None:
        if type(value) in plain:
            return None
        inside: _Wrong | None = None
        for is_shaped, wrong_parts in tests:
            # If the kind fits and a part does not, the message names the part.
            if is_shaped(value):
                if wrong_parts is None or (found := next(wrong_parts(value), None)) is None:
                    return None
                inside = inside or found
        # None is left out of the message: an optional value is simply not given.
        named = [option for option in options if option is not type(None)] or options
        return inside or ("", " or ".join(dict.fromkeys(map(_words, named))), value)

    return mismatch


def _options(hint: Any) -> list[Any]:
    origin = get_origin(hint)
    if origin is Annotated:
        return _options(get_args(hint)[0])
    if origin is Union or origin is types.UnionType:
        return [option for part in get_args(hint) for option in _options(part)]
    if isinstance(hint, type) and Protocol in hint.__bases__ and "__call__" in vars(hint):
        return [Callable]  # a protocol that functions fulfil
    return [hint]


def _shape(hint: Any) -> Callable[[Any], bool]:
    """Return a test of whether a value is of the kind that a hint names, whatever it contains."""
    if hint is Any or isinstance(hint, TypeVar):
        return lambda value: True
    if hint in _NUMBERS:
        return partial(_is_number, _NUMBERS[hint])
    origin = get_origin(hint) or hint
    if origin is Callable:
        return callable
    if origin is Literal:
        return get_args(hint).__contains__
    if origin in _ABSTRACT:
        kind = _ABSTRACT[origin][1]
        # A text is a collection of its letters, and a mapping one of its names: neither is meant.
        no_list = (str, bytes, bytearray, Mapping) if kind in (Collection, Iterable) else ()
        # Nearly all values are of these; for others each abstract class is asked.
        usual = {
            each for each in _USUAL if issubclass(each, kind) and not issubclass(each, no_list)
        }
        return lambda value: (
            type(value) in usual or (isinstance(value, kind) and not isinstance(value, no_list))
        )
    if isinstance(origin, type) and Protocol in origin.__bases__:
        # ``isinstance`` takes runtime-checkable protocols only, and runs properties before 3.12.
        required = [name for name in vars(origin) if not name.startswith("_")]
        return lambda value: (
            not isinstance(value, type) and all(_has(value, name) for name in required)
        )
    if isinstance(origin, type):
        return lambda value: isinstance(value, origin)
    return lambda value: True


def _is_number(kind: Any, value: Any) -> bool:
    # A bool is an int in Python: True would pass for a limit of 1.
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _wrong_parts(hint: Any) -> Callable[[Any], Iterator[_Wrong]] | None:
    """Return a function that yields the parts of a collection that do not fit the declared ones."""
    origin, parts = get_origin(hint), get_args(hint)
    if not parts or origin not in _ABSTRACT:
        return None
    checks = [_mismatch_with(part) for part in parts]

    def wrong_values(value: Any) -> Iterator[_Wrong]:
        for key, item in value.items():
            if (wrong := checks[0](key)) is not None:
                yield (", in its names,", *wrong[1:])
            if (wrong := checks[1](item)) is not None:
                yield (f"[{str(key)[:_SHOWN]!r}]{wrong[0]}", *wrong[1:])

    def wrong_items(value: Any) -> Iterator[_Wrong]:
        # What can be read only once is left to its reader.
        if type(value) in _USUAL or isinstance(value, Collection):
            for place, item in enumerate(value):
                if (wrong := checks[0](item)) is not None:
                    yield (f"[{place}]{wrong[0]}", *wrong[1:])

    return wrong_values if issubclass(origin, Mapping) else wrong_items


def _has(value: Any, name: str) -> bool:
    # By the class first: asking the object could run a property, as of an unopened journal.
    if hasattr(type(value), name):
        return True
    try:
        return hasattr(value, name)
    # A stand-in may raise anything when it is asked; it has an attribute by that name.
    except Exception:  # noqa: BLE001
        return True


def _words(hint: Any) -> str:
    """Return a hint in words."""
    origin = get_origin(hint) or hint
    if hint in _PRIMITIVE:
        return _PRIMITIVE[hint]
    if origin is Callable:
        return "a function"
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin is type:
        return "a class"
    if isinstance(origin, type) and issubclass(origin, Enum):
        return f"one of {', '.join(repr(member.value) for member in origin)}"
    if origin in _ABSTRACT:
        inner = [part for part in get_args(hint) if part is not Ellipsis]
        if len(inner) != 1:
            return _ABSTRACT[origin][0]
        parts = " or ".join(
            dict.fromkeys(_words(part).split(" ", 1)[-1] for part in _options(inner[0]))
        )
        return f"{_ABSTRACT[origin][0]} of {parts}"
    name = getattr(origin, "__name__", str(origin))
    name = _PUBLIC.get(name, name)
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _described(value: Any) -> str:
    """Return a value for a message: its type, and the value unless it may be a secret."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**30):
        return f"{kind} {value!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return kind


def member_of(kind: type[Enum], given: Any) -> Any:
    """Return the member of an enum that a value names, or the value for the check to refuse."""
    try:
        return kind(given)
    except (ValueError, TypeError):
        return given
