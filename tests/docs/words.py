"""Count the words that are written by hand: ``python -m tests.docs.words``; a test bounds them.

Counted is what a reader of the repository reads as prose, tables and links included. Left out are
fenced code, blocks that ``python -m tests.docs.generate`` writes, and results: tables that stand
between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``, and ``benchmark/RESULTS*.md``, which a
command writes whole.
"""

import re
import sys
from collections.abc import Mapping

from tests.docs.markdown import ROOT, prose

MOST_WORDS = 22_000
"""Bound for all documents together."""
WRITTEN_BY_A_COMMAND = (
    "benchmark/RESULTS.md",
    "benchmark/RESULTS-missions.md",
    "benchmark/RESULTS-foreign.md",
    "benchmark/RESULTS-learned.md",
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.glob("benchmark/learned/*/README.md"))
    ),
)
DOCUMENTS = tuple(
    name
    for place in ("*.md", "docs/*.md", "benchmark/**/*.md")
    for path in sorted(ROOT.glob(place))
    if (name := path.relative_to(ROOT).as_posix()) not in WRITTEN_BY_A_COMMAND
)
"""Documents for readers; notes beside the data of a test are left out."""
_GENERATED = re.compile(r"<!-- generated: [\w-]+ -->\n.*?<!-- end -->", re.DOTALL)
_RESULTS = re.compile(r"<!-- ([\w-]+): begin -->\n(.*?)<!-- \1: end -->", re.DOTALL)


def results(text: str) -> list[str]:
    """Return the blocks of results of a document."""
    return [found[2] for found in _RESULTS.finditer(text)]


def count_words(text: str) -> int:
    """Return the number of words of a document that are written by hand.

    A word is what stands between blanks and holds a letter or a digit.
    """
    kept = prose(_RESULTS.sub("", _GENERATED.sub("", text)))
    return sum(any(map(str.isalnum, word)) for word in kept.split())


def words_by_document() -> Mapping[str, int]:
    """Return the words of every document, by its path from the root."""
    return {name: count_words((ROOT / name).read_text(encoding="utf-8")) for name in DOCUMENTS}


def main() -> int:
    """Print the words by file and in all; return 1 above the bound."""
    counted = words_by_document()
    total = sum(counted.values())
    for name, words in sorted(counted.items(), key=lambda item: -item[1]):
        sys.stdout.write(f"{words:7,}  {name}\n")
    sys.stdout.write(f"{total:7,}  in all; at most {MOST_WORDS:,}\n")
    return int(total > MOST_WORDS)


if __name__ == "__main__":
    sys.exit(main())
