"""Notations with a structure: tables, JSON, XML and URLs, read with care for what an agent may write."""

import csv
import html
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.service import plain_numbers


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]], notation: str) -> str:
    """Return a table as ``csv``, ``tsv``, ``markdown`` or ``html``."""
    match notation:
        case "markdown":
            lines = [columns, ["---"] * len(columns), *rows]
            safe = [[cell.replace("|", "\\|") for cell in line] for line in lines]
            return "\n".join(f"| {' | '.join(line)} |" for line in safe)
        case "html":
            head = "".join(f"<th>{html.escape(cell)}</th>" for cell in columns)
            body = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
            return "<table>" + "".join(f"<tr>{line}</tr>" for line in (head, *body)) + "</table>"
        case _:
            buffer = io.StringIO()
            writer = csv.writer(
                buffer, delimiter="," if notation == "csv" else "\t", lineterminator="\n"
            )
            writer.writerows([columns, *rows])
            return buffer.getvalue().removesuffix("\n")


def read_json(text: str) -> Any:
    """Return a JSON text as a value.

    Raises:
        ToolFailure: it is none, or holds a number that JSON does not know.
    """
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        raise ToolFailure(f"This is no JSON: {problem}.") from problem
    return plain_numbers(value)


def element_of(text: str) -> dict[str, Any]:
    """Return one XML element with its children, grandchildren left out.

    Raises:
        ToolFailure: it is not well-formed, or declares something: entities could expand without end.
    """
    if "<!" in text:
        raise ToolFailure("Declarations and comments are not read.")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as problem:
        raise ToolFailure(f"This is no XML: {problem}.") from problem
    return {**_shallow(root), "children": [_shallow(child) for child in root]}


def _shallow(element: ElementTree.Element) -> dict[str, Any]:
    return {
        "tag": element.tag,
        "attributes": dict(element.attrib),
        "text": (element.text or "").strip(),
    }


def xml_text(tag: str, attributes: Mapping[str, Any], content: str) -> str:
    """Return an element with its attributes in alphabetical order."""
    written = "".join(
        f" {name}={quoteattr(str(value))}" for name, value in sorted(attributes.items())
    )
    return f"<{tag}{written}>{escape(content)}</{tag}>" if content else f"<{tag}{written}/>"


def url_parts(text: str) -> dict[str, Any]:
    """Return scheme, host, port, path, its last name, query parameters and fragment of a URL.

    Raises:
        ToolFailure: it has no scheme and host, or a parameter occurs twice.
    """
    try:
        split = urlsplit(text.strip())
        pairs = parse_qsl(split.query, keep_blank_values=True)
        port, host = split.port, split.hostname
    except ValueError as problem:
        raise ToolFailure(f"This is no URL: {problem}.") from problem
    if not split.scheme or not host or len(dict(pairs)) != len(pairs):
        raise ToolFailure("A URL needs scheme and host, and each parameter at most once.")
    return {
        "scheme": split.scheme,
        "host": host,
        "port": port,
        "path": split.path,
        "last_name": split.path.rsplit("/", 1)[-1],
        "parameters": dict(pairs),
        "fragment": split.fragment,
    }
