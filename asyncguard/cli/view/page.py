"""The page: everything in one file, which asks for nothing.

What the file says reaches the page as deflated JSON in base64, and the document only as text nodes.
The content security policy names the page's own script and style by their hashes, so that a script
from anywhere else would not run even if it got into the document.
"""

import base64
import hashlib
import json
import zlib
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from asyncguard.cli.view.story import Content

MARK = '<meta name="generator" content="asyncguard view">'
"""Marks pages that this command wrote, and may replace."""


def page_of(content: Content, *, name: str, follow: bool = False) -> str:
    """Return the page as HTML.

    Args:
        content: What to show.
        name: Name of the file, the page's title.
        follow: True for a page that asks its server for what is new.
    """
    script, style = _asset("view.js"), _asset("view.css")
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        f"connect-src {chr(39)}{'self' if follow else 'none'}{chr(39)}"
    )
    data = {**data_of(content), "name": name, "follow": follow}
    # Half a character, which a model may write and UTF-8 does not have, is a question mark.
    return Template(_asset("page.html")).substitute(
        mark=MARK,
        policy=policy,
        title=escape(name.encode("utf-8", "replace").decode()),
        style=style,
        script=script,
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def data_of(content: Content) -> dict[str, Any]:
    """Return what the page's script reads: an index, and each group deflated."""
    return {
        "kind": content.kind,
        "problems": list(content.problems),
        "index": [[group.id, group.calls, group.rejected] for group in content.groups],
        "packed": [_packed(group.to_json()) for group in content.groups],
    }


def _packed(value: Any) -> str:
    packer = zlib.compressobj(level=6, wbits=-15)
    data = packer.compress(json.dumps(value, separators=(",", ":")).encode("ascii"))
    return base64.b64encode(data + packer.flush()).decode("ascii")


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
