"""Spellings of one thing: encoded and plain text, phone numbers, groups of digits."""

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from asyncguard_benchmark.errors import ToolFailure

COUNTRIES: Mapping[str, tuple[str, str]] = {
    "Austria": ("43", "0"),
    "France": ("33", "0"),
    "Germany": ("49", "0"),
    "Ireland": ("353", "0"),
    "Norway": ("47", ""),
    "Poland": ("48", ""),
    "Spain": ("34", ""),
    "Switzerland": ("41", "0"),
}
"""Country -> its dial code, and the digit that a number begins with at home but not from abroad."""
SCHEMES = ("base64", "hex", "percent")
"""Ways to write any text with harmless characters."""


def encoded(text: str, scheme: str) -> str:
    """Return a text in a scheme, by way of UTF-8.

    Raises:
        ToolFailure: UTF-8 does not know a character.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as problem:
        raise ToolFailure("The text holds half a character.") from problem
    return {
        "base64": base64.b64encode(data).decode(),
        "hex": data.hex(),
        "percent": quote(data, safe=""),
    }[scheme]


def decoded(text: str, scheme: str) -> str:
    """Return the inverse of `encoded`.

    Raises:
        ToolFailure: the text is not written in this scheme.
    """
    try:
        if scheme == "percent":
            return unquote(text, errors="strict")
        data = base64.b64decode(text, validate=True) if scheme == "base64" else bytes.fromhex(text)
        return data.decode()
    except ValueError as problem:
        raise ToolFailure(f"This is not written in {scheme}.") from problem


def plain_digits(text: str) -> list[str]:
    """Return the groups of the digits 0 to 9, in order."""
    return re.findall(r"[0-9]+", text)


def phone_parts(text: str, country: str) -> dict[str, Any]:
    """Return a phone number of a country, with or without its dial code.

    Raises:
        ToolFailure: another country's dial code, or too few or too many digits.
    """
    dial_code, trunk = COUNTRIES[country]
    spelt = text.strip().replace("(0)", "")
    digits = "".join(plain_digits(spelt))
    if spelt.startswith(("+", "00")):
        digits = digits if spelt.startswith("+") else digits.removeprefix("00")
        if not digits.startswith(dial_code):
            raise ToolFailure(f"This is no number of {country}, whose dial code is {dial_code}.")
        digits = digits.removeprefix(dial_code)
    elif trunk:
        digits = digits.removeprefix(trunk)
    if not 5 <= len(digits) <= 12:
        raise ToolFailure(f"{len(digits)} digits are no phone number.")
    return {
        "international": f"+{dial_code}{digits}",
        "dial_code": dial_code,
        "national": f"{trunk}{digits}",
    }
