"""Docstrings, comments, messages and documents use plain English."""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from code_metrics.language import (
    ALLOWED,
    BANNED,
    banned_uses,
    begins_with_relative_clause,
    text_files,
    texts_of,
)
from code_metrics.texts import Kind, Text, document_texts, python_texts
from tests.docs.markdown import ROOT

PLACES = (
    "asyncguard",
    "benchmark",
    "docs",
    "examples",
    "graphs",
    "tests",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
)
"""Folders and documents that are checked."""
GENERATED = (
    "benchmark/RESULTS.md",
    "benchmark/RESULTS-missions.md",
    "benchmark/RESULTS-foreign.md",
)
"""Documents that are written by a run of an hour; their texts are checked in the source."""
READ_BY_MODELS = (
    "benchmark/asyncguard_benchmark/services/",
    "benchmark/asyncguard_benchmark/suites/hazards/domains/",
)
"""Folders whose messages are results of tools: recorded runs and simulated agents rest on them."""
MOST_RELATIVE = 0.02
"""Share of the docstrings that may begin with a relative clause."""


@cache  # the checks below read the same thousand files
def read_texts(path: Path) -> list[Text]:
    """Return the texts of a file."""
    return texts_of(path)


def problems(root: Path, places: Iterable[str]) -> list[str]:
    """Return each banned word below the places as file, line and what to write instead."""
    return [
        f"{path.relative_to(root)}:{use.line}: {use}"
        for place in places
        for path in text_files(root / place)
        if path.relative_to(root).as_posix() not in GENERATED
        for use in banned_uses(read_texts(path))
        if not (use.kind is Kind.MESSAGE and is_read_by_models(path.relative_to(root)))
    ]


def is_read_by_models(path: Path) -> bool:
    """Return True if the messages of a file are results of tools."""
    return path.as_posix().startswith(READ_BY_MODELS)


def relative_docstrings(root: Path, places: Iterable[str]) -> tuple[list[str], int]:
    """Return the docstrings that begin with a relative clause, and the number of docstrings."""
    every = [
        (path, text)
        for place in places
        for path in text_files(root / place)
        for text in read_texts(path)
        if text.kind in (Kind.DOCSTRING, Kind.ATTRIBUTE)
    ]
    found = [
        f"{path.relative_to(root)}:{text.line}: {text.text.strip().partition(chr(10))[0]}"
        for path, text in every
        if begins_with_relative_clause(text.text)
    ]
    return found, len(every)


@pytest.mark.slow
def test_no_text_holds_a_banned_word() -> None:
    """Docstrings, comments, messages and documents are in plain English."""
    found = problems(ROOT, PLACES)
    assert not found, "\n".join(["banned words:", *found])


def test_no_string_of_the_library_holds_a_banned_word() -> None:
    """Models and users read strings that are neither raised nor passed to a parser."""
    found = [
        f"{path.relative_to(ROOT)}:{use.line}: {use}"
        for path in text_files(ROOT / "asyncguard")
        for use in banned_uses(strings(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert not found, "\n".join(["banned words:", *found])


def strings(tree: ast.AST) -> list[Text]:
    """Return every string of several words in a source, the parts of an f-string one by one."""
    return [
        Text(kind=Kind.MESSAGE, line=node.lineno, text=node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]


@pytest.mark.slow
def test_few_docstrings_begin_with_a_relative_clause() -> None:
    """The first sentence of a docstring is an imperative, not "What is done"."""
    found, every = relative_docstrings(ROOT, PLACES)
    assert len(found) <= MOST_RELATIVE * every, "\n".join(["relative clauses:", *found])


def test_the_places_exist_and_no_document_is_left_out() -> None:
    """A place that was renamed would be checked no longer."""
    assert [place for place in PLACES if not text_files(ROOT / place)] == []
    assert all((ROOT / place).is_file() for place in GENERATED)
    assert {path.name for path in ROOT.glob("*.md")} <= set(PLACES)


def uses(text: str) -> list[str]:
    """The banned words of a text."""
    return [use.found for use in banned_uses(document_texts(text))]


@pytest.mark.parametrize(
    "text",
    [
        "Nobody reads it.",
        "It is for somebody else.",
        "Is there anybody?",
        "Whoever asks gets it.",
        "for whomever it is",
        "It is made anew.",
        "config is no GuardConfig",
        "Arguments that are no\nplain JSON are refused.",
        "It can be no number.",
        "The outcome is written behind it.",
        "What comes behind the message is kept.",
        "A thread behind whose lease another process waits.",
    ],
)
def test_a_banned_word_is_found(text: str) -> None:
    """In any case, and across the end of a line."""
    assert len(uses(text)) == 1


PLAIN = [
    "There is no such key.",
    "so that there\nwould be no gap",
    "Where there are no calls, nothing is sent.",
    "It is no longer used.",
    "An arm is no worse than another.",
    "The copy is no older than the lease.",
    "The default is no limit.",
    "The rest will be no-ops.",
    "It leaves no lock behind.",
    "Files that a killed process left behind are removed.",
    "The job is sent; its code stays behind.",
    "A journal may lag behind its thread.",
    "The state is behind; the call is issued again.",
    "The server runs behind a proxy.",
    "The agent is placed behind the guards.",
    "What differs between databases is hidden behind this port.",
    "The data behind the timeline.",
    "It was closed behind our back.",
    "The enum member is `Journal.BEHIND`, the variable ``nobody``.",
    "A renewal renews; nobodyx is a name.",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_english_is_allowed(text: str) -> None:
    """The words have meanings that are not banned."""
    assert uses(text) == []


def test_code_in_a_document_is_left_out() -> None:
    """Blocks and spans are, also where a block holds a backtick; the prose between them is read."""
    text = """Somebody runs `a` and
```sh
nobody `anew
```
anybody; an open ` hides nothing

anew, and `nobody
reads` whoever ``somebody here`` ends.
"""
    found = [(use.line, use.found) for use in banned_uses(document_texts(text))]
    assert found == [(1, "Somebody"), (5, "anybody"), (7, "anew"), (8, "whoever")]


def test_an_allowed_phrase_excuses_only_itself() -> None:
    """A second use in the same text is found."""
    text = "There is no key.\nA key is no text. It leaves nothing behind. What is behind it?"
    assert uses(text) == ["is no", "behind"]


def test_every_allowed_phrase_has_a_reason_and_an_example() -> None:
    """A phrase that no example needs is not allowed for nothing."""
    for phrase in ALLOWED:
        assert phrase.reason
        assert any(re.search(phrase.pattern, text, re.IGNORECASE) for text in PLAIN), phrase


def test_every_banned_word_has_a_replacement() -> None:
    """The message says what to write, without using a banned word itself."""
    assert all(word.instead for word in BANNED)
    assert uses("\n".join(word.instead for word in BANNED)) == []


SOURCE = '''"""Nobody in the module's docstring."""

import argparse

#: First line is
#  no help.
width = 1  # made anew
"""Somebody in the docstring of an attribute."""
text = "nobody in a plain string"


class Door:
    """Open it.

    Whoever knocks comes in.
    """

    def shut(self, key):
        """Shut it."""
        if key:
            "Anybody in a string that stands alone."
        raise ValueError(
            f"{key!r} is "
            "no key"
        ) from make("the door", whomever="it hits")


Tool(description="Nobody outside of argparse.")
argparse.ArgumentParser(description="Nobody runs it.").add_argument("anew", help="stands behind it")


@tool(reads=())
def look():
    """Looks behind it."""
'''


def test_each_text_of_a_source_is_read() -> None:
    """Docstrings, comments and messages with their lines; other strings are left out."""
    found = [(use.line, str(use.kind), use.found) for use in banned_uses(python_texts(SOURCE))]
    assert sorted(found) == [
        (1, "docstring", "Nobody"),
        (5, "comment", "is no"),
        (7, "comment", "anew"),
        (8, "attribute docstring", "Somebody"),
        (15, "docstring", "Whoever"),
        (21, "attribute docstring", "Anybody"),
        (23, "message", "is no"),
        (29, "message", "Nobody"),
        (29, "message", "behind"),
        (34, "message", "behind"),
    ]


def test_comments_that_follow_each_other_are_one_text() -> None:
    """A comment beside code begins a text, and lines of nothing but a comment go on with it."""
    source = "x = 1  # first\nx = 1  # second\n# third\n\n# fourth\nx = 2\n# fifth\n"
    assert [(text.line, text.text) for text in python_texts(source)] == [
        (1, "first"),
        (2, "second\nthird"),
        (5, "fourth"),
        (7, "fifth"),
    ]


@pytest.mark.parametrize(
    ("text", "relative"),
    [
        ("What a thread goes on from.", True),
        ("\n    whether it is open", True),
        ("Who, where and why", True),
        ("How many there are.", True),
        ("Whatever is given.", False),
        ("Return what is given.", False),
        ("Whole numbers.", False),
    ],
)
def test_a_relative_clause_is_known_by_its_first_word(text: str, relative: bool) -> None:
    """Only a whole word counts."""
    assert begins_with_relative_clause(text) is relative


def test_a_finding_names_file_line_and_replacement(tmp_path: Path) -> None:
    """The message of the test on the tree can be worked through line by line."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text('"""Fine.\n\nMade anew.\n"""\n')
    (tmp_path / "pkg" / ".old").mkdir()
    (tmp_path / "pkg" / ".old" / "b.py").write_text('"""Made anew."""')
    (tmp_path / "note.md").write_text("\n# Title\n\nFor nobody.\n")
    assert problems(tmp_path, ["pkg", "note.md"]) == [
        "pkg/a.py:3: docstring says 'anew'; "
        "instead: 'again', or a verb with 're-': 'recreate', 'retry'",
        "note.md:4: document says 'nobody'; "
        "instead: name the subject: 'no process', 'no caller'; or the passive: 'is not read'",
    ]


def test_messages_that_models_read_are_left_out(tmp_path: Path) -> None:
    """A docstring in the same file is checked."""
    folder = tmp_path / READ_BY_MODELS[0]
    folder.mkdir(parents=True)
    (folder / "a.py").write_text('"""Made anew."""\nraise ValueError("nobody")\n')
    assert [line.partition(" says ")[0] for line in problems(tmp_path, ["benchmark"])] == [
        f"{READ_BY_MODELS[0]}a.py:1: docstring"
    ]


def test_relative_docstrings_are_counted_with_those_of_attributes(tmp_path: Path) -> None:
    """The share refers to all docstrings."""
    (tmp_path / "a.py").write_text(
        '"""What it is."""\nx = 1\n"""How wide."""\ny = 2\n"""Height."""\n'
    )
    found, every = relative_docstrings(tmp_path, ["a.py"])
    assert found == ["a.py:1: What it is.", "a.py:3: How wide."]
    assert every == 3


def test_texts_know_their_kind() -> None:
    """A source holds every kind of text but documents."""
    assert {text.kind for text in python_texts(SOURCE)} == set(Kind) - {Kind.DOCUMENT}
    assert document_texts("x") == [Text(kind=Kind.DOCUMENT, line=1, text="x")]
