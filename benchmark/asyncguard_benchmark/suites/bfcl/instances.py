"""Instances of foreign classes: the program that the sandbox's worker loads; never imported by the benchmark.

The foreign package lies on the worker's import path. Only the standard library is used here. Calls are dispatched by
keyword to public methods; results are made texts at once, as the objects that a method returns may change later.
"""

import importlib
import json
from copy import deepcopy
from random import Random
from types import FunctionType
from typing import Any

_FOLDER = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_LOAD = "_load_scenario"
"""The method by which upstream, too, sets up an instance."""
_PRISTINE: dict[FunctionType, tuple[Any, ...]] = {}
"""Defaults of methods as the source has them, where one is mutable: some methods change theirs."""
_LIVE: dict[str, Any] = {}

World = dict[str, Any]
"""``{"class", "module", "scenario", "setup"}``; a scenario of None loads none, setup is a list of calls."""
Call = list[Any]
"""``[tool, arguments]``."""


def start(key: str, world: World) -> None:
    """Make an instance under a key."""
    _LIVE[key] = _made(world)


def call(key: str, tool: str, arguments: dict[str, Any]) -> str:
    """Make a call of an instance and return the text of its result."""
    return _called(_LIVE[key], tool, arguments)


def replay(worlds: dict[str, World], calls: list[list[Any]]) -> dict[str, Any]:
    """Run calls over new instances of several classes, twice.

    Args:
        worlds: Class -> its world.
        calls: ``[class, tool, arguments]`` in order.

    Returns:
        ``{"results": texts, "differing": names of attributes in which two runs differ}``.
    """
    runs = []
    for _ in range(2):
        instances = {name: _made(world) for name, world in worlds.items()}
        runs.append((instances, [_called(instances[name], *rest) for name, *rest in calls]))
    (first, results), (second, _) = runs
    differing = [each for name in worlds for each in _differing(second[name], first[name])]
    return {"results": results, "differing": differing}


def judge(world: World, truth: list[Call], made: list[Call]) -> dict[str, Any]:
    """Run the ground truth and the calls of an agent on an instance each, and compare.

    Returns:
        ``{"truth": texts, "made": texts, "differing": public attributes, "changed": those that the truth
        changes, "private": private attributes, "generator": true if a generator of random numbers stands elsewhere}``;
        no values.
    """
    gold, own = _made(world), _made(world)
    truth_results = [_called(gold, *each) for each in truth]
    made_results = [_called(own, *each) for each in made]
    private = [name for name in _differing(own, gold, private=True) if name.startswith("_")]
    return {
        "truth": truth_results,
        "made": made_results,
        "differing": _differing(own, gold),
        "changed": _differing(_made(world), gold),
        "private": private,
        "generator": any(isinstance(vars(gold).get(name), Random) for name in private),
    }


class _Unmade:
    """An instance that could not be set up: each of its calls says why."""

    def __init__(self, problem: BaseException) -> None:
        self.reason = f"{type(problem).__name__}: {problem}"


def _made(world: World) -> Any:
    try:
        return _set_up(world)
    except ImportError:  # something has to be installed, and no entry can help it
        raise
    except BaseException as problem:  # noqa: BLE001 - a class that ends its process cannot be set up, no more
        return _Unmade(problem)


def _set_up(world: World) -> Any:
    module = importlib.import_module(f"{_FOLDER}.{world['module']}")
    kind = getattr(module, world["class"])
    for function in vars(kind).values():
        if isinstance(function, FunctionType) and _mutable(function.__defaults__):
            _PRISTINE.setdefault(function, deepcopy(function.__defaults__ or ()))
    instance = kind()
    if world["scenario"] is not None:
        scenario = deepcopy(world["scenario"])
        getattr(instance, _LOAD)(scenario, long_context=False)
    for tool, arguments in world["setup"]:
        _called(instance, tool, arguments)
    return instance


def _mutable(defaults: tuple[Any, ...] | None) -> bool:
    return any(isinstance(each, list | dict | set) for each in defaults or ())


def _called(instance: Any, tool: str, arguments: dict[str, Any]) -> str:
    for function, defaults in _PRISTINE.items():
        function.__defaults__ = deepcopy(defaults)
    if isinstance(instance, _Unmade):
        return f"Error during execution: the class cannot be set up: {instance.reason}"
    method = None if tool.startswith("_") else getattr(type(instance), tool, None)
    if not isinstance(method, FunctionType):
        return f"Error during execution: name {tool!r} is not defined"
    try:
        return _text(method(instance, **deepcopy(arguments)))
    except BaseException as problem:  # noqa: BLE001 - a tool that ends its process has failed, no more
        return f"Error during execution: {problem}"


def _text(result: Any) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            return str(result)
    return str(result)


def _differing(one: Any, truth: Any, *, private: bool = False) -> list[str]:
    """Return the names of attributes of the truth that differ; those with an underscore only if asked for."""
    return sorted(
        name
        for name in vars(truth)
        if (private or not name.startswith("_"))
        and (name not in vars(one) or not _equal(vars(one)[name], vars(truth)[name]))
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Random) and isinstance(other, Random):
        return one.getstate() == other.getstate()
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - objects that cannot be compared are not equal
        return False
