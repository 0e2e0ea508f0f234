"""Results of attempts as plain JSON, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from asyncguard.core.faults import Symptom
from asyncguard.core.results import Escape, Failure, Result, Started, Success
from asyncguard.errors import CallerError


def result_to_json(result: Result) -> dict[str, Any]:
    """A result as plain JSON values; what belongs to the front end only (``raw``, an escape's error) is left out."""
    match result:
        case Success():
            return {"kind": "success", "content": result.content, "update": result.update}
        case Failure():
            return {"kind": "failure", "symptom": {**asdict(result.symptom), "mro": list(result.symptom.mro)}}
        case Started():
            return {"kind": "started"}
        case Escape():
            return {"kind": "asked"}


def result_from_json(data: Mapping[str, Any]) -> Result:
    """The result that :func:`result_to_json` wrote.

    Raises:
        CallerError: It is none; the file may come from a newer version, or was changed by hand.
    """
    try:
        match data["kind"]:
            case "success":
                return Success(content=data["content"], update=data.get("update"))
            case "failure":
                symptom = data["symptom"]
                return Failure(symptom=Symptom(**{**symptom, "mro": tuple(symptom["mro"])}))
            case "started":
                return Started()
            case kind:
                raise CallerError(
                    f"The journal holds a result of the unknown kind {kind!r}; it may come from a newer version."
                )
    except (KeyError, TypeError) as error:
        raise CallerError(f"The journal holds a result that is incomplete ({error!r}).") from error
