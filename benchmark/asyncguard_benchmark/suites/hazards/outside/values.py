"""Families about values: units, fields that look alike, names of parameters, sources that differ."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import (
    Call,
    Case,
    Family,
    Stage,
    Tool,
    asking,
)
from asyncguard_benchmark.suites.hazards.outside.tool_names import named

Made = Callable[[Stage], Sequence[Tool]]


def number(field: str, unit: str | None = None, **more: Any) -> dict[str, Any]:
    """Write the schema of an object with one number."""
    described = {"type": "number", **({} if unit is None else {"unit": unit}), **more}
    return {"type": "object", "properties": {field: described}, "required": [field]}


def teller(name: str, answer: Any, broken: Any = None, **declared: Any) -> Callable[[Stage], Tool]:
    """Make a reader that answers one thing, and in the case another: an exception is raised."""

    def make(stage: Stage) -> Tool:
        async def tell(item: str) -> Any:
            found = broken if stage.faulty and broken is not None else answer
            if isinstance(found, BaseException):
                raise found
            return found

        return Tool(
            function=named(tell, name, "Tell a value."), declared={"effect": "pure", **declared}
        )

    return make


def _together(*made: Callable[[Stage], Tool]) -> Made:
    return lambda stage: [each(stage) for each in made]


def _case(family: Family, name: str, build: Made, truth: Mapping[str, Any], *calls: Call) -> Case:
    asked = asking(*(calls or (("ask_first", {"item": "nut"}),)))
    return Case(family=family, name=name, build=build, conversations=asked, truth=truth)


# -- units -------------------------------------------------------------------------------------------------------------

_EUR = number("price", "EUR", minimum=1, maximum=5000)
_UNITS: Mapping[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # the called tool's schema, its true answer, the other tool's schema, its answer
    "eur-cent": (_EUR, {"price": 12.4}, number("price", "cent"), {"price": 1240}),
    "s-ms": (number("wait", "s"), {"wait": 1.5}, number("wait", "ms"), {"wait": 1500}),
    "ms-s": (number("wait", "ms"), {"wait": 1500}, number("wait", "s"), {"wait": 1.5}),
    "km-m": (number("way", "km"), {"way": 3.2}, number("way", "m"), {"way": 3200}),
    "kg-g": (number("mass", "kg"), {"mass": 0.25}, number("mass", "g"), {"mass": 250}),
    "h-min": (number("time", "h"), {"time": 1.5}, number("time", "min"), {"time": 90}),
    "eur-usd": (_EUR, {"price": 12.4}, number("price", "USD"), {"price": 14.1}),
    "celsius-fahrenheit": (
        number("heat", "°C"),
        {"heat": 20.0},
        number("heat", "°F"),
        {"heat": 68.0},
    ),
    "none-cent": (number("price"), {"price": 12.4}, number("price", "cent"), {"price": 1240}),
    "eur-suffix": (_EUR, {"price": 12.4}, number("price_cents"), {"price_cents": 1240}),
}


def units() -> Iterator[Case]:
    """Yield cases in which the tool fails and a sibling, a verifier or a source answers in its own unit."""
    for name, (schema, true, other_schema, other) in _UNITS.items():
        second = teller("ask_second", other, result_schema=other_schema)
        for role, broken in (
            ("fallbacks", ValueError("closed")),
            ("sources", ValueError("closed")),
        ):
            first = teller(
                "ask_first", true, broken, result_schema=schema, **{role: ["ask_second"]}
            )
            yield _case(Family.UNITS, f"{role}-{name}", _together(first, second), true)
        first = teller("ask_first", true, "-", result_schema=schema, verifier="ask_second")
        yield _case(Family.UNITS, f"verifier-{name}", _together(first, second), true)


# -- fields that look alike --------------------------------------------------------------------------------------------

_PRICE = number("price", "EUR", minimum=-100, maximum=5000)
_WAIT = number("duration", "s", minimum=0)
_ALIKE: Mapping[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    # the schema, the true answer, what the tool says instead
    "change": (_PRICE, {"price": 12.4}, {"price_change": -0.5}),
    "id": (_PRICE, {"price": 12.4}, {"price_id": 4711}),
    "dollars": (_PRICE, {"price": 12.4}, {"price_dollars": 2}),
    "old": (_PRICE, {"price": 12.4}, {"old_price": 11.0}),
    "max": (_PRICE, {"price": 12.4}, {"max_price": 99.0}),
    "count": (_PRICE, {"price": 12.4}, {"prices": 7}),
    "total": (_PRICE, {"price": 12.4}, {"total_price": 124.0}),
    "list": (_PRICE, {"price": 12.4}, {"price_list": [1, 2]}),
    "m": (_WAIT, {"duration": 300}, {"duration_m": 5}),
    "word": (_PRICE, {"price": 12.4}, {"cost": 3.0}),
    "two": (_PRICE, {"price": 12.4}, {"price_cents": 1240, "price_pence": 1050}),
    **{
        f"wrapper-{word}": (_PRICE, {"price": 12.4}, {word: {"price": 11.0}})
        for word in ("previous", "example", "request", "default", "meta", "data")
    },
    "wrapper-list": (_PRICE, {"price": 12.4}, [{"price": 11.0}, {"price": 12.4}]),
    "beside": (_PRICE, {"price": 12.4}, {"previous": {"price": 11.0}, "current": {"price": 12.4}}),
    "text": (_PRICE, {"price": 12.4}, 'The price was {"price": 11.0} yesterday'),
}


def lookalikes() -> Iterator[Case]:
    """Yield cases in which the declared field is missing, and something like it is there."""
    for name, (schema, true, said) in _ALIKE.items():
        for kind in ("open", "closed"):
            shown = {**schema, "additionalProperties": False} if kind == "closed" else schema
            yield _case(
                Family.LOOKALIKES,
                f"{name}-{kind}",
                _together(teller("ask_first", true, said, result_schema=shown)),
                true,
            )


# -- names of parameters -----------------------------------------------------------------------------------------------


_CITIES = {"Rome": 12.4, "Paris": 30.0}


async def _town(town: str) -> dict[str, float]:
    return {"price": _CITIES[town]}


async def _town_or_paris(town: str = "Paris") -> dict[str, float]:
    return {"price": _CITIES[town]}


async def _no_day(city: str) -> dict[str, float]:
    return {"price": _CITIES[city]}


async def _city_and_more(city: str, currency: str = "EUR") -> dict[str, float]:
    return {"price": _CITIES[city]}


_OTHERS: Mapping[str, Callable[..., Any]] = {
    "required": _town,
    "optional": _town_or_paris,
    "more": _city_and_more,
}


def parameters() -> Iterator[Case]:
    """Yield cases in which a tool fails, and the one to ask instead has other names for its parameters."""
    for role in ("fallbacks", "sources", "verifier"):
        for name, other in _OTHERS.items():
            yield _renamed(f"{role}-{name}", other, {role: _named_by(role, "ask_second")})
        yield _renamed(
            f"{role}-no-day", _no_day, {role: _named_by(role, "ask_second")}, day="Friday"
        )
    for role in ("fallbacks", "sources"):
        mapped = {role: [{"tool": "ask_second", "arguments": {"town": "city"}}]}
        for name in ("required", "optional"):
            yield _renamed(f"{role}-{name}-mapped", _OTHERS[name], mapped)


def _named_by(role: str, tool: str) -> Any:
    return tool if role == "verifier" else [tool]


def _renamed(
    name: str, other: Callable[..., Any], declared: Mapping[str, Any], **given: str
) -> Case:
    def build(stage: Stage) -> list[Tool]:
        async def quote(city: str, day: str = "") -> dict[str, float]:
            """Quote a price in a city, on a day."""
            if stage.faulty:
                raise ValueError("closed")
            return {"price": 8.0 if day else _CITIES[city]}

        shown = {"effect": "pure", "result_schema": _PRICE}
        second = named(other, "ask_second", "Quote a price.")
        return [
            Tool(function=quote, declared={**shown, **declared}),
            Tool(function=second, declared=shown),
        ]

    truth = {"price": 8.0 if given else 12.4}
    case = _case(Family.PARAMETERS, name, build, truth, ("quote", {"city": "Rome", **given}))
    return replace(case, refusable=other in {_town, _town_or_paris})


# -- sources -----------------------------------------------------------------------------------------------------------

_S, _MS = number("wait", "s"), number("wait", "ms")


def sources() -> Iterator[Case]:
    """Yield cases in which two calls of a task ask two sources of one question, in either order."""
    for order in ("first-second", "second-first"):
        yield _asked_both(
            f"agree-units-{order}", order, ({"wait": 1.5}, _S), ({"wait": 1500}, _MS), {"wait": 1.5}
        )
        yield _asked_both(
            f"agree-rounding-{order}",
            order,
            ({"price": 0.3}, _PRICE),
            ({"price": 0.1 + 0.2}, _PRICE),
            {"price": 0.3},
        )
        for trusted in ("ask_first", "ask_second"):
            yield _trusting(f"trust-{trusted.removeprefix('ask_')}-{order}", order, trusted)
        yield _majority(f"majority-{order}", order)


def _ordered(order: str) -> list[Call]:
    return [(f"ask_{word}", {"item": "nut"}) for word in order.split("-")]


def _asked_both(name: str, order: str, one: Any, two: Any, truth: Mapping[str, Any]) -> Case:
    (said, schema), (other, other_schema) = one, two
    first = teller("ask_first", said, result_schema=schema, sources=["ask_second"])
    second = teller("ask_second", other, result_schema=other_schema)
    case = _case(Family.SOURCES, name, _together(first, second), truth, *_ordered(order))
    return replace(case, truths={"ask_second": other})


def _trusting(name: str, order: str, trusted: str) -> Case:
    """Return a case in which the source that is not trusted is wrong."""
    other = "ask_second" if trusted == "ask_first" else "ask_first"
    good = teller(trusted, {"price": 12.4}, result_schema=_PRICE)
    asker = teller(
        "ask_asker",
        {"price": 12.4},
        result_schema=_PRICE,
        sources=[{"tool": trusted, "trusted": True}, other],
    )
    bad = teller(
        other,
        {"price": 12.4},
        {"price": 99.0},
        result_schema=_PRICE,
        sources=[{"tool": trusted, "trusted": True}],
    )
    return _case(
        Family.SOURCES, name, _together(good, bad, asker), {"price": 12.4}, *_ordered(order)
    )


def _majority(name: str, order: str) -> Case:
    bad = teller(
        "ask_first",
        {"price": 12.4},
        {"price": 99.0},
        result_schema=_PRICE,
        sources=["ask_second", "ask_third"],
    )
    others = [
        teller(each, {"price": 12.4}, result_schema=_PRICE) for each in ("ask_second", "ask_third")
    ]
    return _case(Family.SOURCES, name, _together(bad, *others), {"price": 12.4}, *_ordered(order))
