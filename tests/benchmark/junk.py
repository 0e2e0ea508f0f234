"""JSON values with junk at random places, as files of other authors may hold them."""

import json
from copy import deepcopy
from random import Random
from typing import Any

CODE = "__import__('os').system('touch executed')"
JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    "",
    "x",
    [],
    [[]],
    {},
    {"a": [None]},
    ["x", 1],
    "\ud800",
    10**30,
)
"""Values of other types, and values that not every store can hold."""
WORSE: tuple[Any, ...] = (
    *JUNK,
    10**400,
    "\x00",
    CODE,
    f"[{CODE}]",
    f"read_ticket(id={CODE})",
    "read_ticket(id=-" + "9" * 5000 + ")",
    "[1",
    "x" * 5000,
    "$var1.output_0$",
    {"$ref": "#/x"},
    {"type": {"type": "x"}},
    [{"x": 1}],
    ["TicketAPI", []],
    [[[[[[[[1]]]]]]]],
)
"""The same, with texts that mean something to one of the readers."""


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as container and key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            found += places(item)
    return found


def spoilt(random: Random, value: Any, junk: tuple[Any, ...] = JUNK) -> Any:
    """A copy with junk at one or two places, or without what stood there."""
    changed = json.loads(json.dumps(value))  # also where parts are shared
    for _ in range(random.randint(1, 2)):
        container, key = random.choice(places(changed) or [(changed, "id")])
        if random.random() < 0.2 and isinstance(container, dict):
            container.pop(key, None)
        else:
            container[key] = deepcopy(random.choice(junk))
    return changed
