"""Check of an answer that came without an error against the declaration of its tool.

A tool that declares nothing has no anomalies. Findings name fields, types and limits of the
declaration; no value of an answer gets into a message.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import SCHEMA_VISIBLE, Anomaly, AnomalyKind
from asyncguard.core.tool_spec import Invariant, ToolSpec
from asyncguard.recovery.repair.identifiers import shown
from asyncguard.recovery.repair.unit_annotations import conflicts
from asyncguard.schema.compiled import (
    CompiledSchema,
    all_finite,
    check_schema,
    properties,
    shape_of,
)
from asyncguard.schema.pointers import pointer_of
from asyncguard.schema.violations import (
    Violation,
    missing_names,
    nearest_branch,
    position,
    unknown_names,
    wanted_types,
)

_MAX_ANOMALIES = 20
_MAX_SENTENCE = 200
_KINDS: Mapping[str, AnomalyKind] = {
    "type": AnomalyKind.TYPE,
    "enum": AnomalyKind.VALUE,
    "const": AnomalyKind.VALUE,
    "pattern": AnomalyKind.VALUE,
    "format": AnomalyKind.VALUE,
    "not": AnomalyKind.VALUE,
    "minimum": AnomalyKind.BOUNDS,
    "maximum": AnomalyKind.BOUNDS,
    "exclusiveMinimum": AnomalyKind.BOUNDS,
    "exclusiveMaximum": AnomalyKind.BOUNDS,
    "multipleOf": AnomalyKind.BOUNDS,
    "minLength": AnomalyKind.BOUNDS,
    "maxLength": AnomalyKind.BOUNDS,
    "minItems": AnomalyKind.BOUNDS,
    "maxItems": AnomalyKind.BOUNDS,
    "uniqueItems": AnomalyKind.BOUNDS,
    "minProperties": AnomalyKind.MISSING,
    "maxProperties": AnomalyKind.UNEXPECTED,
    "contains": AnomalyKind.MISSING,
    "propertyNames": AnomalyKind.UNEXPECTED,
}
"""Anomaly by keyword of JSON Schema; other keywords mean a wrong value."""
LIMITS = frozenset(keyword for keyword, kind in _KINDS.items() if kind is AnomalyKind.BOUNDS)
"""Keywords that limit a value and say nothing about its form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Answer of a tool, parsed as far as possible."""

    parsed: bool
    """True if the value is structured data: JSON text, or data that was not a text."""
    value: Any
    """The data; the text itself where it is not JSON."""
    text: str | None
    """Text that came; ``None`` if no text came."""


class _NotJson(ValueError):
    """Input that Python would read and JSON does not allow: a field given twice, NaN."""


def read_answer(content: Any) -> Answer:
    """Read the content of a tool message: JSON text, content blocks of text, plain text, or data.

    A document that names a field twice, or holds NaN or an infinity, is not accepted as JSON: which
    value counts would be a guess.
    """
    text = _text_of(content)
    if text is None:
        return Answer(parsed=True, value=content, text=None)
    try:
        value = json.loads(text, object_pairs_hook=_fields, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Answer(parsed=False, value=text, text=text)
    return Answer(parsed=True, value=value, text=text)


def _text_of(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = []
    for block in content:
        if isinstance(block, str):
            return None  # a list of texts is data; blocks are objects
        if (
            not isinstance(block, Mapping)
            or block.get("type") != "text"
            or not isinstance(block.get("text"), str)
        ):
            return None
        texts.append(block["text"])
    return "\n".join(texts)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotJson
    return found


def _refuse(_: str) -> Any:
    raise _NotJson


def prepare(spec: ToolSpec) -> None:
    """Check a tool's result schema and compile it before the first answer comes.

    Raises:
        DeclarationError: The schema is broken.
    """
    if spec.result_schema is not None:
        check_schema(spec.result_schema, f"the result of {spec.name}")
        shape_of(spec.result_schema)


def inspect(spec: ToolSpec, arguments: Mapping[str, Any], answer: Answer) -> tuple[Anomaly, ...]:
    """Return what is wrong with an answer, in the order of the document.

    Invariants are checked only for an answer whose structure is as declared: they are written for
    that.

    Args:
        spec: Declaration of the tool that answered; its result schema is compiled once and must not
            change afterwards.
        arguments: Arguments as the tool received them, for the invariants.
        answer: From :func:`read_answer`.
    """
    found: list[Anomaly] = []
    value = answer.value
    if spec.result_schema is not None:
        shape = shape_of(spec.result_schema)
        value = declared_value(shape, answer)
        if not shape.fits(value):
            found.extend(_violations(shape, value, parsed=answer.parsed))
        if shape.has_units:
            for conflict in conflicts(shape.schema, value):
                problem = (
                    f"is declared in {conflict.declared[:40]}, and the answer names another unit"
                )
                found.append(_anomaly(AnomalyKind.UNIT, conflict.path, problem))
    if spec.invariants and all(item.kind not in SCHEMA_VISIBLE for item in found):
        found.extend(_broken(spec.invariants, arguments, value))
    # Several branches and keywords may report one defect.
    return tuple(dict.fromkeys(found))[:_MAX_ANOMALIES]


def declared_value(shape: CompiledSchema, answer: Answer) -> Any:
    """Return the value that is checked against the schema.

    A declared text may read like JSON (``"007"``, ``"null"``): then the text itself is the answer.
    """
    if (
        answer.parsed
        and answer.text is not None
        and "string" in shape.kinds
        and not isinstance(answer.value, str)
    ):
        return answer.value if shape.fits(answer.value) else answer.text
    return answer.value


def _broken(
    invariants: tuple[Invariant, ...], arguments: Mapping[str, Any], value: Any
) -> Iterator[Anomaly]:
    for invariant in invariants:
        name = getattr(invariant, "__name__", type(invariant).__name__)
        unable = f"The rule {name} could not judge the answer: it"
        try:
            problem: Any = invariant(arguments, value)
        except Exception as error:  # noqa: BLE001 - a user's rule that fails is itself a finding
            problem = f"{unable} raised {type(error).__name__}."
        if not isinstance(problem, str | None):  # after the effect: an error would lose it
            problem = f"{unable} returned {type(problem).__name__}, not a text or None."
        if problem is not None:
            yield Anomaly(kind=AnomalyKind.INVARIANT, pointer="", message=problem[:_MAX_SENTENCE])


def _violations(shape: CompiledSchema, value: Any, *, parsed: bool) -> list[Anomaly]:
    if not parsed and "string" not in shape.kinds:
        wanted = " or ".join(sorted(shape.kinds))
        return [
            _anomaly(
                AnomalyKind.UNREADABLE,
                (),
                f"is declared as {wanted} and is a text that is not JSON",
            )
        ]
    try:
        errors = sorted(shape.errors(value), key=position)
    except Exception as error:  # noqa: BLE001 - keywords calculate with the tool's values
        return [_anomaly(AnomalyKind.VALUE, (), f"cannot be checked ({type(error).__name__})")]
    found = [anomaly for error in errors for anomaly in _sorted_out(error)]
    # A declared result may have fields such as ``error`` or ``status``, so only an answer that does
    # not fit can be an error.
    if found and _is_error(shape, value):
        found.append(
            _anomaly(AnomalyKind.UNREADABLE, (), "is an error, and holds nothing that is declared")
        )
    # The validator takes NaN and infinities for numbers, and JSON has neither.
    if not found and not all_finite(value):
        found.append(_anomaly(AnomalyKind.BOUNDS, (), "holds a number that is not finite"))
    return found


def _is_error(shape: CompiledSchema, value: Any) -> bool:
    """Return True if an answer is an error object in place of the declared result.

    Known forms: JSON-RPC, JSON:API, OAuth and RFC 9457.
    """
    if not isinstance(value, Mapping) or not properties(shape.schema).keys().isdisjoint(value):
        return False
    if value.get("error") or value.get("errors"):
        return True
    status = value.get("status")
    numbered = isinstance(status, int) and 400 <= status <= 599
    return numbered and ("title" in value or "detail" in value)


def _sorted_out(violation: Violation) -> Iterator[Anomaly]:
    path = tuple(violation.absolute_path)
    keyword = str(violation.validator)
    match keyword:
        case "required" | "dependentRequired":
            for name in missing_names(violation):
                yield _anomaly(AnomalyKind.MISSING, (*path, name), "is required and missing")
        case "additionalProperties" | "unevaluatedProperties":
            for name in unknown_names(violation):
                yield _anomaly(AnomalyKind.UNEXPECTED, (*path, name), "is not declared")
        case "type" | "anyOf" | "oneOf" if types := wanted_types(violation):
            yield _anomaly(AnomalyKind.TYPE, path, f"is not of type {types}")
        case "anyOf" | "oneOf" if violation.context:
            yield from _sorted_out(nearest_branch(violation))
        case _ if violation.schema is False:
            yield _anomaly(AnomalyKind.UNEXPECTED, path, "is declared never to be there")
        case _:
            limit = (
                f" {violation.validator_value}"
                if keyword in LIMITS or keyword in ("format", "pattern")
                else ""
            )
            yield _anomaly(
                _KINDS.get(keyword, AnomalyKind.VALUE),
                path,
                f"breaks the declared {keyword}{limit}",
            )


def _anomaly(kind: AnomalyKind, path: tuple[str | int, ...], problem: str) -> Anomaly:
    names = [token for token in path if isinstance(token, str)]
    if names:
        item = " (an item of it)" if isinstance(path[-1], int) else ""
        where = f"The field {shown(names[-1])}{item}"
    else:
        where = "An item of the answer" if path else "The answer"
    message = f"{where} {problem}."[:_MAX_SENTENCE]
    return Anomaly(kind=kind, pointer=pointer_of(path), message=message)
