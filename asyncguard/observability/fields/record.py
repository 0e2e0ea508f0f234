"""Record of an event, as it leaves the process: payloads are held back here and nowhere else."""

import re
from typing import Any

from asyncguard.observability.fields.field import Unit
from asyncguard.observability.fields.table import FIELDS
from asyncguard.observability.observer import Details
from asyncguard.observability.plain import plain, printable

NAME_LENGTH = 120
"""Number of characters to which identifiers are cut."""

_CODE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]{0,79})?")


def fields(details: Details, *, payloads: bool = False) -> dict[str, Any]:
    """Return the record of an event: plain JSON values under stable names.

    Args:
        details: The event and its context.
        payloads: True to include what users, models and tools wrote.

    Returns:
        Field name to value, exactly the fields of :data:`FIELDS`, payloads only if asked for.
    """
    return {
        field.name: _clean(field.unit, field.read(details))
        for field in FIELDS[details.event.kind]
        if payloads or field.unit is not Unit.PAYLOAD
    }


def _clean(unit: Unit, value: Any) -> Any:
    match unit:
        case Unit.NAME:
            return printable(str(value))[:NAME_LENGTH]
        case Unit.NAMES:
            return [printable(str(item))[:NAME_LENGTH] for item in value]
        case Unit.CODE:
            # Anything that does not look like a code may be a payload.
            if value is None:
                return None
            return str(value) if _CODE.fullmatch(str(value)) else "redacted"
        case Unit.PAYLOAD:
            return plain(value)
        case _:
            return value
