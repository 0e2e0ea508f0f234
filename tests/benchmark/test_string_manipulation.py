import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.services.string_manipulation import TOOLSET

EDITOR = Executor(TOOLSET.tools, {})
LETTERS = st.text("abcXYZ .-", min_size=1, max_size=30)


def ask(name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(EDITOR.call(name, values))


def test_pieces_lose_their_blanks_and_empty_ones_stay() -> None:
    """Splitting hides no piece."""
    assert ask("split_text", text="a ; b;;c", separator=";") == {
        "pieces": ["a", "b", "", "c"],
        "count": 4,
        "first": "a",
        "last": "c",
    }
    assert ask("join_texts", texts=["x", "y"], glue=" / ") == {"text": "x / y", "length": 5}


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("upper", "O'NEIL LIGHT-HOUSE 7B"),
        ("lower", "o'neil light-house 7b"),
        ("title", "O'Neil Light-House 7b"),
        ("sentence", "O'neil light-house 7b"),
        ("snake", "o_neil_light_house_7b"),
        ("kebab", "o-neil-light-house-7b"),
        ("camel", "oNeilLightHouse7b"),
    ],
)
def test_case_styles(style: str, expected: str) -> None:
    """Only the last three drop what is neither letter nor digit."""
    assert ask("change_case", text="O'Neil LIGHT-house 7b", style=style)["text"] == expected


@given(LETTERS, LETTERS, LETTERS)
def test_replacing_counts_what_it_replaces(text: str, old: str, new: str) -> None:
    """Occurrences that do not overlap are counted, from the left."""
    found = ask("swap_text", text=text, old=old, new=new)
    assert len(found["text"]) == len(text) + found["replaced"] * (len(new) - len(old))


def test_places_are_counted_from_one_and_may_overlap() -> None:
    """A position that is found is one that the cut takes."""
    assert ask("locate_text", text="banana", wanted="ana") == {
        "positions": [2, 4],
        "count": 2,
        "first": 2,
        "last": 4,
    }
    assert ask("cut_text", text="banana", start=4, length=3) == {
        "cut": "ana",
        "before": "ban",
        "after": "",
    }
    assert "occur" in ask("locate_text", text="banana", wanted="Ana")["error"]
    assert "6 characters" in ask("cut_text", text="banana", start=5, length=3)["error"]


def test_marks_pair_up_from_the_left() -> None:
    """An opening mark without a closing one encloses nothing."""
    assert ask("text_between", text="a (b) c (d) (e", opening="(", closing=")") == {
        "inside": ["b", "d"],
        "count": 2,
        "outside": "a  c  (e",
    }
    assert ask("text_between", text="|x| y |z|", opening="|", closing="|")["inside"] == ["x", "z"]
    assert "Nothing" in ask("text_between", text=") (", opening="(", closing=")")["error"]


@given(LETTERS, st.integers(-1000, 1000))
def test_letters_come_back_when_they_are_moved_back(text: str, places: int) -> None:
    """Case, blanks and marks stay where they are."""
    moved = ask("shift_letters", text=text, places=places)["text"]
    assert ask("shift_letters", text=moved, places=-places)["text"] == text
    assert [each.isupper() for each in moved] == [each.isupper() for each in text]


def test_only_the_letters_of_the_alphabet_move() -> None:
    """Round the end, and none of other alphabets."""
    assert ask("shift_letters", text="xyz Äß 9!", places=3) == {
        "text": "abc Äß 9!",
        "letters_moved": 3,
    }


def test_turning_round() -> None:
    """A text is reversed by letters unless words are asked for."""
    assert ask("reverse_text", text="level") == {"text": "level", "same": True}
    assert ask("reverse_text", text="one  two three", unit="words") == {
        "text": "three two one",
        "same": False,
    }


def test_words_of_equal_length_or_count_are_settled_by_order() -> None:
    """The earliest wins, and case does not part words."""
    assert ask("word_facts", text="Rope, oars; rope - sail!") == {
        "count": 4,
        "longest": "Rope",
        "shortest": "Rope",
        "most_frequent": "rope",
        "repeats": 2,
        "lengths": [4, 4, 4, 4],
    }
    assert "no words" in ask("word_facts", text="... --")["error"]
    assert "no words" in ask("take_initials", text="  ")["error"]
    assert ask("take_initials", text="ana de la Cruz") == {
        "initials": "ADLC",
        "dotted": "A.D.L.C.",
        "count": 4,
    }


def test_what_texts_have_in_common_and_their_order() -> None:
    """One may be the beginning of another; length settles no tie."""
    assert ask("shared_beginning", texts=["net", "nets", "nettle"]) == {
        "beginning": "net",
        "length": 3,
        "remainders": ["", "s", "tle"],
    }
    assert ask("shared_beginning", texts=["a", "b"])["beginning"] == ""
    assert ask("order_texts", texts=["bee", "Ant", "ant"])["texts"] == ["Ant", "ant", "bee"]
    assert ask("order_texts", texts=["bee", "ox", "ant", "cow"], rule="length")["texts"] == [
        "ox",
        "bee",
        "ant",
        "cow",
    ]


@given(st.text("ab ", min_size=1, max_size=60), st.integers(1, 20))
def test_lines_keep_words_whole_and_lose_none(text: str, width: int) -> None:
    """Only a word that is wider than a line stands out."""
    lines = ask("wrap_lines", text=text, width=width)["lines"]
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or " " not in line for line in lines)


def test_the_fewest_edits_win() -> None:
    """Insertions, deletions and exchanges count one each; the earliest of equals is taken."""
    assert ask("closest_text", text="kitten", candidates=["mitten", "sitting", "bitten"]) == {
        "match": "mitten",
        "position": 1,
        "edits": 1,
    }
    assert ask("closest_text", text="sitting", candidates=["kitten"])["edits"] == 3


def test_filling_stripping_and_masking() -> None:
    """The default side of filling is the start, of stripping both; a short text is not masked."""
    assert ask("pad_text", text="73", width=5, fill="0") == {"text": "00073", "added": 3}
    assert ask("pad_text", text="73", width=5, fill=".", side="end") == {
        "text": "73...",
        "added": 3,
    }
    assert ask("pad_text", text="73", width=1, fill=".") == {"text": "73", "added": 0}
    assert ask("strip_characters", text="#-a#b-#", characters="#-") == {"text": "a#b", "removed": 4}
    assert ask("strip_characters", text="##a#", characters="#", side="end") == {
        "text": "##a",
        "removed": 1,
    }
    assert ask("mask_text", text="4929-11", visible=3, mask="*") == {
        "text": "****-11",
        "hidden": 4,
        "shown": "-11",
    }
    assert ask("mask_text", text="11", visible=3, mask="*") == {
        "text": "11",
        "hidden": 0,
        "shown": "11",
    }
    assert "error" in ask("mask_text", text="11", visible=3, mask="**")
