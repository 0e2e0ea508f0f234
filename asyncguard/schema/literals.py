"""Literals of a tool's schema: values that a model may use without having read them elsewhere."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from asyncguard.core.calls import canonical_json
from asyncguard.core.dependencies import Path, as_reference
from asyncguard.schema.pointers import in_schema

_BRANCHES = ("anyOf", "oneOf", "allOf")
_FORM_KEYWORDS = ("const", "enum", "format", "pattern")
_ENTRIES = ("additionalProperties", "patternProperties")
_FIELD = re.compile(r"[^\W\d]+(?:-[^\W\d]+)*")
_QUOTED = re.compile(r"[\"'`\u2018\u201c]([\w][\w .:/+-]{0,40})[\"'`\u2019\u201d]")
_WORD = re.compile(r"[^\W\d_]+")
_MAX_HOPS = 32
"""References and branches followed from one node; bounds schemas that refer to themselves."""


def own_leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str | int | float]]:
    """Yield path and value of each string and number that the model wrote, operands excluded."""
    if as_reference(value) is not None:
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from own_leaves(item, (*path, name))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from own_leaves(item, (*path, position))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value


def free_keys(parameters: Mapping[str, Any], arguments: Any) -> Iterator[tuple[Path, str]]:
    """Yield path and key of each entry whose key is a value: no schema names it.

    Keys of an object whose entries have a schema are values, as in ``dict[str, int]``. Where the
    schema leaves open what the object holds, a plain word may be the name of a field, which the
    model knows from elsewhere.

    Args:
        parameters: Schema of the arguments.
        arguments: The arguments; their own names are never values.
    """
    waiting: list[tuple[Any, Path, list[Any]]] = [(arguments, (), [parameters])]
    while waiting:
        value, path, nodes = waiting.pop()
        if isinstance(value, Mapping) and as_reference(value) is None:
            if path:
                forms = list(chain.from_iterable(_forms(node, parameters) for node in nodes))
                yield from ((path, name) for name in value if _is_value(name, forms))
            items: Iterable[tuple[str | int, Any]] = value.items()
        elif isinstance(value, list | tuple):
            items = enumerate(value)
        else:
            continue
        for token, item in items:
            below = [child for node in nodes for child in _children(node, token, parameters)]
            waiting.append((item, (*path, token), below))


def _is_value(name: str, forms: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a key of an object with these schemas is a value."""
    mapped = False
    for form in forms:
        names = form.get("propertyNames")
        choices = names.get("enum", ()) if isinstance(names, Mapping) else ()
        if name in form.get("properties", ()) or name in choices:
            return False
        mapped = mapped or any(isinstance(form.get(kind), Mapping) for kind in _ENTRIES)
    return mapped or _FIELD.fullmatch(name) is None


def is_fixed(parameters: Mapping[str, Any] | None, arguments: Any, path: Path) -> bool:
    """Return True if the schema has the value at ``path``, or one around it, as a literal.

    Literals are defaults, constants and choices.
    """
    if parameters is None:
        return False
    nodes: list[Any] = [parameters]
    value = arguments
    for token in path:
        value = value[token]
        nodes = [child for node in nodes for child in _children(node, token, parameters)]
        wanted = canonical_json(value)
        for form in chain.from_iterable(_forms(node, parameters) for node in nodes):
            named = [form[name] for name in ("const", "default") if name in form]
            if any(wanted == canonical_json(each) for each in (*named, *form.get("enum", ()))):
                return True
    return False


def is_offered(parameters: Mapping[str, Any] | None, value: Any, path: Path) -> bool:
    """Return True if the schema of an argument offers a value beside its literals.

    It is one of the ``examples``, or a text that the argument's own description quotes or holds as
    a word: many schemas list their choices there. A number in a description does not count.
    """
    forms = list(_forms_at(parameters, path))
    if any(value == each for form in forms for each in form.get("examples", ())):
        return True
    if not isinstance(value, str) or not any(map(str.isalpha, value)):
        return False
    about = " ".join(str(form.get("description", "")) for form in forms)
    return value in _QUOTED.findall(about) or value.casefold() in _WORD.findall(about.casefold())


def described(parameters: Mapping[str, Any] | None, path: Path) -> str:
    """Return the names and descriptions on the way to an argument, for rules that read them."""
    names = [str(token) for token in path if isinstance(token, str)]
    told = (form.get("description") for form in _forms_at(parameters, path))
    return " ".join((*names, *map(str, filter(None, told))))


def _forms_at(parameters: Mapping[str, Any] | None, path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of a value, and those of the lists that it stands in."""
    nodes: list[Any] = [parameters]
    for token in path:
        if isinstance(token, int):
            yield from chain.from_iterable(_forms(node, parameters or {}) for node in nodes)
        nodes = [child for node in nodes for child in _children(node, token, parameters or {})]
    yield from chain.from_iterable(_forms(node, parameters or {}) for node in nodes)


def is_unconstrained(parameters: Mapping[str, Any] | None, path: Path) -> bool:
    """Return True if the schema wants no particular form of a text at ``path``."""
    nodes: list[Any] = [parameters]
    for token in path:
        nodes = [child for node in nodes for child in _children(node, token, parameters or {})]
    forms = chain.from_iterable(_forms(node, parameters or {}) for node in nodes)
    return not any(keyword in form for form in forms for keyword in _FORM_KEYWORDS)


def _children(node: Any, token: str | int, root: Mapping[str, Any]) -> Iterator[Any]:
    for form in _forms(node, root):
        if isinstance(token, str):
            properties = form.get("properties")
            if isinstance(properties, Mapping) and token in properties:
                yield properties[token]
            else:
                yield form.get("additionalProperties")
        else:
            prefix = form.get("prefixItems", ())
            yield prefix[token] if token < len(prefix) else form.get("items")


def _forms(node: Any, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schema itself, its branches and the schemas that it refers to."""
    waiting = [node]
    for _ in range(_MAX_HOPS):
        if not waiting:
            return
        form = waiting.pop()
        if not isinstance(form, Mapping):
            continue
        yield form
        if isinstance(target := form.get("$ref"), str):
            waiting.append(in_schema(root, target))
        for branch in _BRANCHES:
            waiting.extend(form.get(branch, ()))
