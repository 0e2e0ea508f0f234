"""Seeded changes of the arguments of calls that were made; see `tests.reference_scorer.mutations`."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.reference_scorer.corpus import Episode, open_world

Record = dict[str, Any]


def one_call(episode: Episode, random: Random) -> Record | None:
    """A call of the trajectory, if there is any."""
    return random.choice(episode["trajectory"]) if episode["trajectory"] else None


Place = tuple[Any, Any]
"""A container, and a name or index in it."""


def _places(value: Any) -> list[Place]:
    """Every place of a JSON value, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[Place] = []
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            found += _places(item)
    return found


def _change_values(
    episode: Episode, random: Random, fits: Callable[[Any], bool], change: Callable[[Any], Any]
) -> bool:
    """Change one value that fits, at any depth in the arguments of any call."""
    places = [
        (container, key)
        for record in episode["trajectory"]
        for container, key in _places(record["arguments"])
        if fits(container[key])
    ]
    if not places:
        return False
    container, key = random.choice(places)
    container[key] = change(container[key])
    return True


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def other_number(episode: Episode, random: Random) -> bool:
    """A number is another one."""
    step = random.choice((1, -1, 0.5, 1e-9))
    return _change_values(episode, random, _number, lambda value: value + step)


def other_text(episode: Episode, random: Random) -> bool:
    """A text is spelt otherwise: in letters, spaces or characters that look alike."""
    spell = random.choice(
        (
            str.swapcase,
            lambda t: f"{t} ",
            lambda t: f" {t}",
            lambda t: t[1:],
            lambda t: f"{t}\u0301",
        )
    )
    return _change_values(episode, random, lambda v: isinstance(v, str) and v != "", spell)


def number_as_text(episode: Episode, random: Random) -> bool:
    """A number is written as a text."""
    return _change_values(episode, random, _number, str)


def text_as_list(episode: Episode, random: Random) -> bool:
    """A text stands in a list."""
    return _change_values(episode, random, lambda value: isinstance(value, str), lambda v: [v])


def one_as_flag(episode: Episode, random: Random) -> bool:
    """The number 1 or 0 is written as a flag, to which Python calls it equal."""
    return _change_values(episode, random, lambda v: _number(v) and v in (0, 1), bool)


def value_as_null(episode: Episode, random: Random) -> bool:
    """A value is null."""
    return _change_values(episode, random, lambda value: value is not None, lambda value: None)


def number_spelling(episode: Episode, random: Random) -> bool:
    """A whole number is written with a decimal point, or the other way round."""
    return _change_values(
        episode,
        random,
        lambda value: _number(value) and float(value).is_integer() and abs(value) < 2**53,
        lambda value: float(value) if isinstance(value, int) else int(value),
    )


def list_order(episode: Episode, random: Random) -> bool:
    """The first item of a list comes last."""
    return _change_values(
        episode,
        random,
        lambda value: isinstance(value, list) and len(value) > 1 and value[1:] + value[:1] != value,
        lambda value: value[1:] + value[:1],
    )


def name_order(episode: Episode, random: Random) -> bool:
    """Arguments are named in another order."""
    record = one_call(episode, random)
    if record is None or len(record["arguments"]) < 2:
        return False
    record["arguments"] = dict(reversed(record["arguments"].items()))
    return True


def drop_argument(episode: Episode, random: Random) -> bool:
    """An argument was not given."""
    record = one_call(episode, random)
    if record is None or not record["arguments"]:
        return False
    del record["arguments"][random.choice(sorted(record["arguments"]))]
    return True


def _defaults(episode: Episode) -> list[tuple[Record, str, Any]]:
    """Arguments of calls that were left out, with their default."""
    return [
        (record["arguments"], name, schema["default"])
        for task in episode["composition"]["sub_tasks"]
        for record in episode["trajectory"]
        for name, schema in _properties(task, record).items()
        if "default" in schema and name not in record["arguments"]
    ]


def _properties(task: Record, record: Record) -> dict[str, Any]:
    if record["task_id"] != task["id"]:
        return {}
    return dict(open_world(task).parameters(record["tool"]).get("properties", {}))


def spell_default(episode: Episode, random: Random) -> bool:
    """An argument is given with its default value; a number with a decimal point."""
    found = _defaults(episode)
    if not found:
        return False
    arguments, name, value = random.choice(found)
    arguments[name] = float(value) if _number(value) else value
    return True


def default_in_another_type(episode: Episode, random: Random) -> bool:
    """An argument is given with its default in another type: a number as a text, anything else in a list."""
    found = _defaults(episode)
    if not found:
        return False
    arguments, name, value = random.choice(found)
    arguments[name] = str(value) if _number(value) else [value]
    return True


def unknown_argument(episode: Episode, random: Random) -> bool:
    """An argument was given that the tool does not have."""
    record = one_call(episode, random)
    if record is None:
        return False
    record["arguments"]["no_such_argument"] = random.choice((None, 0, "", []))
    return True


def swap_values(episode: Episode, random: Random) -> bool:
    """Two arguments of a call have each other's value."""
    record = one_call(episode, random)
    if record is None or len(record["arguments"]) < 2:
        return False
    one, other = random.sample(sorted(record["arguments"]), 2)
    values = record["arguments"]
    values[one], values[other] = values[other], values[one]
    return True
