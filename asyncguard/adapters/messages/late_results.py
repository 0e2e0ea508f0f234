"""Form of the runtime's message with late results: one part for each call, between delimiters.

A part is text, or content blocks between one block for each delimiter. The line breaks next to the
content belong to the delimiters, also where these are blocks: so a reader that joins the text of
all blocks cuts both kinds by one pattern. Older releases wrote blocks without the line breaks, and
their threads are read, too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class Part(NamedTuple):
    """Part of a message that holds one result."""

    whole: list[Any]
    """Its blocks, the delimiters included."""
    content: Any
    """The result: text or content blocks."""


def delimited(results: Sequence[tuple[str, Any]], nonce: str) -> Any:
    """Return the content of a message with results.

    Args:
        results: What each opening delimiter says of its call, the status last, and the result.
        nonce: Secret part of the thread's delimiters, which no result holds.

    Returns:
        Text if all results are texts, else content blocks.
    """
    foot = f"</result-{nonce}>"
    blocks: list[Any] = []
    for said, content in results:
        head = f"<result-{nonce} {said}>"
        if isinstance(content, str) or not content:
            blocks.append(f"{head}\n{content or ''}\n{foot}")
        else:
            blocks += [_text_block(f"{head}\n"), *map(_text_block, content)]
            blocks.append(_text_block(f"\n{foot}"))
    if all(isinstance(block, str) for block in blocks):
        return "\n\n".join(blocks)
    return [_text_block(block) for block in blocks]


def _text_block(block: Any) -> Any:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def parts_of(content: Any, nonce: str = "") -> Iterator[Part]:
    """Yield the parts of a message with results, in order.

    Args:
        content: Of a message that is marked as the runtime's.
        nonce: Secret part of the thread's delimiters; empty to read those of any thread.
    """
    name = f"result-{re.escape(nonce)}" if nonce else r"result-\S+"
    head = re.compile(rf'<({name}) .*?status="\w+">', re.DOTALL)
    one = re.compile(rf"{head.pattern}\n(.*?)\n</\1>", re.DOTALL)
    opening = re.compile(rf"{head.pattern}\n?", re.DOTALL)
    begun: list[Any] = []
    closings: tuple[str, ...] = ()
    for block in [content] if isinstance(content, str) else content:
        text = block if isinstance(block, str) else str(block.get("text", ""))
        if begun:
            begun.append(block)
            if text in closings:
                yield Part(begun, begun[1:-1])
                begun = []
        elif found := opening.fullmatch(text):
            begun = [block]
            closings = (f"\n</{found[1]}>", f"</{found[1]}>")
        else:
            for hit in one.finditer(text):
                yield Part([_text_block(hit[0])], hit[2])
